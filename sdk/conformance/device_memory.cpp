#include "sdk/conformance/device_memory.hpp"

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include "sdk/conformance/gpu_device.hpp"

namespace dsakit::conformance {
namespace {

class HostMemory : public DeviceMemory {
 public:
  DLDevice device() const override { return {kDLCPU, 0}; }
  bool is_host() const override { return true; }
  bool use() override { return true; }
  void* allocate(std::size_t bytes) override {
    Owned made(std::aligned_alloc(kAlignment, (bytes + kAlignment) / kAlignment * kAlignment),
               &std::free);
    const std::lock_guard lock(mutex_);
    void* memory = made.get();
    if (memory != nullptr) owned_.emplace(memory, std::move(made));
    return memory;
  }
  void release(void* memory) override {
    const std::lock_guard lock(mutex_);
    owned_.erase(memory);
  }
  bool upload(void* to, const void* from, std::size_t bytes) override {
    std::memcpy(to, from, bytes);
    return true;
  }
  bool download(void* to, const void* from, std::size_t bytes) override {
    return upload(to, from, bytes);
  }
  bool fill(void* to, std::byte value, std::size_t bytes) override {
    std::memset(to, std::to_integer<int>(value), bytes);
    return true;
  }
  bool synchronise() override { return true; }

 private:
  using Owned = std::unique_ptr<void, void (*)(void*)>;
  std::mutex mutex_;
  std::map<void*, Owned> owned_;
};

}  // namespace

std::unique_ptr<DeviceMemory> make_host_memory() {
  return std::make_unique<HostMemory>();
}

tl::expected<std::unique_ptr<DeviceMemory>, std::string> make_memory(DLDevice device) {
  if (device.device_type == kDLCPU) return make_host_memory();
  auto opened = GpuDevice::open(device);
  if (!opened) return tl::make_unexpected(std::move(opened.error()));
  return std::move(*opened);
}

}  // namespace dsakit::conformance
