// Which devices this machine has: the CPU always; CUDA and HIP through lazily opened drivers
// (libcuda.so.1, libamdhip64.so.7/.6/.5), never linked. Missing drivers are facts with a reason,
// not errors. Invariants: never throws, never crashes on a driver that lacks functions; drivers
// stay open once opened. Detection runs once per call; [any-thread].
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device/hip_abi.hpp"

namespace dsakit {

struct DetectedDevice {
  std::string device;    // "sm_90", "gfx942", "cpu"; may be outside the known table
  std::string platform;  // cuda, hip, cpu
  int ordinal = 0;
  std::string name;  // "NVIDIA H200"
  std::uint64_t memory_bytes = 0;
  std::string driver, runtime_cuda, runtime_hip;  // versions, empty = unknown; runtime_cuda is the
                                                  // newest CUDA version that the driver serves
  bool emulated = false;                          // the runtime says that there is no hardware
};

struct ProbeNote {
  std::string platform;  // cuda, hip
  std::string text;      // "libcuda.so.1: cannot open shared object file"
};

struct Detection {
  std::vector<DetectedDevice> devices;  // CUDA, HIP, then CPU
  std::vector<ProbeNote> notes;  // why a platform has no device, or one of its devices is left out
};

// Where the drivers are looked for. Libraries are tried in order, by name or path; of the version
// files the first that exists is read.
struct DriverSources {
  std::vector<std::string> cuda_libraries{"libcuda.so.1"};
  std::vector<std::string> hip_libraries{kHipLibraries.begin(), kHipLibraries.end()};
  std::vector<std::string> cuda_version_files{"/proc/driver/nvidia/version",
                                              "/sys/module/nvidia/version"};
  std::vector<std::string> hip_version_files{"/sys/module/amdgpu/version"};
  std::string cpu_info = "/proc/cpuinfo";
};

Detection detect_devices(const DriverSources& sources = {});

}  // namespace dsakit
