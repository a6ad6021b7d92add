// What a call of run costs besides the kernel: through the C API into a backend that only checks
// its arguments, through the plugin's table without dsakit's host, and an empty call for
// comparison.
#include <benchmark/benchmark.h>
#include <dlfcn.h>

#include <stdexcept>
#include <string>

#include "dsakit/dsakit.hpp"
#include "sdk/conformance/problem.hpp"

namespace {

using dsakit::conformance::Description;
using dsakit::conformance::Problem;
namespace api = dsakit::api;

constexpr const char* kRequest =
    R"({"platform":"cpu","arch":"cpu","model_family":"deepseek_v32","kv_dtype":"bf16","page_size":16,)"
    R"("heads":16,"topk":64,"d_qk":576,"d_v":512,"prefill":"null_kernel","decode":"null_kernel"})";

api::Attention make_instance() {
  const api::Catalog catalog = api::Catalog::open("local", {NULL_KERNEL_DIR});
  api::Result answer;
  const api::Session session = api::Session::open(catalog, kRequest, "", &answer);
  if (!session) throw std::runtime_error(answer.json);
  api::AttentionOptions options;
  options.max_tokens = 4;
  return session.create("decode", options, &answer);
}

Description small() {
  Description text;
  text.batch = 4;
  text.max_logits = false;
  return text;
}

void through_the_host(benchmark::State& state) {
  Problem problem(small());
  api::Attention attention = make_instance();
  for (auto _ : state) {
    const dsakit_rc rc = attention.run(problem.args);
    if (rc != DSAKIT_RC_OK) state.SkipWithError("refused");
  }
}

void the_plugin_alone(benchmark::State& state) {
  void* handle = dlopen(NULL_KERNEL_DIR "/libdsakit_null_kernel.so", RTLD_NOW | RTLD_LOCAL);
  const auto entry =
      reinterpret_cast<dsakit_plugin_entry_fn>(dlsym(handle, DSAKIT_PLUGIN_ENTRY_NAME));
  dsakit_host host{};
  host.size = sizeof(host);
  host.abi_min = host.abi_max = DSAKIT_ABI_VERSION;
  const dsakit_plugin& plugin = *entry(&host);
  Problem problem(small());
  dsakit_instance* instance = nullptr;
  if (plugin.create(&problem.config, &instance, nullptr) != DSAKIT_RC_OK) {
    state.SkipWithError("refused");
    return;
  }
  for (auto _ : state) benchmark::DoNotOptimize(plugin.run(instance, &problem.args, nullptr));
  plugin.destroy(instance);
}

BENCHMARK(through_the_host);
BENCHMARK(the_plugin_alone);

}  // namespace
