// What the solver says: an answer (verdict, session, obligations, diagnostics, suggestions) and,
// for explain, the whole evaluation. Plain data; to_json() is its one serialised form, so CLI, C
// API and C++ cannot differ. Value types; no thread affinity.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "diag/diagnostic.hpp"
#include "solver/request.hpp"

namespace dsakit {

enum class FailKind : std::uint8_t { mismatch, undeclared, provides, op, conflict };
std::string_view fail_kind_name(FailKind kind);

// One unmet condition of a row. `wanted` and `offered` are JSON text.
struct FailedCondition {
  std::string row, dim, wanted, offered;
  FailKind kind = FailKind::mismatch;
};

// What an accepted session still asks of values that were unknown: "heads must be 1 to 128".
struct Obligation {
  std::string dim;
  std::string predicate;  // JSON text as the row writes it
  std::vector<Phase> phases;
};

// Backends of a session by phase; empty string = the phase was not requested.
struct Session {
  std::array<std::string, 3> backend;
  std::array<std::string, 3> row;
  std::string kv_dtype;  // the dtype under which it was found; empty if unknown
  bool operator==(const Session&) const = default;
};

struct Suggestion {
  std::string json;  // {"kv_dtype":"bf16"}, null = leave it out: re-evaluated and accepted
  std::string text;  // for people
};

struct Answer {
  enum class Verdict : std::uint8_t { ok, rejected, error };
  Verdict verdict = Verdict::rejected;
  std::string catalog;
  std::string kv_dtype;                                       // empty: unknown
  Session session;                                            // ok only
  std::vector<std::pair<std::string, std::string>> provides;  // dim → JSON text
  std::vector<Obligation> obligations;
  std::vector<Diagnostic> diagnostics;
  std::vector<Suggestion> suggestions;
  int line = 0;  // of a request file; 0 = none

  bool ok() const { return verdict == Verdict::ok; }
};

// The verdict on one row in one phase.
struct RowVerdict {
  enum class State : std::uint8_t { accept, accept_if, reject };
  std::string backend, row;
  Phase phase = Phase::prefill;
  State state = State::reject;
  std::int32_t rank = 0;
  std::string kv_layout;  // what the row provides
  std::vector<FailedCondition> failed;
  std::vector<std::pair<std::string, std::string>> obligations;  // dim → predicate JSON
  bool denied = false;
  // How the row is known to work on the arch of the request (docs/evidence.md); empty if it rejects
  // or the arch is unknown. For people: no answer depends on it.
  std::string evidence;
};

struct Explanation {
  Answer answer;
  std::vector<RowVerdict> evaluation;  // catalogue order, then row, then phase
  // allowed_set in total order, its first kListed sessions.
  static constexpr std::size_t kListed = 256;
  std::vector<Session> allowed;
  std::size_t allowed_count = 0;  // of the whole allowed_set
  bool allowed_complete = true;   // false: counting stopped, there are at least allowed_count
  // Under kv_dtype `auto` what the verdicts were judged with: the chosen dtype; without a session
  // all that were tried, and a row fits if it takes one of them. Empty where none was to choose.
  std::vector<std::string> judged_dtypes;
};

// The forms of framework §5, keys in that order.
std::string to_json(const Answer& answer);
std::string to_json(const Explanation& explanation);

// JSON arrays of parts, for diagnostics.
std::string failed_conditions_json(std::span<const FailedCondition> failed);
std::string sessions_json(std::span<const Session> sessions);

// An error answer for a malformed request.
Answer error_answer(std::string_view catalog, Diagnostic diagnostic, int line = 0);

}  // namespace dsakit
