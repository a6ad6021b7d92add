// The independent judge: rules R0–R12 of framework §4 carried out literally over JSON manifests,
// one JSON request and one JSON policy, by enumerating every combination. It shares no code with
// core/, and nothing in it is fast.
//
// Invariants: no global state; equal inputs give equal results. Any thread.
#pragma once

#include <compare>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "property/oracle/values.hpp"

namespace dsakit::oracle {

// One unmet condition, without its texts.
struct Failed {
  std::string backend, row, phase, dim, kind;
  auto operator<=>(const Failed&) const = default;
};

// A row judged in one phase.
struct RowJudgement {
  std::string backend, row, phase;
  std::string state;  // accept, accept_if, reject
  bool denied = false;
};

// A complete session: for each requested phase a backend and a row.
struct Session {
  std::map<std::string, std::string> backend, row;
  std::string kv_dtype;  // empty: unknown
  bool operator==(const Session&) const = default;
};

// One obligation in one phase; `predicate` in its normalised form as text.
struct Obligation {
  std::string dim, predicate, phase;
  auto operator<=>(const Obligation&) const = default;
};

enum class Verdict : std::uint8_t { ok, rejected, error };

struct Result {
  Verdict verdict = Verdict::rejected;
  std::string error;        // why, when verdict is error
  bool unknown_id = false;  // a typed id that the catalogue does not have
  bool denied_id = false;   // a typed id that the policy denies
  bool mixed_list = false;  // ids and `auto` in one list
  Session session;          // ok only
  std::map<std::string, Json> provides;
  std::set<Obligation> obligations;
  std::vector<Session>
      allowed;  // with rows; best first within a dtype, dtypes in order of preference
  std::vector<Session>
      by_name;  // R10: allowed sessions with the typed ids, when nothing was resolved
  // The full evaluation under `evaluated_dtype`: the answer's, else the first of the preference.
  std::string evaluated_dtype;
  std::set<Failed> failed;
  std::vector<RowJudgement> judgements;
};

// For the report of a mismatch.
Json describe(const Result& result);

struct Row {
  std::string backend, name;
  std::int64_t rank = 0;
  std::vector<std::pair<std::string, Json>> where;  // common's predicates first, then the row's own
  std::map<std::string, Json> provides;
};

class Catalogue {
 public:
  // Manifests in search order; those that the rules refuse are set aside.
  explicit Catalogue(const std::vector<Json>& manifests);

  Result answer(const Json& request, const Json& policy) const;

  const Dims& dims() const { return dims_; }
  const std::vector<Row>& rows() const { return rows_; }
  const std::vector<std::string>& ids() const { return ids_; }
  const std::vector<std::string>& set_aside() const { return set_aside_; }
  bool conflict(const std::string& a, const std::string& b) const;

 private:
  bool admit(const Json& manifest);

  Dims dims_;
  std::vector<Row> rows_;
  std::vector<std::string> ids_, set_aside_;
  std::set<std::pair<std::string, std::string>> conflicts_;
};

// A request after R0, R1 and R5.
struct Asked {
  std::map<std::string, Json> values;  // every dimension but phase; null = unknown
  std::vector<std::string> phases;     // in the order decode, mtp, prefill
  std::map<std::string, std::vector<std::string>> typed;  // phase → entries of the list
  std::string kv_layout;                                  // empty: not asked for
};

// R0, R1, R5; the reason in `error` if the request is malformed.
bool read_request(const Json& request, const Dims& dims, Asked& asked, std::string& error);

// One row in one phase: R2, R3, R4, R8, R12.
struct Judged {
  const Row* row = nullptr;
  std::string phase;
  std::vector<std::pair<std::string, std::string>> failed;  // dim, kind
  std::vector<std::pair<std::string, Json>> obligations;    // dim, predicate
  bool denied = false;
};

Judged judge(const Row& row, const std::string& phase, const Asked& asked, const Dims& dims);

// A session before it becomes an answer.
using Combination = std::vector<const Judged*>;  // in the order of Asked::phases

// R7 without the typed choice: all combinations, best first by R9.
std::vector<Combination> all_sessions(const Catalogue& catalogue, const Asked& asked,
                                      const std::vector<Judged>& judged,
                                      const std::vector<std::string>& prefer);

}  // namespace dsakit::oracle
