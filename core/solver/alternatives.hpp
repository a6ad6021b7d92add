// Other values that one setting of a request could take: what some row's predicate accepts, nearest
// to the requested value first. Only proposals; suggest.cpp evaluates each. Private to solver/.
// Pure; any thread.
#pragma once

#include <vector>

#include "solver/query.hpp"

namespace dsakit {

// Values for dimension `dim` instead of `current`, without `current`. Those of rows that fail on
// nothing else come first. The order does not depend on the order of files or rows.
std::vector<Value> alternatives(const Query& query, int dim, const Value& current);

// How many elements one set has and the other lacks.
std::size_t set_changes(const Value& from, const Value& to);

// Divisors of `total` other than `ranks`, nearest to it first.
std::vector<std::int32_t> other_ranks(std::int32_t total, std::int32_t ranks);

}  // namespace dsakit
