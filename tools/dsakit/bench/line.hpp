// What became of one shape: times, or why there are none. Plain data; any thread.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "bench/session.hpp"
#include "bench/shape.hpp"

namespace dsakit::cli {

struct BenchLine {
  BenchShape shape;
  std::string row, kv_layout, device;
  std::string sources;  // digest of what the plugin was built from; empty: it does not say
  KeySize key;
  Work work;
  std::string refused;  // why it did not run; empty: it did

  std::vector<double> seconds;  // on the cpu, by the clock of the host, sorted by call

  // On a GPU, microseconds of each call, in the order of the calls.
  std::vector<double> clean, dirty;  // by the kind of flush
  int activities = 0;                // kernels, memsets and copies of a call, at most
  std::uint64_t workspace_bytes = 0;

  bool timed() const { return refused.empty(); }
  bool on_gpu() const { return !clean.empty(); }
};

// All lines of a run, and the session of the GPU if one was used.
struct BenchReport {
  std::vector<BenchLine> lines;
  bool on_gpu = false;
  BenchSession session;
  const Baseline* baseline = nullptr;  // of that GPU; null: there is none

  std::vector<CeilingCheck> ceilings() const {
    return baseline ? check_ceilings(session.ceilings, baseline->ceilings)
                    : std::vector<CeilingCheck>();
  }
  bool comparable() const { return baseline != nullptr && !is_void(ceilings()); }
};

// The roofline of a line by the ceilings of its session; those of the baseline fill what was not
// measured. 0 us: there are none.
Bound bound_of(const BenchLine& line, const BenchReport& report);

// How a line's rule came out. `ratio` 0: it has no rule, or a line is missing.
struct RuleResult {
  double ratio = 0, at_most = 0;
  bool kept() const { return ratio <= at_most; }
};
RuleResult rule_of(const BenchLine& line, const std::vector<BenchLine>& all);

}  // namespace dsakit::cli
