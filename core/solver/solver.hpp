// The one function. A Solver is the compiled form of a catalogue's manifests; it judges every
// backend, row and phase of a request with all reasons (framework §4, R0–R12). resolve, validate,
// allowed_set, choices, explain and every suggestion are projections of that one evaluation, so
// none can drift from another.
//
// Invariants: pure and deterministic: no I/O, clock, locale, environment or address order.
// Immutable after compile(); const use from any thread. Compiled rows never leave this directory.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "manifest/manifest.hpp"
#include "solver/answer.hpp"
#include "solver/request.hpp"

namespace dsakit {

// One backend as the catalogue found it; the order of a vector of these is the search order.
struct SolverInput {
  std::shared_ptr<const Manifest> manifest;
  std::string file;  // for messages
};

// A backend's id with whether any request on the given machine can use it in a phase.
struct Choice {
  std::string id;
  std::string summary;
  bool usable = false;     // some request on this machine accepts it, by name at least
  bool automatic = false;  // … without naming it
};

class Solver {
 public:
  struct Compiled;  // private to solver/

  // Compiles manifests with distinct ids. Files whose dimension declarations contradict an earlier
  // file's (E0109), or whose predicates do not fit a dimension declared elsewhere (E0107), are set
  // aside.
  static Solver compile(const std::vector<SolverInput>& inputs, std::string catalog);

  struct SetAside {
    std::string id, file;
    Diagnostic reason;
  };
  const std::vector<SetAside>& set_aside() const;
  const std::string& catalog() const;
  const DimensionTable& dimensions() const;
  std::vector<std::string> ids() const;  // in search order
  // Tokens that some row names for a token or set dimension, unordered.
  std::vector<std::string> named(std::string_view dim) const;

  // The first session in the total order under the request's choice, or why there is none (R5–R11).
  Answer resolve(const Request& request, const Policy& policy = {}) const;

  // Whether resolve() succeeds, with the same diagnostics; what it would return otherwise is not
  // told.
  Answer validate(const Request& request, const Policy& policy = {}) const;

  // All sessions, rank 0 included, in total order; under kv_dtype `auto` the union over the
  // preference.
  std::vector<Session> allowed_set(const Request& request, const Policy& policy = {}) const;

  // resolve() with the whole evaluation and the allowed set.
  Explanation explain(const Request& request, const Policy& policy = {}) const;

  // The ids of the catalogue for help texts, marked for a machine (platform and arch; empty =
  // unknown).
  // All phases at once cost one evaluation.
  std::array<std::vector<Choice>, 3> choices(const std::string& platform,
                                             const std::string& arch) const;
  std::vector<Choice> choices(Phase phase, const std::string& platform,
                              const std::string& arch) const;

  // Only the row verdicts, without sessions or texts: what benchmarks time, and how many rows
  // accept.
  int count_accepting_rows(const Request& request) const;

  ~Solver();
  Solver(Solver&&) noexcept;
  Solver& operator=(Solver&&) noexcept;

 private:
  explicit Solver(std::unique_ptr<Compiled> compiled);
  std::unique_ptr<const Compiled> compiled_;
};

}  // namespace dsakit
