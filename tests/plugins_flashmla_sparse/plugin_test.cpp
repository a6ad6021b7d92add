// The host half of the flashmla_sparse plugin, on machines with and without a CUDA driver: it
// loads, says where it can run, and refuses what its manifest does not serve.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <string>

#include "dsakit/plugin_abi.h"

namespace dsakit::flashmla_sparse_test {

const dsakit_plugin* open_plugin() {
  static const dsakit_plugin* const plugin = []() -> const dsakit_plugin* {
    void* handle = dlopen(FLASHMLA_SPARSE_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) return nullptr;
    const auto entry =
        reinterpret_cast<dsakit_plugin_entry_fn>(dlsym(handle, DSAKIT_PLUGIN_ENTRY_NAME));
    static dsakit_host host{};
    host.size = sizeof(host);
    host.abi_min = host.abi_max = DSAKIT_ABI_VERSION;
    return entry == nullptr ? nullptr : entry(&host);
  }();
  return plugin;
}

dsakit_config served_config() {
  dsakit_config config{};
  config.size = sizeof(config);
  config.device_type = kDLCUDA;
  config.row = "sm90-bf16";
  config.phase = "decode";
  config.kv_layout = "bf16_1152";
  config.index_mode = "physical";
  config.q_dtype = config.out_dtype = "bf16";
  config.heads = 128;
  config.d_qk = 576;
  config.d_v = 512;
  config.topk = 2048;
  config.page_size = 64;
  config.index_kpool = 1;
  config.max_tokens = 8;
  return config;
}

struct Answer {
  dsakit_rc rc;
  std::string text;
};

Answer create(const dsakit_config& config) {
  dsakit_error error{};
  error.size = sizeof(error);
  dsakit_instance* instance = nullptr;
  const dsakit_rc rc = open_plugin()->create(&config, &instance, &error);
  EXPECT_EQ(instance != nullptr, rc == DSAKIT_RC_OK);
  open_plugin()->destroy(instance);
  return {rc, error.text};
}

TEST(FlashmlaSparsePlugin, LoadsAndOffersKvEntries) {
  ASSERT_NE(open_plugin(), nullptr) << dlerror();
  EXPECT_STREQ(open_plugin()->id, "flashmla_sparse");
  EXPECT_NE(open_plugin()->kv_append, nullptr);
  EXPECT_NE(open_plugin()->kv_dequant, nullptr);
}

TEST(FlashmlaSparsePlugin, CreateFailsAsProbeDoes) {
  ASSERT_NE(open_plugin(), nullptr);
  dsakit_error error{};
  error.size = sizeof(error);
  EXPECT_EQ(open_plugin()->probe(kDLCPU, 0, &error), DSAKIT_RC_NO_DEVICE);
  EXPECT_EQ(open_plugin()->probe(kDLCUDA, 9999, &error), DSAKIT_RC_NO_DEVICE);
  const dsakit_rc found = open_plugin()->probe(kDLCUDA, 0, &error);
  const Answer made = create(served_config());
  EXPECT_EQ(made.rc, found);
  if (found != DSAKIT_RC_OK) {
    EXPECT_EQ(made.text, error.text);
    EXPECT_NE(made.text, "");
  }
}

TEST(FlashmlaSparsePlugin, RefusesWhatItsManifestDoesNotServe) {
  ASSERT_NE(open_plugin(), nullptr);
  const auto refused = [](auto change, const char* named) {
    dsakit_config config = served_config();
    change(config);
    const Answer answer = create(config);
    EXPECT_EQ(answer.rc, DSAKIT_RC_UNSUPPORTED) << named;
    EXPECT_NE(answer.text.find(named), std::string::npos) << answer.text;
  };
  static const char* const kFeatures[] = {"deterministic"};
  refused([](dsakit_config& c) { c.kv_layout = "fp8_656_g128"; }, "kv_layout");
  refused([](dsakit_config& c) { c.d_qk = 512; }, "d_qk");
  refused([](dsakit_config& c) { c.heads = 129; }, "128 heads");
  refused([](dsakit_config& c) { c.topk = 1048577; }, "topk");
  refused([](dsakit_config& c) { c.index_mode = "ragged"; }, "ragged");
  refused([](dsakit_config& c) { c.compute = "fp8"; }, "fp8");
  refused([](dsakit_config& c) { c.q_dtype = "fp16"; }, "q_dtype");
  refused(
      [](dsakit_config& c) {
        c.features = kFeatures;
        c.feature_count = 1;
      },
      "deterministic");
}

}  // namespace dsakit::flashmla_sparse_test
