// Memory of the device that a plugin runs on, as the kit and `dsakit run` use it: allocate, copy,
// fill, wait. On the cpu it is the host's own.
//
// Invariants: what is allocated lives until it is released or the DeviceMemory ends. Any thread
// after use() in it; a copy waits for work that was started before on the default stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <tl/expected.hpp>

#include "dsakit/plugin_abi.h"

namespace dsakit::conformance {

class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  DeviceMemory() = default;
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  virtual DLDevice device() const = 0;
  virtual bool is_host() const = 0;
  // Makes the device current in the calling thread.
  virtual bool use() = 0;
  // Null if there is none left. Aligned to kAlignment.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void* memory) = 0;
  // False if the driver refuses.
  virtual bool upload(void* to, const void* from, std::size_t bytes) = 0;
  virtual bool download(void* to, const void* from, std::size_t bytes) = 0;
  virtual bool fill(void* to, std::byte value, std::size_t bytes) = 0;
  virtual bool synchronise() = 0;

  static constexpr std::size_t kAlignment = 4096;
};

std::unique_ptr<DeviceMemory> make_host_memory();

// Memory of a device, or why there is none.
tl::expected<std::unique_ptr<DeviceMemory>, std::string> make_memory(DLDevice device);

}  // namespace dsakit::conformance
