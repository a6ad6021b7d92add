// What every property test needs: a generated catalogue built both as the shipped Solver and as the
// oracle, a way to ask either, and a loop over cases that shrinks and prints the first failure so
// that it can be replayed.
//
// Invariants: a check is a pure function of (catalogue, request, policy, seed); it returns an empty
// text when the property holds. Not thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "property/generate.hpp"
#include "property/oracle/oracle.hpp"
#include "solver/solver.hpp"

namespace dsakit::property {

struct Case {
  std::vector<Json> manifests;
  Json request = Json::object();
  Json policy = Json::object();
  std::uint64_t seed = 0;  // of the check's own choices
};

// One catalogue in both forms.
class Built {
 public:
  explicit Built(const std::vector<Json>& manifests);
  // From texts, so that the order of keys can be chosen.
  Built(const std::vector<Json>& manifests, const std::vector<std::string>& texts);

  const Solver& solver() const { return *solver_; }
  const oracle::Catalogue& oracle() const { return oracle_; }
  const std::vector<Json>& manifests() const { return manifests_; }
  // Ids set aside by the reader or by compile(), in search order of each.
  const std::vector<std::string>& set_aside() const { return set_aside_; }

 private:
  std::vector<Json> manifests_;
  oracle::Catalogue oracle_;
  std::unique_ptr<Solver> solver_;
  std::vector<std::string> set_aside_;
};

// The shipped code's view of a request and a policy. A request that it refuses gives an error
// answer.
tl::expected<Request, Diagnostic> read(const Solver& solver, const Json& request);
Policy read_policy(const Json& policy);
Answer resolve(const Solver& solver, const Json& request, const Json& policy);
Answer validate(const Solver& solver, const Json& request, const Json& policy);
// The request must be well-formed.
Explanation explain(const Solver& solver, const Json& request, const Json& policy);
std::vector<Session> allowed(const Solver& solver, const Json& request, const Json& policy);

std::string_view verdict_name(Answer::Verdict verdict);
// {"prefill":id,…} of the requested phases.
Json ids_of(const Session& session);
// The same with the dtype, as one comparable text.
std::string key_of(const Session& session);

using Check = std::function<std::string(const Built&, const Case&)>;

// Runs `check` on `catalogues` × `requests` generated cases. The first failure is reduced to a
// small case, printed with both answers, and ends the loop. Returns the number of cases run.
int for_cases(std::uint64_t first_seed, int catalogues, int requests, const Check& check);

}  // namespace dsakit::property
