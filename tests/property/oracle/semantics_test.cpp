// Judges the judge: every case of tests/golden/semantics.jsonl, by the oracle alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "property/oracle/oracle.hpp"
#include "property/oracle/predicates.hpp"

namespace dsakit::oracle {
namespace {

void lay_over(Json& base, const Json& upper, bool null_deletes) {
  for (const auto& [key, value] : upper.items()) {
    if (null_deletes && value.is_null()) {
      base.erase(key);
    } else {
      base[key] = value;
    }
  }
}

struct GoldenCase {
  std::vector<Json> manifests;
  Json request, policy, expect;
};

GoldenCase read_case(const Json& defaults, const Json& json) {
  GoldenCase golden;
  for (Json manifest : json["manifests"]) {
    Json common = defaults["common"];
    lay_over(common, manifest.value("common", Json::object()), true);
    manifest["common"] = common;
    golden.manifests.push_back(manifest);
  }
  golden.request = defaults["request"];
  lay_over(golden.request, json["request"], false);
  for (const auto& key : json.value("absent", Json::array())) {
    golden.request.erase(key.get<std::string>());
  }
  golden.request.update(json.value("choice", Json::object()));
  golden.policy = json.value("policy", Json::object());
  golden.expect = json["expect"];
  return golden;
}

std::set<Json> ids_of(const std::vector<Session>& sessions) {
  std::set<Json> ids;
  for (const auto& session : sessions) ids.insert(session.backend);
  return ids;
}

// The same interval or list: compared by the values accepted over everything that tells them apart.
bool same_meaning(const Json& a, const Json& b, Type type) {
  if (type != Type::integer) return normalised(a) == normalised(b);
  for (int value = 0; value <= 4096; ++value) {
    if (accepts(a, value, type) != accepts(b, value, type)) return false;
  }
  return true;
}

void expect_obligations(const Result& result, const Json& expected, const Dims& dims) {
  std::size_t count = 0;
  for (const auto& entry : expected) {
    const auto dim = entry["dim"].get<std::string>();
    for (const auto& phase : entry["phases"]) {
      ++count;
      EXPECT_TRUE(std::any_of(result.obligations.begin(), result.obligations.end(),
                              [&](const Obligation& o) {
                                return o.dim == dim && Json(o.phase) == phase &&
                                       same_meaning(Json::parse(o.predicate), entry["predicate"],
                                                    dims.at(dim).type);
                              }))
          << entry << " in " << phase;
    }
  }
  EXPECT_EQ(result.obligations.size(), count);
}

void check(const GoldenCase& golden) {
  const Catalogue catalogue(golden.manifests);
  const Result result = catalogue.answer(golden.request, golden.policy);
  const Json& expect = golden.expect;
  const std::map<std::string, Verdict> verdicts{
      {"ok", Verdict::ok}, {"rejected", Verdict::rejected}, {"error", Verdict::error}};
  ASSERT_EQ(result.verdict, verdicts.at(expect["verdict"])) << result.error;
  if (expect.contains("session")) {
    EXPECT_EQ(Json(result.session.backend), expect["session"]);
  }
  if (expect.contains("kv_dtype")) {
    EXPECT_EQ(result.session.kv_dtype, expect["kv_dtype"]);
  }
  const Json provides = expect.value("provides", Json::object());
  for (const auto& [dim, value] : provides.items()) {
    EXPECT_EQ(result.provides.at(dim), value);
  }
  if (expect.contains("obligations")) {
    expect_obligations(result, expect["obligations"], catalogue.dims());
  }
  for (const auto& failed : expect.value("failed_must_include", Json::array())) {
    EXPECT_TRUE(result.failed.contains(
        {failed["backend"], failed["row"], failed["phase"], failed["dim"], failed["kind"]}))
        << failed;
  }
  if (expect.contains("allowed")) {
    EXPECT_EQ(ids_of(result.allowed), expect["allowed"].get<std::set<Json>>());
  }
  if (expect.contains("set_aside")) {
    EXPECT_EQ(Json(catalogue.set_aside()), expect["set_aside"]);
  }
}

TEST(Oracle, EverySemanticsCase) {
  std::ifstream file(DSAKIT_TESTS_DIR "/golden/semantics.jsonl");
  std::string line;
  ASSERT_TRUE(std::getline(file, line));
  const Json defaults = Json::parse(line)["defaults"];
  int cases = 0;
  while (std::getline(file, line)) {
    const Json json = Json::parse(line);
    SCOPED_TRACE(json["name"].get<std::string>());
    check(read_case(defaults, json));
    ++cases;
  }
  EXPECT_EQ(cases, 120);
}

TEST(Oracle, IntegerIntersectionsAreExact) {
  const auto meets = [](const Json& a, const Json& b) {
    return common_value({a, b}, Type::integer).has_value();
  };
  EXPECT_TRUE(meets({{"multiple_of", 16}, {"max", 96}}, {{"multiple_of", 24}, {"min", 1}}));
  EXPECT_FALSE(meets({{"multiple_of", 16}, {"max", 47}}, {{"multiple_of", 24}, {"min", 1}}));
  EXPECT_FALSE(meets({{"pow2", 1}}, {{"multiple_of", 24}}));
  EXPECT_TRUE(meets({{"pow2", 1}}, {{"min", 1073741824}}));
  EXPECT_FALSE(meets({{"pow2", 1}}, {{"min", 1073741825}}));
  EXPECT_TRUE(meets({{"multiple_of", 65521}}, {{"multiple_of", 65519}}));
  EXPECT_FALSE(meets({{"multiple_of", 65521}, {"min", 1}}, {{"multiple_of", 65519}}));
  EXPECT_FALSE(meets({{"one_of", {3, 5}}}, {{"min", 6}}));
}

// common_value against enumeration, over all limits, demands and prohibitions on three elements.
TEST(Oracle, SetIntersectionsAgreeWithEnumeration) {
  const std::vector<std::string> names{"a", "b", "c"};
  std::vector<Json> subsets;
  for (int mask = 0; mask < 8; ++mask) {
    Json set = Json::array();
    for (std::size_t i = 0; i < 3; ++i) {
      if (mask & (1 << i)) set.push_back(names[i]);
    }
    subsets.push_back(set);
  }
  for (const auto& subset : subsets) {
    for (const auto& includes : subsets) {
      for (const auto& none_of : subsets) {
        const std::vector<Json> both{{{"subset", subset}, {"none_of", none_of}},
                                     {{"subset", {"a", "b", "c"}}, {"includes", includes}}};
        const bool exists = std::any_of(subsets.begin(), subsets.end(), [&](const Json& value) {
          return accepts(both[0], value, Type::set) && accepts(both[1], value, Type::set);
        });
        EXPECT_EQ(common_value(both, Type::set).has_value(), exists) << Json(both);
      }
    }
  }
}

}  // namespace
}  // namespace dsakit::oracle
