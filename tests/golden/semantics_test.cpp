// The cases of semantics.jsonl: small catalogues with a request and the answer that the rules give,
// one rule at a time. The first line of that file says how to read it.
#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <tuple>

#include "golden/support.hpp"
#include "property/oracle/predicates.hpp"

namespace dsakit::golden {
namespace {

struct File {
  Json defaults;
  std::vector<Json> cases;
};

const File& file() {
  static const File loaded = [] {
    File result;
    std::ifstream in(std::string(DSAKIT_TESTS_DIR) + "/golden/semantics.jsonl");
    for (std::string line; std::getline(in, line);) {
      Json json = Json::parse(line);
      if (json.contains("name")) {
        result.cases.push_back(std::move(json));
      } else {
        result.defaults = json["defaults"];
      }
    }
    return result;
  }();
  return loaded;
}

void lay_over(Json& base, const Json& top, bool null_deletes) {
  for (const auto& [key, value] : top.items()) {
    if (null_deletes && value.is_null()) {
      base.erase(key);
    } else {
      base[key] = value;
    }
  }
}

Texts manifests_of(const Json& test) {
  Texts texts;
  for (Json manifest : test["manifests"]) {
    Json common = file().defaults["common"];
    lay_over(common, manifest.value("common", Json::object()), true);
    manifest["common"] = common;
    manifest["schema"] = 1;
    manifest["version"] = {1, 0, 0};
    manifest["abi"] = {{"min", 1}, {"max", 1}};
    for (const char* text : {"summary", "vendor", "license", "url"}) manifest[text] = "golden";
    texts.emplace_back(manifest["id"].get<std::string>(), manifest.dump());
  }
  return texts;
}

Json request_of(const Json& test) {
  Json request = file().defaults["request"];
  lay_over(request, test["request"], false);
  for (const Json& key : test.value("absent", Json::array())) request.erase(key.get<std::string>());
  lay_over(request, test.value("choice", Json::object()), false);
  return request;
}

using Ids = std::map<std::string, std::string>;

Ids ids_of(const Session& session) {
  Ids ids;
  for (const Phase phase : kPhases) {
    if (const std::string& id = session.backend[index(phase)]; !id.empty()) {
      ids.emplace(phase_name(phase), id);
    }
  }
  return ids;
}

using Expanded = std::vector<std::tuple<std::string, std::string, Json>>;

Expanded expand(const Json& obligations) {
  Expanded all;
  for (const Json& obligation : obligations) {
    for (const Json& phase : obligation["phases"]) {
      all.emplace_back(phase, obligation["dim"], obligation["predicate"]);
    }
  }
  return all;
}

Expanded expand(const std::vector<Obligation>& obligations) {
  Expanded all;
  for (const Obligation& obligation : obligations) {
    for (const Phase phase : obligation.phases) {
      all.emplace_back(std::string(phase_name(phase)), obligation.dim,
                       Json::parse(obligation.predicate));
    }
  }
  return all;
}

// Equal by the values accepted: {"min":1,"max":1} is {"one_of":[1]}.
bool accept_the_same(const Json& a, const Json& b) {
  if (oracle::normalised(a) == oracle::normalised(b)) return true;
  if (!a.is_object() || !b.is_object() || a.contains("subset") || b.contains("subset"))
    return false;
  for (int value = 0; value <= 4096; ++value) {
    if (oracle::accepts(a, value, oracle::Type::integer) !=
        oracle::accepts(b, value, oracle::Type::integer))
      return false;
  }
  return true;
}

void expect_obligations(const std::vector<Obligation>& actual, const Json& expected) {
  Expanded have = expand(actual);
  for (const auto& [phase, dim, predicate] : expand(expected)) {
    const auto match = std::find_if(
        have.begin(), have.end(), [&, p = phase, d = dim, q = predicate](const auto& o) {
          return std::get<0>(o) == p && std::get<1>(o) == d && accept_the_same(std::get<2>(o), q);
        });
    ASSERT_NE(match, have.end()) << "missing obligation " << phase << " " << dim << " "
                                 << predicate;
    have.erase(match);
  }
  for (const auto& [phase, dim, predicate] : have) {
    ADD_FAILURE() << "unexpected obligation " << phase << " " << dim << " " << predicate;
  }
}

void expect_failed(const std::vector<RowVerdict>& evaluation, const Json& expected) {
  for (const Json& want : expected) {
    bool found = false;
    for (const RowVerdict& row : evaluation) {
      if (row.backend != want["backend"] || row.row != want["row"] ||
          phase_name(row.phase) != want["phase"])
        continue;
      for (const FailedCondition& failed : row.failed) {
        found |= failed.dim == want["dim"] && fail_kind_name(failed.kind) == want["kind"];
      }
    }
    EXPECT_TRUE(found) << "not in the evaluation: " << want;
  }
}

void expect_allowed(const std::vector<Session>& allowed, const Json& expected) {
  std::set<Ids> have, want;
  for (const Session& session : allowed) have.insert(ids_of(session));
  for (const Json& session : expected) want.insert(session.get<Ids>());
  EXPECT_EQ(have, want);
}

void expect_answer(const Answer& answer, const Json& expect) {
  const std::string verdict = answer.ok() ? "ok" : "rejected";
  EXPECT_EQ(verdict, expect["verdict"]) << to_json(answer);
  if (expect.contains("session")) {
    EXPECT_EQ(ids_of(answer.session), expect["session"].get<Ids>());
  }
  if (expect.contains("kv_dtype")) {
    EXPECT_EQ(answer.kv_dtype, expect["kv_dtype"]);
  }
  const Json provides = expect.value("provides", Json::object());
  for (const auto& [dim, value] : provides.items()) {
    EXPECT_EQ(provided(answer, dim), value);
  }
  if (expect.contains("obligations")) expect_obligations(answer.obligations, expect["obligations"]);
}

void expect_set_aside(const Catalog& catalog, const Json& expected) {
  std::set<std::string> have;
  for (const CatalogEntry& entry : catalog.entries()) {
    if (entry.status == CatalogEntry::Status::set_aside) have.insert(entry.file);
  }
  EXPECT_EQ(have, expected.get<std::set<std::string>>());
}

void expect_nearest(const std::string& answer, const Json& expect) {
  if (!expect.contains("nearest")) return;
  const std::string field = "\"nearest\":" + expect["nearest"].dump();
  EXPECT_NE(answer.find(field), std::string::npos) << answer;
}

class Semantics : public testing::TestWithParam<std::size_t> {};

TEST_P(Semantics, GivesTheAnswerOfTheRules) {
  const Json& test = file().cases[GetParam()];
  const Json& expect = test["expect"];
  SCOPED_TRACE(test["name"].get<std::string>() + ": " + test["why"].get<std::string>());
  const auto catalog = Catalog::from_texts(manifests_of(test), "golden");
  if (expect.contains("set_aside")) expect_set_aside(*catalog, expect["set_aside"]);

  const Solver& solver = catalog->solver();
  const auto request = parse_request(request_of(test).dump(), solver.dimensions(), catalog->name());
  const auto policy = parse_policy(test.value("policy", Json::object()).dump(), "policy");
  ASSERT_TRUE(policy);
  if (!request) {
    const std::string error = to_json(error_answer(catalog->name(), request.error()));
    EXPECT_EQ(expect["verdict"], "error") << error;
    expect_nearest(error, expect);
    return;
  }
  ASSERT_NE(expect["verdict"], "error");
  const Explanation explanation = solver.explain(*request, *policy);
  expect_answer(explanation.answer, expect);
  expect_failed(explanation.evaluation, expect.value("failed_must_include", Json::array()));
  if (expect.contains("allowed")) expect_allowed(explanation.allowed, expect["allowed"]);
  expect_nearest(to_json(explanation.answer), expect);
  EXPECT_EQ(to_json(solver.resolve(*request, *policy)), to_json(explanation.answer));
  EXPECT_EQ(solver.validate(*request, *policy).ok(), explanation.answer.ok());
}

std::string case_name(const testing::TestParamInfo<std::size_t>& info) {
  std::string name = file().cases[info.param]["name"];
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Golden, Semantics, testing::Range<std::size_t>(0, file().cases.size()),
                         case_name);

TEST(SemanticsFile, IsComplete) {
  EXPECT_EQ(file().cases.size(), 120U);
}

}  // namespace
}  // namespace dsakit::golden
