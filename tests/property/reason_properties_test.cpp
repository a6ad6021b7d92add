// P4 and P5: each printed reason is true, each suggestion works.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "property/harness.hpp"
#include "property/oracle/predicates.hpp"

namespace dsakit::property {
namespace {

using Conditions = std::multiset<std::string>;

// dim and kind of each failed condition of one row in one phase.
Conditions failed_of(const Explanation& explanation, const RowVerdict& which) {
  Conditions all;
  for (const auto& verdict : explanation.evaluation) {
    if (verdict.backend != which.backend || verdict.row != which.row ||
        verdict.phase != which.phase) {
      continue;
    }
    for (const auto& f : verdict.failed) {
      all.insert(f.dim + " " + std::string(fail_kind_name(f.kind)));
    }
  }
  return all;
}

const oracle::Row& row_of(const Built& built, const RowVerdict& verdict) {
  const auto& rows = built.oracle().rows();
  return *std::find_if(rows.begin(), rows.end(), [&](const oracle::Row& row) {
    return row.backend == verdict.backend && row.name == verdict.row;
  });
}

// A value of the dimension that the whole row accepts, or null where there is none to ask for.
Json accepted_value(const Built& built, const RowVerdict& verdict, const FailedCondition& failed) {
  const auto& row = row_of(built, verdict);
  if (failed.kind == FailKind::provides) return row.provides.at("kv_layout");
  const auto dim = built.oracle().dims().find(failed.dim);
  if (failed.dim == "phase" || dim == built.oracle().dims().end()) return {};
  if (failed.kind == FailKind::undeclared) return dim->second.neutral.value_or(Json());
  if (failed.kind != FailKind::mismatch) return {};
  std::vector<Json> predicates;
  for (const auto& [name, predicate] : row.where) {
    if (name == failed.dim) predicates.push_back(predicate);
  }
  return oracle::common_value(predicates, dim->second.type).value_or(Json());
}

std::string reason_is_true(const Built& built, const Case& one, const Explanation& before,
                           const RowVerdict& verdict, const FailedCondition& failed) {
  const Json value = accepted_value(built, verdict, failed);
  if (value.is_null()) return "";
  Json request = one.request;
  request[failed.dim] = value;
  const auto after = failed_of(explain(built.solver(), request, one.policy), verdict);
  Conditions expected = failed_of(before, verdict);
  expected.erase(failed.dim + " " + std::string(fail_kind_name(failed.kind)));
  if (after == expected) return "";
  return verdict.backend + "/" + verdict.row + ": setting " + failed.dim + " to " + value.dump() +
         " does not remove that reason alone; left are " + Json(after).dump() + ", expected " +
         Json(expected).dump();
}

std::string reasons_are_true(const Built& built, const Case& one) {
  const auto request = read(built.solver(), one.request);
  if (!request || one.request.value("kv_dtype", Json()) == "auto") return "";
  const auto before = explain(built.solver(), one.request, one.policy);
  Rng rng(one.seed);
  for (const auto& verdict : before.evaluation) {
    for (const auto& failed : verdict.failed) {
      if (!rng.chance(30)) continue;
      const auto problem = reason_is_true(built, one, before, verdict, failed);
      if (!problem.empty()) return problem;
    }
  }
  return "";
}

// The reasons in the answer itself are those of the evaluation, word by word.
std::string printed_reasons_are_evaluated(const Built& built, const Case& one) {
  const auto request = read(built.solver(), one.request);
  if (!request || one.request.value("kv_dtype", Json()) == "auto") return "";
  const auto all = explain(built.solver(), one.request, one.policy);
  std::set<std::string> evaluated;
  for (const auto& verdict : all.evaluation) {
    for (const auto& f : verdict.failed) {
      evaluated.insert(verdict.backend + " " + std::string(phase_name(verdict.phase)) + " " +
                       f.row + " " + f.dim + " " + std::string(fail_kind_name(f.kind)) + " " +
                       Json::parse(f.offered.empty() ? "null" : f.offered).dump());
    }
  }
  const Json diagnostics = Json::parse(to_json(all.answer))["diagnostics"];
  for (const auto& diagnostic : diagnostics) {
    const Json failed = diagnostic.value("failed", Json::array());
    if (!diagnostic.contains("backend") || !diagnostic.contains("phase")) continue;
    for (const auto& f : failed) {
      const auto kind = f["kind"].get<std::string>();
      if (kind == "conflict" || kind == "denied") continue;
      const std::string key = diagnostic["backend"].get<std::string>() + " " +
                              diagnostic["phase"].get<std::string>() + " " +
                              f["row"].get<std::string>() + " " + f["dim"].get<std::string>() +
                              " " + kind + " " + f.value("offered", Json()).dump();
      if (!evaluated.contains(key)) return "printed, not evaluated: " + key;
    }
  }
  return "";
}

std::string suggestions_work(const Built& built, const Case& one) {
  const Answer answer = resolve(built.solver(), one.request, one.policy);
  for (const auto& suggestion : answer.suggestions) {
    Json request = one.request;
    const Json change = Json::parse(suggestion.json);
    for (const auto& [key, value] : change.items()) {
      if (value.is_null()) {
        request.erase(key);
      } else {
        request[key] = value;
      }
    }
    if (!resolve(built.solver(), request, one.policy).ok()) {
      return "suggestion " + suggestion.json + " is not accepted";
    }
  }
  return "";
}

TEST(Property, P4_ReasonsAreTrue) {
  EXPECT_EQ(for_cases(400000, 50, 20, reasons_are_true), 50 * 20);
}

TEST(Property, P4_PrintedReasonsAreThoseOfTheEvaluation) {
  EXPECT_EQ(for_cases(410000, 60, 30, printed_reasons_are_evaluated), 60 * 30);
}

TEST(Property, P5_SuggestionsAreAccepted) {
  int suggested = 0;
  const auto check = [&](const Built& built, const Case& one) {
    suggested += !resolve(built.solver(), one.request, one.policy).suggestions.empty();
    return suggestions_work(built, one);
  };
  const int run = for_cases(500000, 80, 30, check);
  EXPECT_EQ(run, 80 * 30);
  EXPECT_GT(suggested, run / 20);
}

}  // namespace
}  // namespace dsakit::property
