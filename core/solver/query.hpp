// One request against one catalogue: evaluates it per kv_dtype and answers what the projections ask
// (which session, which sessions, what each row says). Private to solver/. Not shared between
// threads.
#pragma once

#include <array>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "solver/join.hpp"

namespace dsakit {

// Combinations that a listing or a search for advice looks at before it says that it stopped.
inline constexpr std::size_t kListingWork = 4'000'000;

class Query {
 public:
  // The three references must outlive the query.
  Query(const Solver::Compiled& catalog, const Request& request, const Policy& policy);

  struct Found {
    SessionRows session;
    std::string kv_dtype;     // empty: unknown
    std::size_t attempt = 0;  // which of the tried dtypes; index for evaluated()
  };

  // R6, R9, R11: the first session under the request's choice.
  std::optional<Found> resolve() const;
  // The same with a bound: nothing may also mean that the work ran out.
  std::optional<Found> resolve(Work& work) const;

  // R6: the sessions whatever was typed, rank 0 included, over all tried dtypes; one for each
  // combination of backends and dtype.
  struct Allowed {
    std::vector<Found> first;  // the best, in order, as many as were asked for
    std::size_t count = 0;     // of all
    bool complete = true;      // false: the work ran out, so there are at least `count`
    std::array<std::set<std::string>, 3> ids;  // by phase, of all
  };
  using Entries = std::array<std::vector<std::string>, 3>;
  // Of backends that `within` names, `auto` for any; null: of any.
  Allowed allowed(std::size_t limit, const Entries* within, Work& work) const;

  // The entries typed for a phase; {"auto"} if nothing was.
  const std::vector<std::string>& entries(Phase phase) const { return choice_[index(phase)]; }
  const Entries& choice() const { return choice_; }
  bool typed(Phase phase) const;
  // Denied by the policy, with its reason.
  const Deny* denied(const std::string& id) const;

  // Row verdicts under one dtype of dtypes(), and under "any of them will do" for reports.
  const Evaluated& evaluated(std::size_t attempt) const { return evaluated_[attempt]; }
  const Evaluated& report() const;

  // Rows usable in a phase under the given verdicts; `entry` is an id or "auto"; empty: every
  // backend.
  std::vector<int> candidates(const Evaluated& evaluated, Phase phase,
                              const std::string& entry) const;

  Session name_session(const Found& found) const;

  const Solver::Compiled& catalog() const { return catalog_; }
  const Request& request() const { return request_; }
  const Policy& policy() const { return policy_; }
  const std::array<bool, 3>& phases() const { return phases_; }
  const std::vector<std::string>& dtypes() const { return dtypes_; }  // empty string: as requested

 private:
  const Solver::Compiled& catalog_;
  const Request& request_;
  const Policy& policy_;
  std::array<bool, 3> phases_;
  Entries choice_;
  std::vector<std::string> dtypes_;
  std::vector<Evaluated> evaluated_;         // by dtype
  mutable std::optional<Evaluated> report_;  // made on demand
  SessionOrder order_;
};

// The order in which `auto` tries dtypes (R11).
std::vector<std::string> dtype_preference(const Request& request, const Policy& policy);

// One row's conditions in one phase, in words of the answer.
RowVerdict row_verdict(const Query& query, const Evaluated& evaluated, int row, Phase phase);

// Single changes of what was typed or is settable that were re-evaluated and accepted (P5).
struct Advice {
  std::vector<Suggestion> suggestions;
  std::vector<std::string> tried;  // settings of which another value was evaluated
  bool complete = true;            // false: a bound ended the search
};
Advice suggest_changes(const Query& query);

// Why there is no session (R10): diagnostics in the order they are shown, the advice as their help.
std::vector<Diagnostic> explain_rejection(const Query& query, const Advice& advice);

// The answer for a query, rejections explained.
Answer answer(const Query& query);

}  // namespace dsakit
