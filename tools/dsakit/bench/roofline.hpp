// The picture of a bench on a GPU: a roofline with every shape on it, and times by tokens, each
// beside the baseline's. Pure.
#pragma once

#include <string>

#include "bench/line.hpp"

namespace dsakit::cli {

// An SVG. Lines that were not timed and cases of rules are left out; empty if nothing is left or
// there is no ceiling to draw.
std::string roofline_svg(const BenchReport& report);

}  // namespace dsakit::cli
