#include "run/memory.hpp"

#include <cstdlib>
#include <cstring>
#include <new>

#include "run/cuda_memory.hpp"

namespace dsakit::cli {
namespace {

class HostMemory : public Memory {
 public:
  DLDevice device() const override { return {kDLCPU, 0}; }
  void* allocate(std::size_t bytes) override {
    void* made = std::aligned_alloc(kAlignment, (bytes + kAlignment) / kAlignment * kAlignment);
    if (made) owned_.emplace_back(made, &std::free);
    return made;
  }
  bool upload(void* to, const void* from, std::size_t bytes) override {
    std::memcpy(to, from, bytes);
    return true;
  }
  bool download(void* to, const void* from, std::size_t bytes) override {
    return upload(to, from, bytes);
  }
  bool synchronise() override { return true; }
  bool is_host() const override { return true; }

 private:
  std::vector<std::unique_ptr<void, void (*)(void*)>> owned_;
};

}  // namespace

std::unique_ptr<Memory> make_host_memory() {
  return std::make_unique<HostMemory>();
}

tl::expected<std::unique_ptr<Memory>, std::string> make_memory(DLDevice device) {
  if (device.device_type == kDLCPU) return make_host_memory();
  if (device.device_type == kDLCUDA) return make_cuda_memory(device.device_id);
  return tl::make_unexpected(std::string("jobs run on cpu and cuda devices only"));
}

Tensor::Tensor(Memory& memory, DLDataType type, const std::vector<std::int64_t>& shape,
               std::byte fill, std::int64_t first_stride)
    : memory_(&memory), axes_(std::make_unique<std::vector<std::int64_t>>(shape)) {
  const std::size_t rank = shape.size();
  axes_->resize(2 * rank);
  std::int64_t stride = 1;
  for (std::size_t axis = rank; axis-- > 0;) {
    if (axis == 0 && first_stride != 0) stride = first_stride;
    (*axes_)[rank + axis] = stride;
    stride *= shape[axis];
  }
  size_ = static_cast<std::size_t>(stride) * type.bits / 8;
  views_ = std::make_unique<DLTensor[]>(2);
  DLTensor& device = views_[0];
  DLTensor& host = views_[1];
  device.data = memory.allocate(size_);
  if (!device.data) throw std::bad_alloc();
  device.device = memory.device();
  device.ndim = static_cast<int>(rank);
  device.dtype = type;
  device.shape = axes_->data();
  device.strides = axes_->data() + rank;
  host = device;
  host.device = {kDLCPU, 0};
  if (!memory.is_host()) {
    copy_ = std::make_unique<std::byte[]>(size_);
    host.data = copy_.get();
  }
  std::memset(host.data, std::to_integer<int>(fill), size_);
}

}  // namespace dsakit::cli
