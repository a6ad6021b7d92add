#include "plugins_cpu/harness.hpp"

#include <dlfcn.h>

#include <stdexcept>

namespace dsakit::conformance {

const dsakit_plugin& cpu_plugin() {
  static const dsakit_plugin* const plugin = [] {
    void* handle = dlopen(CPU_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) throw std::runtime_error(dlerror());
    const auto entry =
        reinterpret_cast<dsakit_plugin_entry_fn>(dlsym(handle, DSAKIT_PLUGIN_ENTRY_NAME));
    static const dsakit_host host{.size = sizeof(dsakit_host),
                                  .abi_min = DSAKIT_ABI_VERSION,
                                  .abi_max = DSAKIT_ABI_VERSION,
                                  .reserved0 = 0,
                                  .name = "test",
                                  .log = nullptr,
                                  .log_context = nullptr,
                                  .error = nullptr};
    return entry(&host);
  }();
  return *plugin;
}

std::vector<KvLayout> attention_layouts() {
  std::vector<KvLayout> layouts;
  for (const KvLayout& layout : kKvLayouts)
    if (layout.d_v != 0) layouts.push_back(layout);
  return layouts;
}

Instance::Instance(const dsakit_config& config) {
  error_.size = sizeof(error_);
  EXPECT_EQ(cpu_plugin().create(&config, &instance_, &error_), DSAKIT_RC_OK) << error_.text;
}

Instance::~Instance() {
  cpu_plugin().destroy(instance_);
}

dsakit_workspace Instance::workspace(std::int64_t tokens) {
  dsakit_workspace answer{};
  answer.size = sizeof(answer);
  EXPECT_EQ(cpu_plugin().workspace(instance_, tokens, &answer, &error_), DSAKIT_RC_OK)
      << error_.text;
  return answer;
}

dsakit_rc Instance::run(const dsakit_run_args& args) {
  return cpu_plugin().run(instance_, &args, &error_);
}

void run(Problem& problem) {
  Instance instance(problem.config);
  const dsakit_workspace needed = instance.workspace(problem.tokens());
  problem.set_workspace(needed.bytes, needed.alignment);
  ASSERT_EQ(instance.run(problem.args), DSAKIT_RC_OK) << instance.error();
  EXPECT_TRUE(problem.canary_alive());
}

void run_and_compare(const Description& description) {
  Problem problem(description);
  run(problem);
  if (testing::Test::HasFatalFailure()) return;
  const Expected expected = reference_attention(problem.config, problem.args, 0, problem.tokens());
  const Comparison out = compare_out(expected, problem.out.view, kExactOut);
  EXPECT_TRUE(out.pass(kExactOut)) << "out: " << describe(out);
  if (description.lse) {
    const Comparison lse = compare_lse(expected, problem.lse.view, kExactLse);
    EXPECT_TRUE(lse.pass(kExactLse)) << "lse: " << describe(lse);
  }
  if (description.max_logits) {
    const Comparison max = compare_max(expected, problem.max_logits.view, kExactMax);
    EXPECT_TRUE(max.pass(kExactMax)) << "max_logits: " << describe(max);
  }
}

}  // namespace dsakit::conformance
