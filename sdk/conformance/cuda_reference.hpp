// The float64 reference on a CUDA device: a naive kernel of the kit's own, for calls that the
// host's reference would take minutes for. It answers the same as reference_attention(); a device
// test compares both.
//
// Invariants: present only in builds that found a CUDA compiler. One thread.
#pragma once

#include <memory>
#include <optional>

#include "sdk/conformance/gpu_device.hpp"
#include "sdk/conformance/reference.hpp"

namespace dsakit::conformance {

class CudaReference {
 public:
  // Null if this build has no kernel, or the device cannot load it.
  static std::unique_ptr<CudaReference> load(GpuDevice& device);

  // Every token of a call whose tensors are in the device's memory (Staged::args()). Nothing if the
  // device fails or has no memory left for the results. Requires reference_knows(config.kv_layout).
  std::optional<Expected> attention(const dsakit_config& config, const dsakit_run_args& args);

 private:
  CudaReference(GpuDevice& device, void* kernel) : device_(device), kernel_(kernel) {}

  GpuDevice& device_;
  void* kernel_;
};

}  // namespace dsakit::conformance
