#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "diag/render.hpp"
#include "manifest/schema.hpp"

namespace dsakit {
namespace {

using nlohmann::json;

json clean() {
  return json::parse(R"({"schema":1,"id":"a","version":[1,0,0],"abi":{"min":1,"max":1},
    "common":{"platform":"*","arch":"*","phase":"*","model_family":"*","kv_dtype":"*","page_size":"*",
              "heads":"*","topk":"*","d_qk":"*"},
    "rows":[{"name":"r","where":{"d_v":"*"},"provides":{"kv_layout":"l"}}]})");
}

std::vector<std::string> findings(const json& manifest) {
  const auto parsed = parse_manifest(manifest.dump(), "f");
  EXPECT_TRUE(parsed) << (parsed ? "" : render_text(parsed.error()));
  std::vector<std::string> texts;
  if (!parsed) return texts;
  for (const Diagnostic& finding : lint_rows(parsed->manifest, "f")) {
    EXPECT_EQ(finding.code, Code::W0117);
    texts.push_back(headline(finding));
  }
  return texts;
}

std::vector<std::string> with(const char* dim, const char* predicate) {
  json manifest = clean();
  manifest["rows"][0]["where"][dim] = json::parse(predicate);
  return findings(manifest);
}

using Texts = std::vector<std::string>;

TEST(Lint, ACleanManifestHasNoFinding) {
  EXPECT_EQ(findings(clean()), Texts{});
}

TEST(Lint, ARowMentionsEachDimensionWithoutNeutralValue) {
  json manifest = clean();
  manifest["common"].erase("heads");
  EXPECT_EQ(findings(manifest),
            Texts{"row `r` of `f`: it says nothing about `heads`, so it serves no request; "
                  "write \"*\" if any value will do"});
}

TEST(Lint, UnknownNamesOperatorsAndDevices) {
  EXPECT_EQ(
      with("page_sise", "\"*\""),
      Texts{"row `r` of `f`: `page_sise` is no dimension that this file declares or dsakit has "
            "(the nearest is "
            "`page_size`); without another file that declares it, the row serves no request"});
  EXPECT_EQ(with("heads", R"({"not_one_of":[3]})"),
            Texts{"row `r` of `f`: operator `not_one_of` on `heads` is unknown to this version, so "
                  "the row serves no "
                  "request"});
  EXPECT_EQ(with("arch", R"(["sm_90","sm_130"])"),
            Texts{"row `r` of `f`: arch `sm_130` names no device that this version knows"});
}

TEST(Lint, PredicatesThatNothingSatisfies) {
  const char* kNever[][2] = {{"kv_dtype", "[]"},
                             {"heads", R"({"min":2,"max":1})"},
                             {"heads", R"({"one_of":[3,5],"multiple_of":2})"},
                             {"heads", R"({"min":3,"max":4,"multiple_of":5})"},
                             {"heads", R"({"pow2":1,"min":65,"max":127})"},
                             {"heads", R"({"pow2":1,"multiple_of":24})"},
                             {"driver", R"({"min":"2","below":"2.0"})"},
                             {"features", R"({"includes":["a"],"none_of":["a"]})"},
                             {"features", R"({"includes":["a"],"subset":["b"]})"}};
  for (const auto& [dim, predicate] : kNever)
    EXPECT_EQ(with(dim, predicate).size(), 1U) << predicate;
  const char* kSome[][2] = {{"heads", R"({"min":1,"max":1})"},
                            {"heads", R"({"min":3,"max":5,"multiple_of":5})"},
                            {"heads", R"({"pow2":1,"min":65,"max":128})"},
                            {"heads", R"({"one_of":[3,4],"multiple_of":2})"},
                            {"driver", R"({"min":"2","below":"2.0.1"})"},
                            {"features", R"({"includes":["a"],"subset":["a","b"]})"}};
  for (const auto& [dim, predicate] : kSome) EXPECT_EQ(with(dim, predicate), Texts{}) << predicate;
}

TEST(Lint, AManifestWithoutRowsServesNothing) {
  json manifest = clean();
  manifest["rows"] = json::array();
  EXPECT_EQ(findings(manifest).size(), 1U);
}

}  // namespace
}  // namespace dsakit
