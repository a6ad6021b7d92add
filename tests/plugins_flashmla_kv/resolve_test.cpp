// The plugins of this build as the catalogue: on Hopper, real models with an fp8 cache get this
// plugin in every phase, whatever their scales, with and without HiSparse; a bf16 cache stays with
// flashmla_sparse.
#include <gtest/gtest.h>

#include <string>

#include "support/local_catalog.hpp"

namespace dsakit::flashmla_kv_test {
namespace {

struct Asked {
  const char *model, *kv_dtype;
  bool hisparse, mtp;
  const char* kv_scale = "any";
};

// "prefill/decode[/mtp]/kv_layout", or why not.
std::string outcome(const Asked& asked) {
  RequestOptions options;
  options.device = "sm_90";
  options.kv_dtype = asked.kv_dtype;
  options.hisparse = asked.hisparse;
  options.mtp = asked.mtp;
  options.extra.emplace_back("kv_scale", Value(asked.kv_scale));
  return test::resolve_model(asked.model, options);
}

TEST(LocalCatalogue, Fp8CachesOnHopperGetFlashmlaKvInEveryPhase) {
  for (const char* model : {"glm-5.2-fp8", "glm-5.2", "glm-5-fp8", "deepseek-v3.2"})
    for (const bool hisparse : {true, false}) {
      SCOPED_TRACE(std::string(model) + (hisparse ? " hisparse" : ""));
      EXPECT_EQ(outcome({model, "fp8_e4m3", hisparse, false}),
                "flashmla_kv/flashmla_kv/\"fp8_656_g128\"");
      EXPECT_EQ(outcome({model, "fp8_e4m3", hisparse, true}),
                "flashmla_kv/flashmla_kv/flashmla_kv/\"fp8_656_g128\"");
    }
}

TEST(LocalCatalogue, PowersOfTwoAreScalesLikeOthers) {
  EXPECT_EQ(outcome({"glm-5.2-fp8", "fp8_e4m3", true, false, "pow2_fp32"}),
            "flashmla_kv/flashmla_kv/\"fp8_656_g128\"");
}

TEST(LocalCatalogue, RowsWithoutRopeHaveTheirOwnLayout) {
  EXPECT_EQ(outcome({"glm-5.3-flash", "fp8_e4m3", true, false}),
            "flashmla_kv/flashmla_kv/\"fp8_528_g128\"");
}

TEST(LocalCatalogue, Bf16CachesStayWithFlashmlaSparse) {
  for (const char* dtype : {"bf16", "auto"})
    for (const bool hisparse : {true, false})
      EXPECT_EQ(outcome({"glm-5.2-fp8", dtype, hisparse, true}),
                "flashmla_sparse/flashmla_sparse/flashmla_sparse/\"bf16_1152\"");
}

}  // namespace
}  // namespace dsakit::flashmla_kv_test
