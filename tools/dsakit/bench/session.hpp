// What the GPU itself could do while a bench ran: its ceilings and its clock. A run whose ceilings
// are not those of the baseline was on another kind of GPU, or on a disturbed one, and is void.
#pragma once

#include <string>
#include <vector>

#include "bench/baseline.hpp"
#include "bench/clocks.hpp"
#include "bench/gpu_lab.hpp"
#include "device/detect.hpp"

namespace dsakit::cli {

struct BenchSession {
  DetectedDevice gpu;
  std::string date;
  Ceilings ceilings;
  std::string no_gemm;         // why there is no GEMM ceiling; empty: there is one
  double empty_kernel_us = 0;  // its span, by the same records as a call's
  int most_mhz = 0;            // 0: unknown
  std::vector<int> mhz;        // read while calls ran
  std::uint64_t seed = 0;
};

// A ceiling beside the baseline's: "1152-B rows, 524288", TB/s.
struct CeilingCheck {
  std::string name, unit;
  double here = 0, there = 0;  // here 0: not measured
  bool off() const;
};
std::vector<CeilingCheck> check_ceilings(const Ceilings& here, const Ceilings& there);
// Whether all that was measured is within 3 %.
bool is_void(const std::vector<CeilingCheck>& checks);

// The ceilings that `wanted` lists, measured on the lab's GPU. E0806; throws std::bad_alloc.
tl::expected<void, Diagnostic> measure_ceilings(GpuLab& lab, const Ceilings& wanted,
                                                BenchSession& session);

}  // namespace dsakit::cli
