// Sessions are counted and listed by backends, however many rows serve; lists are capped, counts
// are exact.
#include "solver/support.hpp"

namespace dsakit::solver_test {
namespace {

std::vector<Json> rows_of(int count, int rank) {
  std::vector<Json> rows;
  for (int i = 0; i < count; ++i) {
    rows.push_back(row("r" + std::to_string(i), Json::object(), rank));
  }
  return rows;
}

const Json kAllPhases{{"phases", {"prefill", "decode", "mtp"}}, {"kv_dtype", "bf16"}};

TEST(Sessions, RowsOfOneBackendAreOneSession) {
  const Solver solver = solver_of({manifest("wide", rows_of(64, 0))});
  const Explanation explanation = solver.explain(request_of(solver, kAllPhases));
  EXPECT_EQ(explanation.allowed_count, 1u);
  EXPECT_EQ(explanation.answer.diagnostics.front().code, Code::E0302);
  EXPECT_LT(to_json(explanation.answer).size(), 4096u);
}

TEST(Sessions, TheBestRowStandsForItsLikes) {
  const Solver solver =
      solver_of({manifest("wide", {row("b", Json::object(), 10), row("c", Json::object(), 20),
                                   row("a", {{"kv_dtype", {"bf16"}}}, 20)})});
  const Answer answer = solver.resolve(request_of(solver, kAllPhases));
  EXPECT_EQ(answer.session.row[index(Phase::decode)], "a") << "as high a rank, and more precise";
}

TEST(Sessions, ListsAreCappedAndCountsExact) {
  std::vector<Json> manifests;
  for (int i = 0; i < 64; ++i) {
    manifests.push_back(manifest("b" + std::to_string(i), rows_of(3, i == 0 ? 100 : 50)));
  }
  const Solver solver = solver_of(manifests);
  const Request request = request_of(solver, kAllPhases);
  const Explanation explanation = solver.explain(request);
  EXPECT_EQ(explanation.allowed_count, 64u * 64u * 64u);
  EXPECT_TRUE(explanation.allowed_complete);
  EXPECT_EQ(explanation.allowed.size(), Explanation::kListed);
  EXPECT_EQ(explanation.allowed.front(), explanation.answer.session);
  const Json json = Json::parse(to_json(explanation));
  EXPECT_EQ(json["allowed_count"], 64 * 64 * 64);
  EXPECT_EQ(json["allowed"].size(), Explanation::kListed);
}

TEST(Sessions, ByNameSaysHowManyThereAre) {
  std::vector<Json> manifests;
  for (int i = 0; i < 12; ++i) {
    manifests.push_back(manifest("b" + std::to_string(i), rows_of(2, 0)));
  }
  const Solver solver = solver_of(manifests);
  const Answer answer = solver.resolve(request_of(solver, {{"kv_dtype", "bf16"}}));
  const Json first = Json::parse(to_json(answer))["diagnostics"][0];
  EXPECT_EQ(first["code"], "E0302");
  EXPECT_EQ(first["count"], 144);
  EXPECT_EQ(first["sessions"].size(), 64u);
  EXPECT_EQ(answer.diagnostics.front().evidence.back().text, "… and 136 more");
  EXPECT_NE(answer.diagnostics.front().evidence.front().text.find("kv_dtype bf16"),
            std::string::npos);
}

TEST(Sessions, TheFullSetStaysFull) {
  std::vector<Json> manifests;
  for (int i = 0; i < 20; ++i) {
    manifests.push_back(manifest("b" + std::to_string(i), rows_of(2, 50)));
  }
  const Solver solver = solver_of(manifests);
  EXPECT_EQ(solver.allowed_set(request_of(solver, {{"kv_dtype", "bf16"}})).size(), 400u);
}

TEST(Sessions, AnExplanationSaysWhichDtypeItWasJudgedWith) {
  const Json fp8 = manifest("fp8", {row("r", {{"kv_dtype", {"fp8_e4m3"}}})});
  const Solver solver = solver_of({fp8});
  const auto judged = [&](const Json& request) {
    return Json::parse(to_json(solver.explain(request_of(solver, request))))
        .value("judged_with", Json());
  };
  EXPECT_EQ(judged({{"kv_dtype", "auto"}}),
            Json::parse(R"({"kv_dtype":["fp8_e4m3"],"chosen":true})"));
  EXPECT_EQ(judged({{"kv_dtype", "auto"}, {"features", {"cp"}}}),
            Json::parse(R"({"kv_dtype":["bf16","fp8_e4m3"],"chosen":false})"));
  EXPECT_EQ(judged({{"kv_dtype", "fp8_e4m3"}}), Json());
}

}  // namespace
}  // namespace dsakit::solver_test
