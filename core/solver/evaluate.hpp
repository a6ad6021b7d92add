// The verdict on every row of a catalogue for one request: R1–R4, R8 and R12.
// Private to solver/. Pure; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "solver/compiled.hpp"

namespace dsakit {

// A request against a catalogue's numbering.
struct CompiledRequest {
  struct Slot {
    bool known = false;
    const Value* value = nullptr;   // null if unknown
    int token = -1;                 // token, arch: its number
    Bits elements;                  // set
    bool unlisted_element = false;  // set: an element that no row of the catalogue mentions
  };
  const Request* request = nullptr;
  std::vector<Slot> slots;  // by dimension
  Bits non_neutral;         // known, and not the neutral value (or there is none)
  Bits unknown;
  int layout = -1;  // requested kv_layout's number; −2: one that nobody provides; −1: none
  std::vector<std::string> dtypes;  // R11: any of these will do; empty: the slot decides
  std::vector<int> dtype_numbers;
};

// `kv_dtypes` replaces a requested `auto`: a row fits if it takes any of them. Empty: the request's
// own.
CompiledRequest compile_request(const Solver::Compiled& catalog, const Request& request,
                                std::span<const std::string> kv_dtypes);

struct Fail {
  int dim = 0;  // −1: kv_layout; −2: `unknown_dim`
  FailKind kind = FailKind::mismatch;
  const CompiledPredicate* predicate = nullptr;  // null: undeclared, or provides
  const UnknownDim* unknown_dim = nullptr;
};

// A condition on an unknown value; a null predicate means "the neutral value".
struct PendingCondition {
  int dim = 0;
  const CompiledPredicate* predicate = nullptr;
};

struct RowResult {
  std::uint32_t first_fail = 0, fail_count = 0;
  std::uint32_t first_pending = 0, pending_count = 0;
  bool denied = false;
  bool accepts() const { return fail_count == 0; }
};

// Verdicts of all rows. Conditions on `phase` are not among the fails; see phase_fails().
struct Evaluated {
  CompiledRequest request;
  std::vector<RowResult> rows;  // parallel to Compiled::rows
  std::vector<Fail> fails;
  std::vector<PendingCondition> pending;

  std::span<const Fail> fails_of(int row) const;
  std::span<const PendingCondition> pending_of(int row) const;
};

Evaluated evaluate(const Solver::Compiled& catalog, const Request& request, const Policy& policy,
                   std::span<const std::string> kv_dtypes);

// Whether the row serves the phase at all; if not, `fail` says how.
bool row_serves_phase(const Solver::Compiled& catalog, const CompiledRow& row, Phase phase,
                      FailKind* kind);

// A row that can be part of a session in that phase (R6's typing aside).
bool accepts(const Solver::Compiled& catalog, const Evaluated& evaluated, int row, Phase phase);

}  // namespace dsakit
