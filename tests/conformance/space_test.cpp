// Cases come from a row: what it accepts, where it ends, what lies outside.
#include "sdk/conformance/space.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "manifest/schema.hpp"

namespace dsakit::conformance {
namespace {

constexpr const char* kManifest =
    R"({"schema":1,"id":"space","version":[1,0,0],"abi":{"min":1,"max":1},
  "common":{"platform":["cuda"],"arch":["sm_90a"],"model_family":["glm_moe_dsa"],"d_v":{"one_of":[512]}},
  "rows":[
    {"name":"narrow","rank":1,"where":{"phase":["prefill","decode"],"kv_dtype":["fp8_e4m3"],"page_size":{"one_of":[64]},
      "heads":{"one_of":[64,128]},"topk":{"min":64,"max":4096,"multiple_of":64},"d_qk":{"one_of":[576]},
      "features":{"subset":["attn_sink"]}},"provides":{"kv_layout":"fp8_656_g128"}},
    {"name":"other","rank":0,"where":{"phase":["mtp"],"kv_dtype":["bf16"],"page_size":"*","heads":"*","topk":"*",
      "d_qk":"*"},"provides":{"kv_layout":"bf16_1024"}}]})";

std::shared_ptr<const Manifest> manifest() {
  return std::make_shared<const Manifest>(parse_manifest(kManifest, "space.json").value().manifest);
}

bool contains(const std::vector<Step>& steps, const std::string& dim, std::int32_t value) {
  return std::ranges::any_of(
      steps, [&](const Step& s) { return s.dim == dim && s.value == Value(value); });
}

TEST(RowSpace, TheBaseIsServedInThePhasesOfTheRow) {
  const RowSpace narrow(manifest(), 0);
  EXPECT_EQ(narrow.phases(), (std::vector<std::string>{"decode", "prefill"}));
  const Description d = narrow.base("decode");
  EXPECT_EQ(d.heads, 64);
  EXPECT_EQ(d.topk, 64);
  EXPECT_EQ(d.page_size, 64);
  EXPECT_EQ(d.model_family, "glm_moe_dsa");
  EXPECT_TRUE(narrow.accepts(d));
  EXPECT_EQ(narrow.platforms(), (std::vector<std::string>{"cuda"}));
  EXPECT_TRUE(narrow.accepts_device("cuda", "sm_90"));
  EXPECT_FALSE(narrow.accepts_device("cuda", "sm_100"));
}

TEST(RowSpace, ARankOfZeroIsJudgedToo) {
  const RowSpace other(manifest(), 1);
  EXPECT_EQ(other.phases(), (std::vector<std::string>{"mtp"}));
  EXPECT_EQ(other.base("mtp").layout, "bf16_1024");
}

TEST(RowSpace, KnowsItsEnds) {
  const RowSpace narrow(manifest(), 0);
  EXPECT_EQ(narrow.accepted("heads", {8, 64, 100, 128}), (std::vector<std::int64_t>{64, 128}));
  EXPECT_EQ(narrow.accepted("topk", {1, 64, 100, 2048, 8192}),
            (std::vector<std::int64_t>{64, 2048}));
  EXPECT_TRUE(narrow.accepts_feature("attn_sink"));
  EXPECT_FALSE(narrow.accepts_feature("second_cache"));
  const std::vector<Step> corners = narrow.corners();
  for (const std::int32_t topk : {64, 4096}) EXPECT_TRUE(contains(corners, "topk", topk)) << topk;
  for (const std::int32_t heads : {64, 128})
    EXPECT_TRUE(contains(corners, "heads", heads)) << heads;
}

TEST(RowSpace, StepsOutsideAreRefusedByTheWholeManifest) {
  const RowSpace narrow(manifest(), 0);
  const std::vector<Step> outside = narrow.outside();
  for (const std::int32_t topk : {63, 65, 4097})
    EXPECT_TRUE(contains(outside, "topk", topk)) << topk;
  for (const std::int32_t heads : {63, 65, 127, 129})
    EXPECT_TRUE(contains(outside, "heads", heads)) << heads;
  for (const Step& step : outside) {
    Description d = narrow.base("decode");
    if (!narrow.apply(step, d)) continue;
    EXPECT_FALSE(narrow.accepts(d)) << step.dim;
  }
}

TEST(RowSpace, AnotherRowsCallIsServed) {
  const RowSpace narrow(manifest(), 0);
  const RowSpace other(manifest(), 1);
  EXPECT_FALSE(narrow.accepts(other.base("mtp")));
  EXPECT_TRUE(narrow.served(other.base("mtp")));
}

}  // namespace
}  // namespace dsakit::conformance
