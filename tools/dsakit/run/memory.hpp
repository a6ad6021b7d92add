// Tensors that live on the device that a backend runs on, with a copy on the host. On the cpu both
// are the same bytes. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "dsakit/plugin_abi.h"
#include "sdk/conformance/device_memory.hpp"

namespace dsakit::cli {

using Memory = conformance::DeviceMemory;

struct Release {
  Memory* memory = nullptr;
  void operator()(void* owned) const { memory->release(owned); }
};

class Tensor {
 public:
  Tensor() = default;
  Tensor(Tensor&&) = default;
  Tensor& operator=(Tensor&&) = default;

  // Every byte is `fill`, on the host. `first_stride`: elements from one index of the first axis to
  // the next; 0: compact. Throws std::bad_alloc. Ends before `memory` does.
  Tensor(Memory& memory, DLDataType type, const std::vector<std::int64_t>& shape,
         std::byte fill = std::byte{0}, std::int64_t first_stride = 0);

  // Where these point stays when the tensor moves; null without memory.
  const DLTensor* device() const { return views_ ? &views_[0] : nullptr; }
  const DLTensor* host() const { return views_ ? &views_[1] : nullptr; }
  std::byte* bytes() const { return static_cast<std::byte*>(views_[1].data); }
  std::size_t size() const { return size_; }
  template <class T>
  T* as() const {
    return static_cast<T*>(views_[1].data);
  }

  bool upload() {
    return memory_->is_host() || memory_->upload(views_[0].data, views_[1].data, size_);
  }
  bool download() {
    return memory_->is_host() || memory_->download(views_[1].data, views_[0].data, size_);
  }

 private:
  Memory* memory_ = nullptr;
  std::unique_ptr<void, Release> owned_;
  std::unique_ptr<std::vector<std::int64_t>> axes_;  // the shape, then the strides
  std::unique_ptr<std::byte[]> copy_;                // unless the device is the host
  std::size_t size_ = 0;
  std::unique_ptr<DLTensor[]> views_;  // on the device, on the host
};

}  // namespace dsakit::cli
