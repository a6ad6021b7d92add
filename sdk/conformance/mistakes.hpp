// Calls of run that are wrong in one way each: what every plugin must refuse with a code, before it
// writes anything.
//
// Invariants: constant once built; a mistake changes the problem's structs, never its data. One
// thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sdk/conformance/problem.hpp"

namespace dsakit::conformance {

struct Mistake {
  std::string kind;  // null, dtype, shape, device, stride, size, workspace, value
  std::string what;  // "q.dtype = int64"
  std::function<void(Problem&)> make;
};

// Those that apply to a problem with these arguments.
std::vector<Mistake> run_mistakes(const Problem& problem);

}  // namespace dsakit::conformance
