// Why the chosen session comes before the next one, in one sentence: which step of the solver's
// order decided. Reads the explanation alone. Pure.
#pragma once

#include <string>

#include "solver/answer.hpp"
#include "solver/request.hpp"

namespace dsakit::cli {

// Empty if nothing was chosen.
std::string why_chosen(const Explanation& explanation, const Request& request);

}  // namespace dsakit::cli
