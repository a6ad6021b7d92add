// Conditions on unknown values (R3): whether several can hold at once (R7), and how an answer lists
// them. Private to solver/. Pure; any thread.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "solver/evaluate.hpp"

namespace dsakit {

// The largest value of an int dimension.
inline constexpr std::int64_t kMaxInteger = std::numeric_limits<std::int32_t>::max();

// JSON text of a pending condition; "= neutral" in the form that its type writes it in a manifest.
std::string condition_json(const Solver::Compiled& catalog, const PendingCondition& condition);

// Whether some value of dimension `dim` meets all `conditions` (a null predicate: the neutral
// value). Exact.
bool satisfiable(const Solver::Compiled& catalog, int dim,
                 std::span<const CompiledPredicate* const> conditions);

// The first dimension whose pending conditions, over all given rows together, no value meets; −1 if
// none.
int contradicted_dimension(const Solver::Compiled& catalog, const Evaluated& evaluated,
                           std::span<const int> rows);

// One entry for each distinct (dimension, predicate) of the session's rows, with its phases (R7).
std::vector<Obligation> list_obligations(const Solver::Compiled& catalog,
                                         const Evaluated& evaluated,
                                         const std::array<int, 3>& row_of_phase);

}  // namespace dsakit
