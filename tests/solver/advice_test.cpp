// What a refusal suggests: each kind of single change is found, and what is said about the search
// is true.
#include <algorithm>

#include "solver/support.hpp"

namespace dsakit::solver_test {
namespace {

using testing::Test;
using Texts = std::vector<std::string>;

Answer refusal(const std::vector<Json>& manifests, const Json& request) {
  const Solver solver = solver_of(manifests);
  Answer answer = solver.resolve(request_of(solver, request));
  EXPECT_EQ(answer.verdict, Answer::Verdict::rejected);
  return answer;
}

TEST(Advice, DropsThePhaseThatNoBackendHas) {
  const Json pair = manifest("pair", {row("r", {{"phase", {"prefill", "decode"}}})});
  const Answer asked = refusal({pair}, {{"phases", {"prefill", "decode", "mtp"}}});
  EXPECT_EQ(suggested(asked), Texts{R"({"phases":["prefill","decode"]})"});
  EXPECT_EQ(asked.suggestions.front().text, "without the mtp phase: prefill `pair`, decode `pair`");
}

TEST(Advice, SaysThatLeavingOutTheMtpBackendDropsThePhase) {
  const Json pair = manifest("pair", {row("r", {{"phase", {"prefill", "decode"}}})});
  const Json all = manifest("all", {row("r")});
  const Answer answer = refusal({pair, all}, {{"mtp", "pair"}});
  const Texts changes = suggested(answer);
  ASSERT_EQ(changes, (Texts{R"({"mtp":null})", R"({"mtp":"auto"})", R"({"mtp":"all"})"}));
  EXPECT_NE(answer.suggestions[0].text.find("and with it the phase: prefill"), std::string::npos);
  EXPECT_NE(answer.suggestions[1].text.find("`all` then serves mtp"), std::string::npos);
}

TEST(Advice, KeepsThePhaseThatWasAlsoAskedFor) {
  const Json pair = manifest("pair", {row("r", {{"phase", {"prefill", "decode"}}})});
  const Json all = manifest("all", {row("r")});
  const Answer answer =
      refusal({pair, all}, {{"mtp", "pair"}, {"phases", {"prefill", "decode", "mtp"}}});
  EXPECT_EQ(answer.suggestions.front().json, R"({"mtp":null})");
  EXPECT_NE(answer.suggestions.front().text.find("`all` then serves mtp"), std::string::npos);
}

TEST(Advice, TriesOtherNumbersOfRanks) {
  const Solver solver = solver_of({manifest("few", {row("r", {{"heads", {{"max", 32}}}})})});
  Request request = request_of(solver, {{"heads", 128}});
  request.head_split = {128, 1, {}};
  const Answer answer = solver.resolve(request);
  EXPECT_EQ(suggested(answer), (Texts{R"({"heads":32})", R"({"heads":16})", R"({"heads":8})"}));
  EXPECT_EQ(answer.suggestions.front().text,
            "with --tp 4, 32 heads a rank: prefill `few`, decode `few`");
}

TEST(Advice, DoesNotDivideHeadsThatNothingSaysAreDivided) {
  const Answer answer =
      refusal({manifest("few", {row("r", {{"heads", {{"max", 32}}}})})}, {{"heads", 128}});
  EXPECT_TRUE(suggested(answer).empty());
}

TEST(Advice, TriesRuntimeVersions) {
  const Json newer = manifest("newer", {row("r", {{"runtime_cuda", {{"min", "12.8"}}}})});
  EXPECT_EQ(suggested(refusal({newer}, {{"runtime_cuda", "12.4"}})),
            Texts{R"({"runtime_cuda":"12.8"})"});
  const Json older = manifest("older", {row("r", {{"driver", {{"below", "600"}}}})});
  EXPECT_EQ(suggested(refusal({older}, {{"driver", "610.2"}})), Texts{R"({"driver":"599"})"});
}

TEST(Advice, TriesThePageSizesNearTheRequestedOne) {
  const Json paged =
      manifest("paged", {row("r", {{"page_size", {{"min", 24}, {"multiple_of", 16}}}})});
  EXPECT_EQ(suggested(refusal({paged}, {{"page_size", 40}})),
            (Texts{R"({"page_size":48})", R"({"page_size":32})"}));
  EXPECT_EQ(suggested(refusal({paged}, {{"page_size", 1}})), Texts{R"({"page_size":32})"});
}

TEST(Advice, DropsSeveralFeaturesAtOnce) {
  const Json plain = manifest("plain", {row("r", {{"features", {{"subset", {"cuda_graph"}}}}})});
  EXPECT_EQ(suggested(refusal({plain}, {{"features", {"cp", "cuda_graph", "hisparse"}}})),
            Texts{R"({"features":["cuda_graph"]})"});
}

TEST(Advice, KeepsFeaturesThatTheModelNeeds) {
  const Solver solver = solver_of({manifest("plain", {row("r")})});
  Request request = request_of(solver, {{"features", {"attn_sink"}}});
  request.model_features = {"attn_sink"};
  EXPECT_TRUE(suggested(solver.resolve(request)).empty());
}

TEST(Advice, LeavesOutAKvLayout) {
  const Answer answer = refusal({manifest("one", {row("r")})}, {{"kv_layout", "fp8_656_g128"}});
  EXPECT_EQ(suggested(answer), Texts{R"({"kv_layout":null})"});
}

TEST(Advice, NamesSessionsThatExistByNameOnly) {
  const Answer answer = refusal({manifest("slow", {row("r", Json::object(), 0)})}, {{"heads", 8}});
  EXPECT_EQ(answer.diagnostics.front().code, Code::E0302);
  EXPECT_EQ(suggested(answer), Texts{R"({"prefill":"slow","decode":"slow"})"});
}

TEST(Advice, TreatsWhatNamesAllPhasesAsOneSetting) {
  const Json one = manifest("one", {row("r", {{"heads", {{"max", 8}}}})});
  const Json two = manifest("two", {row("r")});
  const Solver solver = solver_of({one, two});
  Request request = request_of(solver, {{"heads", 64}});
  const Typed both{"one", {"DSAKIT_BACKEND=one", "environment"}};
  request.choice = {both, both, std::nullopt};
  const Answer answer = solver.resolve(request);
  EXPECT_EQ(suggested(answer),
            (Texts{R"({"prefill":null,"decode":null})", R"({"prefill":"two","decode":"two"})"}));
  EXPECT_NE(answer.suggestions[1].text.find("DSAKIT_BACKEND=two"), std::string::npos);
}

TEST(Advice, OffersTheLikeliestIdFirst) {
  std::vector<Json> manifests;
  for (const char* id : {"alpha", "flashmla_kv", "flashmla_sparse", "omega"}) {
    manifests.push_back(manifest(id, {row("r")}));
  }
  const Answer answer = refusal(manifests, {{"decode", "flashmla_sprase"}});
  EXPECT_EQ(answer.suggestions.front().json, R"({"decode":"flashmla_sparse"})");
}

TEST(Advice, OffersTheLikeliestDtypeFirst) {
  const Json both = manifest("both", {row("r", {{"kv_dtype", {"bf16", "fp8_e4m3"}}})});
  const Answer answer = refusal({both}, {{"kv_dtype", "fp8"}});
  EXPECT_EQ(suggested(answer), (Texts{R"({"kv_dtype":"fp8_e4m3"})", R"({"kv_dtype":"bf16"})"}));
  EXPECT_EQ(answer.diagnostics.size(), 1u) << "E0406 says all that E0301 would";
  EXPECT_EQ(answer.diagnostics.front().code, Code::E0406);
  EXPECT_FALSE(answer.diagnostics.front().children.empty());
}

// 64 ids that all fail under the typed layout, and a setting that helps: the ids must not use up
// the search.
TEST(Advice, ManyBackendsLeaveRoomForTheSettingThatHelps) {
  std::vector<Json> manifests;
  for (int i = 0; i < 64; ++i) {
    manifests.push_back(
        manifest("b" + std::to_string(i), {row("r", {{"page_size", {{"one_of", {64}}}}})}));
  }
  const Answer answer = refusal(manifests, {{"page_size", 1}, {"prefill", "b1"}, {"decode", "b2"}});
  EXPECT_EQ(suggested(answer), Texts{R"({"page_size":64})"});
}

TEST(Advice, SaysExactlyWhatWasTried) {
  const Json none = manifest(
      "none", {row("r", {{"topk", {{"one_of", {2048}}}}, {"kv_dtype", {"bf16", "fp8_e4m3"}}})});
  EXPECT_TRUE(has_note(refusal({none}, {{"topk", 512}, {"kv_dtype", "bf16"}}),
                       "changed one at a time, none of these makes a backend fit: kv_dtype"));
  EXPECT_TRUE(has_note(refusal({none}, {{"topk", 512}}), "there was no single setting to change"));
}

TEST(Advice, SaysThatTheSearchStopped) {
  std::vector<Json> rows;
  for (int i = 0; i < 64; ++i) {
    rows.push_back(row("r" + std::to_string(i),
                       {{"topk", {{"one_of", {2048}}}}, {"page_size", {{"one_of", {i + 100}}}}}));
  }
  EXPECT_TRUE(has_note(refusal({manifest("many", rows)}, {{"topk", 512}, {"page_size", 1}}),
                       "fit: page_size (the search stopped early)"));
}

TEST(Advice, SaysThatNoRowNamesTheFamily) {
  const Json named = manifest("named", {row("r", {{"model_family", {"glm_moe_dsa", "hyv4"}}})});
  EXPECT_TRUE(has_note(refusal({named}, {{"model_family", "deepseek_v4"}}),
                       "no row of catalogue `test` names model_family `deepseek_v4`; named are "));
  EXPECT_FALSE(has_note(refusal({named}, {{"model_family", "hyv4"}, {"features", {"cp"}}}),
                        "names model_family"));
}

TEST(Advice, DoesNotBlameAFamilyThatSomeRowTakes) {
  const Json named =
      manifest("named", {row("v4", {{"model_family", {"deepseek_v4"}}}),
                         row("any", {{"model_family", "*"}, {"topk", {{"one_of", {64}}}}})});
  const Answer answer = refusal({named}, {{"model_family", "glm_moe_dsa"}, {"topk", 512}});
  EXPECT_FALSE(has_note(answer, "names model_family"));
}

TEST(Advice, SaysThatNoRowNamesTheFeatureAndWhatIsNamed) {
  const Json named = manifest("named", {row("r", {{"features", {{"subset", {"hisparse"}}}}})});
  const Answer answer = refusal({named}, {{"features", {"hi_sparse"}}});
  EXPECT_TRUE(has_note(answer, "names features `hi_sparse`; named are `hisparse`"));
  EXPECT_EQ(suggested(answer), Texts{R"({"features":[]})"});
}

TEST(Advice, SaysWhatASetRefuses) {
  const Json plain = manifest("plain", {row("r", {{"features", {{"subset", {"cuda_graph"}}}}})});
  const Answer answer = refusal({plain}, {{"decode", "plain"}, {"features", {"hisparse"}}});
  const auto& evidence = answer.diagnostics.front().evidence;
  const bool said = std::any_of(evidence.begin(), evidence.end(), [](const Evidence& e) {
    return e.text.find("features: refuses hisparse (accepts any of cuda_graph)") !=
           std::string::npos;
  });
  EXPECT_TRUE(said);
}

}  // namespace
}  // namespace dsakit::solver_test
