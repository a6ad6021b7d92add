// Options of a bench that contradict each other or would be silently without effect: such a command
// line is refused, so that nobody takes a time for that of something else. Pure; any thread.
#pragma once

#include <optional>
#include <string>

#include "diag/diagnostic.hpp"
#include "options.hpp"

namespace dsakit::cli {

// Suites that are no rows of a baseline.
inline constexpr const char* kRulesSuite = "rules";
inline constexpr const char* kSweepSuite = "sweep";

// E0407 about an option as it was typed.
Diagnostic bench_refusal(const std::string& option, std::string reason);

// E0407 about the first contradiction; names of suites are not checked here.
std::optional<Diagnostic> bench_contradiction(const Options& options);

}  // namespace dsakit::cli
