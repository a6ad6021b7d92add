// Where the rows of a plugin can be judged: the devices of this machine, opened when a row first
// asks. One thread, in the process that calls the plugin.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "device/detect.hpp"
#include "sdk/conformance/cuda_reference.hpp"
#include "sdk/conformance/gpu_device.hpp"
#include "sdk/conformance/space.hpp"

namespace dsakit::conformance {

// A device for a row; neither: `missing` says in one sentence why there is none.
struct Place {
  std::shared_ptr<GpuDevice> gpu;            // null: the host
  std::shared_ptr<CudaReference> reference;  // null: the host's reference judges
  std::string missing;
  int ordinal = -1;  // of `gpu`
};

struct GpuPlatform;

class Devices {
 public:
  // Settles the row on what is found.
  Place find(RowSpace& row);

 private:
  Place find_gpu(RowSpace& row, const GpuPlatform& platform);
  Place open(DLDevice handle);

  std::optional<Detection> detection_;
  std::map<std::pair<int, int>, Place> opened_;  // device type, ordinal
};

}  // namespace dsakit::conformance
