#include "why.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace dsakit::cli {
namespace {

// The order in which the solver compares ranks.
constexpr std::array kRankOrder{Phase::decode, Phase::mtp, Phase::prefill};

std::int32_t rank_of(const Explanation& explanation, const Session& session, Phase phase) {
  for (const RowVerdict& row : explanation.evaluation) {
    if (row.phase == phase && row.backend == session.backend[index(phase)] &&
        row.row == session.row[index(phase)]) {
      return row.rank;
    }
  }
  return 0;
}

std::size_t distinct_backends(const Session& session) {
  std::set<std::string> ids(session.backend.begin(), session.backend.end());
  ids.erase("");
  return ids.size();
}

bool names_backend(const Request& request, Phase phase) {
  const auto& choice = request.choice[index(phase)];
  return choice && choice->text != "auto";
}

// Whether the session could have been chosen instead: same dtype, other backends, nothing that is
// typed replaced, and no backend that must be named.
bool is_rival(const Explanation& explanation, const Request& request, const Session& session) {
  const Session& chosen = explanation.answer.session;
  if (session.kv_dtype != chosen.kv_dtype || session.backend == chosen.backend) return false;
  for (const Phase phase : kPhases) {
    const std::string& id = session.backend[index(phase)];
    if (names_backend(request, phase)) {
      if (id != chosen.backend[index(phase)]) return false;
    } else if (!id.empty() && rank_of(explanation, session, phase) == 0) {
      return false;
    }
  }
  return true;
}

std::string compare(const Explanation& explanation, const Session& rival) {
  const Session& chosen = explanation.answer.session;
  for (const Phase phase : kRankOrder) {
    const std::int32_t own = rank_of(explanation, chosen, phase);
    const std::int32_t other = rank_of(explanation, rival, phase);
    if (own == other) continue;
    if (own < other) return "the policy prefers it";
    return fmt::format("{} rank {}, the next session has `{}` with {}", phase_name(phase), own,
                       rival.backend[index(phase)], other);
  }
  if (distinct_backends(chosen) < distinct_backends(rival)) {
    return "equal ranks, and it needs fewer backends than the next session";
  }
  return "equal ranks; it is stated more precisely than the next session, or comes first by name";
}

}  // namespace

std::string why_chosen(const Explanation& explanation, const Request& request) {
  if (!explanation.answer.ok()) return "";
  const auto rival =
      std::find_if(explanation.allowed.begin(), explanation.allowed.end(),
                   [&](const Session& s) { return is_rival(explanation, request, s); });
  const bool typed = std::any_of(kPhases.begin(), kPhases.end(),
                                 [&](Phase phase) { return names_backend(request, phase); });
  if (rival != explanation.allowed.end()) return compare(explanation, *rival);
  const auto dtype = request.values.find("kv_dtype");
  const bool first_dtype = dtype != request.values.end() && dtype->second == Value(Token("auto"));
  return fmt::format("nothing else serves {}{}",
                     typed ? "with what was named" : "without being named",
                     first_dtype ? fmt::format(" under kv_dtype {}, the first that has a session",
                                               explanation.answer.kv_dtype)
                                 : "");
}

}  // namespace dsakit::cli
