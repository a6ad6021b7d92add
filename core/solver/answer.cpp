#include "solver/answer.hpp"

#include <nlohmann/json.hpp>

#include "diag/render.hpp"

namespace dsakit {
namespace {

using Json = nlohmann::ordered_json;

// Text that is JSON already: predicates, values.
Json raw(const std::string& text) {
  return Json::parse(text, nullptr, false);
}

Json by_phase(const std::array<std::string, 3>& names) {
  Json out = Json::object();
  for (const Phase phase : kPhases) {
    if (!names[index(phase)].empty()) out[std::string(phase_name(phase))] = names[index(phase)];
  }
  return out;
}

Json failed_json(const FailedCondition& failed) {
  return {{"row", failed.row},
          {"dim", failed.dim},
          {"wanted", raw(failed.wanted)},
          {"offered", raw(failed.offered)},
          {"kind", fail_kind_name(failed.kind)}};
}

std::string_view verdict_name(Answer::Verdict verdict) {
  switch (verdict) {
    case Answer::Verdict::ok:
      return "ok";
    case Answer::Verdict::rejected:
      return "rejected";
    case Answer::Verdict::error:
      break;
  }
  return "error";
}

Json answer_json(const Answer& answer) {
  Json out;
  out["verdict"] = verdict_name(answer.verdict);
  out["catalog"] = answer.catalog;
  if (answer.line > 0) out["line"] = answer.line;
  if (answer.ok()) {
    if (!answer.kv_dtype.empty()) out["kv_dtype"] = answer.kv_dtype;
    out["session"] = by_phase(answer.session.backend);
    out["rows"] = by_phase(answer.session.row);
    for (const auto& [dim, value] : answer.provides) out["provides"][dim] = raw(value);
    out["obligations"] = Json::array();
    for (const Obligation& obligation : answer.obligations) {
      Json phases = Json::array();
      for (const Phase phase : obligation.phases) phases.push_back(phase_name(phase));
      out["obligations"].push_back({{"dim", obligation.dim},
                                    {"predicate", raw(obligation.predicate)},
                                    {"phases", std::move(phases)}});
    }
  }
  out["diagnostics"] = raw(render_json(answer.diagnostics));
  if (answer.verdict == Answer::Verdict::rejected) {
    out["suggestions"] = Json::array();
    for (const Suggestion& suggestion : answer.suggestions) {
      out["suggestions"].push_back({{"set", raw(suggestion.json)}});
    }
  }
  return out;
}

Json row_json(const RowVerdict& row) {
  static constexpr std::string_view kStates[] = {"accept", "accept_if", "reject"};
  Json out{{"backend", row.backend},
           {"row", row.row},
           {"phase", phase_name(row.phase)},
           {"verdict", kStates[static_cast<std::size_t>(row.state)]},
           {"rank", row.rank},
           {"kv_layout", row.kv_layout}};
  if (row.denied) out["denied"] = true;
  if (!row.evidence.empty()) out["evidence"] = row.evidence;
  out["failed"] = Json::array();
  for (const FailedCondition& failed : row.failed) out["failed"].push_back(failed_json(failed));
  out["obligations"] = Json::array();
  for (const auto& [dim, predicate] : row.obligations) {
    out["obligations"].push_back({{"dim", dim}, {"predicate", raw(predicate)}});
  }
  return out;
}

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string_view fail_kind_name(FailKind kind) {
  static constexpr std::string_view kNames[] = {"mismatch", "undeclared", "provides", "operator",
                                                "conflict"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string failed_conditions_json(std::span<const FailedCondition> failed) {
  Json out = Json::array();
  for (const FailedCondition& condition : failed) out.push_back(failed_json(condition));
  return dump(out);
}

std::string sessions_json(std::span<const Session> sessions) {
  Json out = Json::array();
  for (const Session& session : sessions) {
    Json entry = by_phase(session.backend);
    if (!session.kv_dtype.empty()) entry["kv_dtype"] = session.kv_dtype;
    out.push_back(std::move(entry));
  }
  return dump(out);
}

std::string to_json(const Answer& answer) {
  return dump(answer_json(answer));
}

std::string to_json(const Explanation& explanation) {
  Json out = answer_json(explanation.answer);
  out["evaluation"] = Json::array();
  for (const RowVerdict& row : explanation.evaluation) out["evaluation"].push_back(row_json(row));
  if (!explanation.judged_dtypes.empty()) {
    out["judged_with"] = {{"kv_dtype", explanation.judged_dtypes},
                          {"chosen", explanation.answer.ok()}};
  }
  out["allowed"] = raw(sessions_json(explanation.allowed));
  out["allowed_count"] = explanation.allowed_count;
  if (!explanation.allowed_complete) out["allowed_complete"] = false;
  return dump(out);
}

Answer error_answer(std::string_view catalog, Diagnostic diagnostic, int line) {
  Answer out;
  out.verdict = Answer::Verdict::error;
  out.catalog = catalog;
  out.line = line;
  out.diagnostics.push_back(std::move(diagnostic));
  return out;
}

}  // namespace dsakit
