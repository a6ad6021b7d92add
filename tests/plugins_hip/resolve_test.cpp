// The plugins of this build as the catalogue: on AMD GPUs tilelang serves by itself, aiter by name,
// and who names a CUDA backend is told what there is instead.
#include <gtest/gtest.h>

#include <string>

#include "manifest/evidence.hpp"
#include "support/local_catalog.hpp"

namespace dsakit {
namespace {

// What a GPU stores fp8 as: OCP or fnuz bytes, or not at all.
struct RocmGpu {
  const char *arch, *fp8, *fp8_nope;
};
constexpr RocmGpu kGpus[] = {{"gfx942", "fp8_576_pt_fnuz", "fp8_512_pt_fnuz"},
                             {"gfx950", "fp8_576_pt", "fp8_512_pt"},
                             {"gfx90a", nullptr, nullptr}};

bool is_built(const RocmGpu& gpu) {
  return std::string(HIP_TARGETS).find(gpu.arch) != std::string::npos;
}

struct Asked {
  const char* device = "gfx942";
  const char* model = "glm-5.2-fp8";
  const char* kv_dtype = "auto";
  const char* named = "";  // prefill and decode
  bool mtp = false;
  const char* index_mode = "physical";
  const char* invalid_index = "any_out_of_range";
};

std::string outcome(const Asked& asked) {
  RequestOptions options;
  options.device = asked.device;
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
  for (const RocmGpu& gpu : kGpus) {
    if (!is_built(gpu)) continue;
    for (const char* model : {"glm-5.2-fp8", "glm-5.2", "deepseek-v3.2"}) {
      SCOPED_TRACE(std::string(gpu.arch) + " " + model);
      EXPECT_EQ(outcome({.device = gpu.arch, .model = model}), "tilelang/tilelang/\"bf16_1152\"");
      const std::string text =
          outcome({.device = gpu.arch, .model = model, .kv_dtype = "fp8_e4m3", .mtp = true});
      if (gpu.fp8 != nullptr) {
        EXPECT_EQ(text, std::string("tilelang/tilelang/tilelang/\"") + gpu.fp8 + "\"");
      } else {
        EXPECT_NE(text.find(R"("verdict":"rejected")"), std::string::npos) << text;
      }
    }
    if (gpu.fp8_nope == nullptr) continue;
    EXPECT_EQ(outcome({.device = gpu.arch, .model = "glm-5.3-flash", .kv_dtype = "fp8_e4m3"}),
              std::string("tilelang/tilelang/\"") + gpu.fp8_nope + "\"");
  }
}

TEST(LocalCatalogueOnRocm, AiterServesWhoNamesIt) {
  for (const RocmGpu& gpu : kGpus) {
    if (!is_built(gpu)) continue;
    SCOPED_TRACE(gpu.arch);
    EXPECT_EQ(outcome({.device = gpu.arch, .named = "aiter"}), "aiter/aiter/\"bf16_1152\"");
    EXPECT_EQ(outcome({.device = gpu.arch,
                       .named = "aiter",
                       .index_mode = "ragged",
                       .invalid_index = "none"}),
              "aiter/aiter/\"bf16_1152\"");
    if (gpu.fp8 == nullptr) continue;
    EXPECT_EQ(outcome({.device = gpu.arch, .kv_dtype = "fp8_e4m3", .named = "aiter"}),
              std::string("aiter/aiter/\"") + gpu.fp8 + "\"");
  }
  const std::string holes = outcome({.named = "aiter", .index_mode = "ragged"});
  EXPECT_NE(holes.find("invalid_index"), std::string::npos) << holes;
}

TEST(LocalCatalogueOnRocm, ACudaBackendIsRefusedWithTheChoicesHere) {
  for (const RocmGpu& gpu : kGpus) {
    if (!is_built(gpu)) continue;
    const std::string text = outcome({.device = gpu.arch, .named = "flashmla_sparse"});
    EXPECT_NE(text.find(R"("verdict":"rejected")"), std::string::npos) << text;
    EXPECT_NE(text.find("`aiter`, `tilelang`"), std::string::npos) << text;
  }
}

TEST(LocalCatalogueOnRocm, NobodyClaimsHardware) {
  int rows = 0;
  for (const CatalogEntry& entry : test::local_catalog().entries()) {
    if (!entry.manifest || (entry.manifest->id != "tilelang" && entry.manifest->id != "aiter"))
      continue;
    for (const Row& row : entry.manifest->rows) {
      const std::string arch = row.name.substr(0, row.name.find('-'));
      const auto level = evidence_level(*entry.manifest, row.name, arch);
      EXPECT_TRUE(level == "emulated" || level == "compiled") << row.name << " " << level;
      ++rows;
    }
  }
  int built = 0;
  for (const RocmGpu& gpu : kGpus)
    if (is_built(gpu)) built += gpu.fp8 != nullptr ? 6 + 8 : 2 + 4;  // tilelang's and aiter's
  EXPECT_EQ(rows, built);
}

}  // namespace
}  // namespace dsakit
