// Which devices this machine has: the CPU always; CUDA and HIP through lazily opened drivers
// (libcuda.so.1, libamdhip64.so.7/.6/.5), never linked. Missing drivers are facts with a reason, not errors.
// Detection runs once per call; [any-thread].
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dsakit {

struct DetectedDevice {
  std::string device;      // "sm_90", "gfx942", "cpu"; may be outside the known table
  std::string platform;    // cuda, hip, cpu
  int ordinal = 0;
  std::string name;        // "NVIDIA H200"
  std::uint64_t memory_bytes = 0;
  std::string driver, runtime_cuda, runtime_hip;  // versions, empty = unknown
};

struct ProbeNote {
  std::string platform;    // cuda, hip
  std::string text;        // "libcuda.so.1: cannot open shared object file"
};

struct Detection {
  std::vector<DetectedDevice> devices;   // CUDA, HIP, then CPU
  std::vector<ProbeNote> notes;          // why a platform has no device
};

Detection detect_devices();

}  // namespace dsakit
