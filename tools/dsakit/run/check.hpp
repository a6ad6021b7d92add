// Checks every output row of a run against the float64 reference over the same bytes, on several
// threads. Errors are those of the conformance kit, tolerances too.
#pragma once

#include <cstdint>

#include "dsakit/plugin_abi.h"
#include "run/progress.hpp"
#include "sdk/conformance/compare.hpp"

namespace dsakit::cli {

struct Checked {
  conformance::Comparison out, lse;  // of all tokens; cosine is the worst of any token
  std::int64_t rows = 0;             // tokens times heads
  bool pass = true;

  void add(const Checked& other);
};

// `args` over host memory; its first `tokens` tokens. Uses `threads` threads; 0: one a core.
Checked check_rows(const dsakit_config& config, const dsakit_run_args& args, std::int64_t tokens,
                   int threads, Progress& progress);

}  // namespace dsakit::cli
