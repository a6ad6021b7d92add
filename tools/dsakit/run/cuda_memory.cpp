#include "run/cuda_memory.hpp"

#include <cstdint>

#include <fmt/format.h>

#include "device/driver_library.hpp"

namespace dsakit::cli {
namespace {

// CUresult and CUdevice are ints, CUdeviceptr is 64 bits, CUcontext a pointer.
using Address = std::uint64_t;

constexpr int kSuccess = 0;

struct Driver {
  int (*init)(unsigned);
  int (*device)(int*, int);
  int (*retain)(void**, int);
  int (*release)(int);
  int (*make_current)(void*);
  int (*allocate)(Address*, std::size_t);
  int (*free)(Address);
  int (*to_device)(Address, const void*, std::size_t);
  int (*to_host)(void*, Address, std::size_t);
  int (*synchronise)();

  explicit Driver(const DriverLibrary& library)
      : init(library.function<int(unsigned)>("cuInit")),
        device(library.function<int(int*, int)>("cuDeviceGet")),
        retain(library.function<int(void**, int)>("cuDevicePrimaryCtxRetain")),
        release(library.function<int(int)>("cuDevicePrimaryCtxRelease_v2")),
        make_current(library.function<int(void*)>("cuCtxSetCurrent")),
        allocate(library.function<int(Address*, std::size_t)>("cuMemAlloc_v2")),
        free(library.function<int(Address)>("cuMemFree_v2")),
        to_device(library.function<int(Address, const void*, std::size_t)>("cuMemcpyHtoD_v2")),
        to_host(library.function<int(void*, Address, std::size_t)>("cuMemcpyDtoH_v2")),
        synchronise(library.function<int()>("cuCtxSynchronize")) {}

  bool complete() const {
    return init && device && retain && release && make_current && allocate && free && to_device &&
           to_host && synchronise;
  }
};

Address address_of(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

class CudaMemory : public Memory {
 public:
  CudaMemory(const Driver& driver, int device_id, int handle)
      : driver_(driver), device_id_(device_id), handle_(handle) {}
  ~CudaMemory() override {
    for (const Address each : owned_) driver_.free(each);
    driver_.release(handle_);
  }

  DLDevice device() const override { return {kDLCUDA, device_id_}; }
  // The driver aligns to 256 bytes at least; what is missing is allocated on top.
  void* allocate(std::size_t bytes) override {
    Address made = 0;
    if (driver_.allocate(&made, bytes + kAlignment) != kSuccess) return nullptr;
    owned_.push_back(made);
    return reinterpret_cast<void*>((made + kAlignment - 1) / kAlignment * kAlignment);
  }
  bool upload(void* to, const void* from, std::size_t bytes) override {
    return driver_.to_device(address_of(to), from, bytes) == kSuccess;
  }
  bool download(void* to, const void* from, std::size_t bytes) override {
    return driver_.to_host(to, address_of(from), bytes) == kSuccess;
  }
  bool synchronise() override { return driver_.synchronise() == kSuccess; }
  bool is_host() const override { return false; }

 private:
  Driver driver_;
  int device_id_, handle_;
  std::vector<Address> owned_;
};

}  // namespace

tl::expected<std::unique_ptr<Memory>, std::string> make_cuda_memory(int device_id,
                                                                    const std::string& library) {
  const DriverLibrary opened({library});
  if (!opened) return tl::make_unexpected(opened.error());
  const Driver driver(opened);
  if (!driver.complete())
    return tl::make_unexpected(fmt::format("{} lacks functions of the driver API", library));
  int handle = 0;
  void* context = nullptr;
  int result = driver.init(0);
  if (result == kSuccess) result = driver.device(&handle, device_id);
  if (result == kSuccess) result = driver.retain(&context, handle);
  if (result != kSuccess)
    return tl::make_unexpected(fmt::format("the CUDA driver answers error {}", result));
  auto memory = std::make_unique<CudaMemory>(driver, device_id, handle);
  result = driver.make_current(context);
  if (result == kSuccess) return memory;
  return tl::make_unexpected(fmt::format("the CUDA driver answers error {}", result));
}

}  // namespace dsakit::cli
