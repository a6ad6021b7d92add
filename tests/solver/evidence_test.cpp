// Evidence levels are for people: whatever they say, every answer stays the same. explain tells
// them.
#include "solver/support.hpp"

namespace dsakit::solver_test {
namespace {

constexpr const char* kLevels[] = {"hardware", "emulated", "compiled", "declared"};

// Two backends of which either may serve, with these levels on sm_90.
Solver with_levels(const char* first, const char* second, const char* third) {
  Json a =
      manifest("a", {row("fast", {{"phase", {"decode"}}}, 100), row("slow", Json::object(), 50)});
  Json b = manifest("b", {row("only", Json::object(), 70)});
  a["build"]["evidence"] = {{"fast", {{"sm_90", first}}}, {"slow", {{"sm_90", second}}}};
  b["build"]["evidence"] = {{"only", {{"sm_90", third}}}};
  return solver_of({a, b});
}

const Json kRequest{{"arch", "sm_90"}, {"platform", "cuda"}, {"kv_dtype", "bf16"}};

Json without_levels(const Explanation& explanation) {
  Json json = Json::parse(to_json(explanation));
  for (Json& row : json["evaluation"]) row.erase("evidence");
  return json;
}

TEST(EvidenceLevel, NeverChangesAVerdictOrTheOrder) {
  const Solver bare = with_levels("declared", "declared", "declared");
  const Explanation wanted = bare.explain(request_of(bare, kRequest));
  ASSERT_TRUE(wanted.answer.ok());
  ASSERT_EQ(wanted.allowed_count, 4U);
  for (const char* first : kLevels) {
    for (const char* second : kLevels) {
      for (const char* third : kLevels) {
        const Solver solver = with_levels(first, second, third);
        const Request request = request_of(solver, kRequest);
        EXPECT_EQ(to_json(solver.resolve(request)), to_json(wanted.answer));
        EXPECT_EQ(solver.allowed_set(request), bare.allowed_set(request));
        EXPECT_EQ(without_levels(solver.explain(request)), without_levels(wanted));
      }
    }
  }
}

TEST(EvidenceLevel, IsToldOfRowsThatServeWhereTheRequestSays) {
  const Solver solver = with_levels("hardware", "emulated", "compiled");
  const auto told = [&](const Json& request) {
    std::string out;
    for (const RowVerdict& row : solver.explain(request_of(solver, request)).evaluation)
      if (row.phase == Phase::decode) out += row.row + "=" + row.evidence + " ";
    return out;
  };
  EXPECT_EQ(told(kRequest), "fast=hardware slow=emulated only=compiled ");
  Json elsewhere = kRequest;
  elsewhere["arch"] = "sm_100";
  EXPECT_EQ(told(elsewhere), "fast=declared slow=declared only=declared ");
  elsewhere["arch"] = nullptr;
  EXPECT_EQ(told(elsewhere), "fast= slow= only= ");
}

}  // namespace
}  // namespace dsakit::solver_test
