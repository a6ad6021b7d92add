#include "property/compare.hpp"

#include <algorithm>
#include <sstream>

#include "property/harness.hpp"
#include "property/oracle/predicates.hpp"

namespace dsakit::property {
namespace {

using oracle::Result;
using oracle::Verdict;

class Report {
 public:
  template <typename A, typename B>
  void expect_equal(const std::string& what, const A& oracle_says, const B& solver_says) {
    if (oracle_says == solver_says) return;
    text_ << what << ": oracle " << Json(oracle_says) << ", solver " << Json(solver_says) << "\n";
  }
  void add(const std::string& line) { text_ << line << "\n"; }
  std::string text() const { return text_.str(); }

 private:
  std::ostringstream text_;
};

Json rows_of(const Session& session) {
  Json rows = Json::object();
  for (const Phase phase : kPhases) {
    const auto& row = session.row[index(phase)];
    if (!row.empty()) rows[std::string(phase_name(phase))] = row;
  }
  return rows;
}

std::string key_of(const oracle::Session& session) {
  return Json(session.backend).dump() + " " + session.kv_dtype;
}

std::string key_with_rows(const oracle::Session& session) {
  return key_of(session) + " " + Json(session.row).dump();
}

std::string key_with_rows(const Session& session) {
  return property::key_of(session) + " " + rows_of(session).dump();
}

bool has_code(const std::vector<Diagnostic>& diagnostics, Code code) {
  return std::any_of(diagnostics.begin(), diagnostics.end(), [&](const Diagnostic& d) {
    return d.code == code || has_code(d.children, code);
  });
}

std::set<oracle::Obligation> expanded(const std::vector<Obligation>& obligations) {
  std::set<oracle::Obligation> all;
  for (const auto& obligation : obligations) {
    for (const Phase phase : obligation.phases) {
      all.insert({obligation.dim, oracle::normalised(Json::parse(obligation.predicate)).dump(),
                  std::string(phase_name(phase))});
    }
  }
  return all;
}

std::set<std::string> texts(const std::set<oracle::Obligation>& obligations) {
  std::set<std::string> all;
  for (const auto& o : obligations) all.insert(o.dim + " " + o.predicate + " " + o.phase);
  return all;
}

void compare_provides(Report& report, const Result& expected, const Answer& answer,
                      const oracle::Dims& dims) {
  std::map<std::string, Json> provided;
  for (const auto& [dim, text] : answer.provides) provided[dim] = Json::parse(text);
  for (const auto& [dim, value] : expected.provides) {
    const auto found = provided.find(dim);
    const auto type = dims.contains(dim) ? dims.at(dim).type : oracle::Type::token;
    if (found == provided.end() || !oracle::same_value(value, found->second, type)) {
      report.add("provides " + dim + ": oracle " + value.dump());
    }
  }
  report.expect_equal("number of provides", expected.provides.size(), provided.size());
}

}  // namespace

std::string differences(const Result& expected, const Answer& answer, const oracle::Dims& dims) {
  Report report;
  const std::string verdict = expected.verdict == Verdict::ok         ? "ok"
                              : expected.verdict == Verdict::rejected ? "rejected"
                                                                      : "error";
  report.expect_equal("verdict", verdict, std::string(verdict_name(answer.verdict)));
  if (!report.text().empty() || expected.verdict == Verdict::error) return report.text();
  if (expected.verdict == Verdict::rejected) {
    report.expect_equal("E0201 for an unknown id", expected.unknown_id,
                        has_code(answer.diagnostics, Code::E0201));
    if (!expected.unknown_id && !expected.denied_id && !expected.mixed_list) {
      report.expect_equal("E0302 for sessions by name", !expected.by_name.empty(),
                          has_code(answer.diagnostics, Code::E0302));
    }
    return report.text();
  }
  report.expect_equal("session", Json(expected.session.backend), ids_of(answer.session));
  report.expect_equal("rows", Json(expected.session.row), rows_of(answer.session));
  report.expect_equal("kv_dtype", expected.session.kv_dtype, answer.kv_dtype);
  report.expect_equal("obligations", texts(expected.obligations),
                      texts(expanded(answer.obligations)));
  compare_provides(report, expected, answer, dims);
  return report.text();
}

std::string differences(const Result& expected, const std::vector<Session>& allowed) {
  Report report;
  std::set<std::string> ids, with_rows, solver_ids;
  std::map<std::string, std::vector<std::string>> order, solver_order;
  for (const auto& session : expected.allowed) {
    with_rows.insert(key_with_rows(session));
    if (ids.insert(key_of(session)).second) order[session.kv_dtype].push_back(key_of(session));
  }
  for (const auto& session : allowed) {
    const auto key = property::key_of(session);
    if (solver_ids.insert(key).second) solver_order[session.kv_dtype].push_back(key);
    if (!with_rows.contains(key_with_rows(session))) {
      report.add("allowed, with rows that do not join: " + key_with_rows(session));
    }
  }
  report.expect_equal("allowed set", ids, solver_ids);
  report.expect_equal("order of the allowed set", order, solver_order);
  return report.text();
}

std::string differences(const Result& expected, const std::vector<RowVerdict>& evaluation) {
  Report report;
  std::set<std::string> failed, solver_failed, states, solver_states;
  std::set<std::string> phases;
  for (const auto& j : expected.judgements) {
    phases.insert(j.phase);
    if (!j.denied) states.insert(j.backend + "/" + j.row + "/" + j.phase + " " + j.state);
  }
  for (const auto& f : expected.failed) {
    failed.insert(f.backend + "/" + f.row + "/" + f.phase + " " + f.dim + " " + f.kind);
  }
  const std::array<std::string, 3> names{"accept", "accept_if", "reject"};
  for (const auto& verdict : evaluation) {
    const std::string phase(phase_name(verdict.phase));
    if (!phases.contains(phase)) continue;
    const std::string where = verdict.backend + "/" + verdict.row + "/" + phase + " ";
    if (!verdict.denied) {
      solver_states.insert(where + names[static_cast<std::size_t>(verdict.state)]);
    }
    for (const auto& f : verdict.failed) {
      const std::string kind(fail_kind_name(f.kind));
      if (kind != "denied") solver_failed.insert(where + f.dim + " " + kind);
    }
  }
  report.expect_equal("failed conditions", failed, solver_failed);
  report.expect_equal("row states", states, solver_states);
  return report.text();
}

}  // namespace dsakit::property
