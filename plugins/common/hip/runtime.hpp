// The HIP runtime as plugins use it: opened when it is first needed, never linked, so that a plugin
// file loads, lints and answers on machines without one.
//
// Functions answer a hipError_t, 0 being success; one that this runtime lacks answers
// kMissingFunction. Nothing that is opened or loaded is ever given back. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "sdk/error.hpp"

namespace dsakit::hip {

inline constexpr int kSuccess = 0;
inline constexpr int kNoCodeForDevice = 209;  // hipErrorNoBinaryForGpu
inline constexpr int kNotFound = 500;         // hipErrorNotFound
inline constexpr int kMissingFunction = -1;   // no number of HIP's

using Function = void*;  // hipFunction_t

// Device code that the build embeds (dsakit_hip_bundle()): an offload bundle, and what it is for.
struct Bundle {
  const unsigned char* data = nullptr;
  const char* targets = "";  // "gfx942, gfx950"
};

// Null if a runtime could be opened, else why none could, as in "libamdhip64.so.7: cannot open …".
const char* why_no_runtime();

// The text of a result, with its number.
std::string error_text(int status);

int device_count(int& count);
int multiprocessors(int device, int& count);
// "gfx942"; empty if the runtime does not say.
int device_arch(int device, std::string& arch);

// The function `name` of the bundle on the current device, which is `device`. The bundle is loaded
// there at its first use. May allocate and synchronise.
int find_function(const Bundle& bundle, int device, const char* name, Function& function);

// Enqueues `workgroups` of `threads`, with dynamic LDS in bytes and one argument: a struct of
// `argument_bytes` bytes, which is copied. Allocates nothing and waits for nothing.
struct Launch {
  Function function = nullptr;
  std::uint32_t workgroups = 1, threads = 64, dynamic_lds = 0;
  const void* argument = nullptr;
  std::size_t argument_bytes = 0;
};
int launch(const Launch& launch, void* stream);

// Makes a device current for a call, and the caller's again after it.
class DeviceScope {
 public:
  explicit DeviceScope(int device);
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;
  int status() const { return status_; }

 private:
  int before_ = 0, status_ = kSuccess;
  bool changed_ = false;
};

// Fails with DEVICE and the runtime's number: "hipSetDevice: invalid device ordinal (101)".
dsakit_rc failed(sdk::Error& error, int status, const char* what);

// Whether the device exists and the bundle has code for it, with the reason: NO_DEVICE or
// UNSUPPORTED. `plugin` appears in messages only.
dsakit_rc probe(const char* plugin, const Bundle& bundle, std::int32_t device_type,
                std::int32_t device_id, sdk::Error& error);

}  // namespace dsakit::hip
