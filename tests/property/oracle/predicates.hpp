// The predicate language of framework §3 and R4, over plain JSON, and exact answers to "do these
// predicates share a value". Slow on purpose: every question is answered by trying values. Pure;
// any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "property/oracle/values.hpp"

namespace dsakit::oracle {

bool is_star(const Json& predicate);

// An operator of `predicate` that this version does not know, for a dimension of `type`.
bool has_unknown_operator(const Json& predicate, Type type);

// Whether the predicate accepts a known value; both without aliases.
bool accepts(const Json& predicate, const Json& value, Type type);

// The predicate that only `neutral` satisfies, as R7's detail writes it.
Json equals_predicate(const Json& neutral, Type type);

// A value that all predicates accept, if there is one. Exact: for each type the candidates tried
// are proven to contain a common value whenever one exists (predicates.cpp says why).
std::optional<Json> common_value(const std::vector<Json>& predicates, Type type);

// One spelling for predicates that differ only in the order of lists, aliases or version spelling.
Json normalised(const Json& predicate);

}  // namespace dsakit::oracle
