// The plugins of this build as the catalogue: on gfx942 tilelang serves by itself, aiter by name,
// and who names a CUDA backend is told what there is instead.
#include <gtest/gtest.h>

#include <string>

#include "manifest/evidence.hpp"
#include "support/local_catalog.hpp"

namespace dsakit {
namespace {

struct Asked {
  const char* model = "glm-5.2-fp8";
  const char* kv_dtype = "auto";
  const char* named = "";  // prefill and decode
  bool mtp = false;
  const char* index_mode = "physical";
  const char* invalid_index = "any_out_of_range";
};

std::string outcome(const Asked& asked) {
  RequestOptions options;
  options.device = "gfx942";
  options.kv_dtype = asked.kv_dtype;
  options.hisparse = true;
  options.mtp = asked.mtp;
  options.extra.emplace_back("index_mode", Value(asked.index_mode));
  options.extra.emplace_back("invalid_index", Value(asked.invalid_index));
  return test::resolve_model(asked.model, options, [&](Request& request) {
    if (*asked.named == '\0') return;
    for (const Phase phase : {Phase::prefill, Phase::decode})
      request.choice[static_cast<std::size_t>(phase)] = Typed{asked.named, {}};
  });
}

TEST(LocalCatalogueOnRocm, TilelangServesHisparseByItself) {
  for (const char* model : {"glm-5.2-fp8", "glm-5.2", "deepseek-v3.2"}) {
    SCOPED_TRACE(model);
    EXPECT_EQ(outcome({.model = model}), "tilelang/tilelang/\"bf16_1152\"");
    EXPECT_EQ(outcome({.model = model, .kv_dtype = "fp8_e4m3", .mtp = true}),
              "tilelang/tilelang/tilelang/\"fp8_576_pt_fnuz\"");
  }
  EXPECT_EQ(outcome({.model = "glm-5.3-flash", .kv_dtype = "fp8_e4m3"}),
            "tilelang/tilelang/\"fp8_512_pt_fnuz\"");
}

TEST(LocalCatalogueOnRocm, AiterServesWhoNamesIt) {
  EXPECT_EQ(outcome({.named = "aiter"}), "aiter/aiter/\"bf16_1152\"");
  EXPECT_EQ(outcome({.kv_dtype = "fp8_e4m3", .named = "aiter"}), "aiter/aiter/\"fp8_576_pt_fnuz\"");
  EXPECT_EQ(outcome({.named = "aiter", .index_mode = "ragged", .invalid_index = "none"}),
            "aiter/aiter/\"bf16_1152\"");
  const std::string holes = outcome({.named = "aiter", .index_mode = "ragged"});
  EXPECT_NE(holes.find("invalid_index"), std::string::npos) << holes;
}

TEST(LocalCatalogueOnRocm, ACudaBackendIsRefusedWithTheChoicesHere) {
  const std::string text = outcome({.named = "flashmla_sparse"});
  EXPECT_NE(text.find(R"("verdict":"rejected")"), std::string::npos) << text;
  EXPECT_NE(text.find("`aiter`, `tilelang`"), std::string::npos) << text;
}

TEST(LocalCatalogueOnRocm, NobodyClaimsHardware) {
  int rows = 0;
  for (const CatalogEntry& entry : test::local_catalog().entries()) {
    if (!entry.manifest || (entry.manifest->id != "tilelang" && entry.manifest->id != "aiter"))
      continue;
    for (const Row& row : entry.manifest->rows) {
      const auto level = evidence_level(*entry.manifest, row.name, "gfx942");
      EXPECT_TRUE(level == "emulated" || level == "compiled") << row.name << " " << level;
      ++rows;
    }
  }
  EXPECT_EQ(rows, 6 + 8);
}

}  // namespace
}  // namespace dsakit
