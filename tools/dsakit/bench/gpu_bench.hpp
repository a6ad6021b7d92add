// Times shapes on one GPU, for as long as a bench lasts. One thread.
#pragma once

#include <functional>
#include <memory>

#include "bench/gpu_call.hpp"
#include "bench/line.hpp"
#include "device/detect.hpp"

namespace dsakit::cli {

class GpuBench {
 public:
  // The GPU with its ceilings measured, which takes about a second. E0806; throws std::bad_alloc.
  static tl::expected<std::unique_ptr<GpuBench>, Diagnostic> open(const DetectedDevice& device,
                                                                  std::uint64_t seed);

  int ordinal() const { return ordinal_; }
  const BenchSession& session() const { return session_; }
  const Baseline* baseline() const { return baseline_; }

  // Fills in what was measured; `calls` 0: by how long one takes. E0804, E0805, E0806; throws
  // std::bad_alloc.
  tl::expected<void, Diagnostic> measure(PhaseRunner& runner, int calls, BenchLine& line);

 private:
  GpuBench() = default;

  int ordinal_ = 0;
  std::unique_ptr<GpuLab> lab_;
  std::unique_ptr<ClockReader> clock_;
  SampleRows samples_;
  BenchSession session_;
  const Baseline* baseline_ = nullptr;
};

}  // namespace dsakit::cli
