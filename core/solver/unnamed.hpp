// Requested values that no row of the catalogue names: a slip of spelling, or something that the
// catalogue does not know at all. Either is said before rows are compared. Private to solver/.
// Pure; any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "solver/query.hpp"

namespace dsakit {

// E0406 if every row restricts kv_dtype and none names the requested one.
std::optional<Diagnostic> unnamed_dtype(const Query& query);

// The same for other dimensions, if every row fails on them (arch: if some do), as notes: "no row
// of catalogue `sglang` names model_family `deepseek_v4`; named are `deepseek_v32`, …".
std::vector<std::string> unnamed_values(const Query& query, const Evaluated& evaluated);

}  // namespace dsakit
