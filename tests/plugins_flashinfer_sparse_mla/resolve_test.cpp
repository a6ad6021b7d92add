// The plugins of this build as the catalogue: this plugin serves real models on every NVIDIA GPU
// that no specialised backend serves, and stays behind those where they do.
#include <gtest/gtest.h>

#include <string>

#include "support/local_catalog.hpp"

namespace dsakit::flashinfer_sparse_mla_test {
namespace {

struct Asked {
  const char *model, *device, *kv_dtype;
  bool mtp = false;
};

// "prefill/decode[/mtp]/kv_layout", or why not.
std::string outcome(const Asked& asked) {
  RequestOptions options;
  options.device = asked.device;
  options.kv_dtype = asked.kv_dtype;
  options.hisparse = true;
  options.mtp = asked.mtp;
  return test::resolve_model(asked.model, options);
}

// This plugin in all phases.
std::string everywhere(int phases, const std::string& layout) {
  std::string text;
  for (int i = 0; i < phases; ++i) text += "flashinfer_sparse_mla/";
  return text + "\"" + layout + "\"";
}

TEST(LocalCatalogue, BlackwellWorkstationsAreServed) {
  for (const char* device : {"sm_120", "sm_121"})
    for (const char* model : {"glm-5.2", "glm-5.2-fp8", "deepseek-v3.2"})
      for (const bool mtp : {false, true}) {
        SCOPED_TRACE(std::string(model) + " on " + device);
        const std::string by_default = outcome({model, device, "auto", mtp});
        EXPECT_TRUE(by_default == everywhere(mtp ? 3 : 2, "bf16_1152") ||
                    by_default == everywhere(mtp ? 3 : 2, "fp8_656_g128"))
            << by_default;
        EXPECT_EQ(outcome({model, device, "fp8_e4m3", mtp}),
                  everywhere(mtp ? 3 : 2, "fp8_656_g128"));
      }
}

TEST(LocalCatalogue, ModelsWithoutRopeAreServed) {
  EXPECT_EQ(outcome({"glm-5.3-flash", "sm_120", "fp8_e4m3"}), everywhere(2, "fp8_528_g128"));
}

TEST(LocalCatalogue, DeepSeekV4IsServedInItsOwnLayout) {
  for (const char* device : {"sm_80", "sm_90", "sm_120"})
    EXPECT_EQ(outcome({"deepseek-v4-flash-fp8-sgl", device, "fp8_e4m3"}), everywhere(2, "v4_584"))
        << device;
}

TEST(LocalCatalogue, OlderAndOtherGpusAreServed) {
  for (const char* device : {"sm_80", "sm_86", "sm_89", "sm_100", "sm_103", "sm_110"}) {
    EXPECT_EQ(outcome({"glm-5.2", device, "bf16"}), everywhere(2, "bf16_1152")) << device;
    EXPECT_EQ(outcome({"glm-5.2", device, "fp8_e4m3"}), everywhere(2, "fp8_656_g128")) << device;
  }
}

TEST(LocalCatalogue, OnHopperItServesOnlyWhatNoSpecialisedBackendTakes) {
  EXPECT_EQ(outcome({"glm-5.2", "sm_90", "bf16"}), "flashmla_sparse/flashmla_sparse/\"bf16_1152\"");
  EXPECT_EQ(outcome({"glm-5.2", "sm_90", "fp8_e4m3"}), "flashmla_kv/flashmla_kv/\"fp8_656_g128\"");
}

}  // namespace
}  // namespace dsakit::flashinfer_sparse_mla_test
