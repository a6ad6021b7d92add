// The tokens of a built-in dimension that dsakit itself gives a meaning to. Rows and requests may
// use others; these are what its documentation lists and what the conformance kit tries. Pure; any
// thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dsakit {

// In the order of the documentation; empty for a dimension of numbers, or with names of its own.
std::vector<std::string> known_tokens(std::string_view dim);

}  // namespace dsakit
