// The plugins of this build as the catalogue: this plugin serves real models on every NVIDIA GPU
// that no specialised backend serves, and stays behind those where they do.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "host/advisor.hpp"
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

TEST(LocalCatalogue, ProductsOfCodesAreThereForWhoAsks) {
  const auto asked = [](const char* model, const char* device, const char* kv_dtype) {
    RequestOptions options;
    options.device = device;
    options.kv_dtype = kv_dtype;
    return test::resolve_model(model, options,
                               [](Request& request) { request.values["compute"] = Token("fp8"); });
  };
  for (const char* device : {"sm_89", "sm_90", "sm_120", "sm_121"}) {
    EXPECT_EQ(asked("glm-5.2-fp8", device, "auto"), everywhere(2, "fp8_656_g128")) << device;
    EXPECT_EQ(asked("glm-5.3-flash", device, "fp8_e4m3"), everywhere(2, "fp8_528_g128")) << device;
    EXPECT_NE(asked("glm-5.2", device, "bf16").find("\"E0301\""), std::string::npos) << device;
  }
  for (const char* device : {"sm_80", "sm_86", "sm_100"})
    EXPECT_NE(asked("glm-5.2-fp8", device, "auto").find("\"E0301\""), std::string::npos) << device;
}

// A yes for a GPU that this build has no code for says so.
TEST(LocalCatalogue, CodeThatThisBuildLacksIsTold) {
  AdvisorOptions here;
  here.plugin_dirs = {PLUGIN_DIR};
  const auto advisor = Advisor::open(here);
  ASSERT_TRUE(advisor.has_value());
  const auto& targets =
      test::local_catalog().find("flashinfer_sparse_mla")->manifest->build.targets;
  for (const std::string device : {"sm_80", "sm_86", "sm_89", "sm_100", "sm_110", "sm_120"}) {
    const auto facts =
        read_model_config(std::string(DSAKIT_TESTS_DIR) + "/golden/models/glm-5.2.json");
    RequestOptions options;
    options.device = device;
    options.kv_dtype = "bf16";
    const Answer answer = advisor->resolve(*make_request(*facts, options), Policy{});
    ASSERT_TRUE(answer.ok()) << device;
    const bool told = std::ranges::any_of(
        answer.diagnostics, [](const Diagnostic& one) { return one.code == Code::W0207; });
    const bool has_code = std::ranges::any_of(targets, [&](const std::string& target) {
      return target == device || target == device + "f";
    });
    EXPECT_NE(told, has_code) << device;
  }
}

}  // namespace
}  // namespace dsakit::flashinfer_sparse_mla_test
