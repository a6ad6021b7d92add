// Memory of the device that a backend runs on, and tensors that live there with a copy on the host.
// On the cpu both are the same bytes. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "dsakit/plugin_abi.h"

namespace dsakit::cli {

class Memory {
 public:
  virtual ~Memory() = default;
  Memory() = default;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  virtual DLDevice device() const = 0;
  // Null if there is none left. Aligned to kAlignment. Lives as long as the Memory.
  virtual void* allocate(std::size_t bytes) = 0;
  // False if the driver refuses; waits for work that was started before.
  virtual bool upload(void* to, const void* from, std::size_t bytes) = 0;
  virtual bool download(void* to, const void* from, std::size_t bytes) = 0;
  virtual bool synchronise() = 0;
  virtual bool is_host() const = 0;

  static constexpr std::size_t kAlignment = 4096;
};

std::unique_ptr<Memory> make_host_memory();

// Memory for a device type, or why there is none.
tl::expected<std::unique_ptr<Memory>, std::string> make_memory(DLDevice device);

class Tensor {
 public:
  Tensor() = default;
  Tensor(Tensor&&) = default;
  Tensor& operator=(Tensor&&) = default;

  // Every byte is `fill`, on the host. `first_stride`: elements from one index of the first axis to
  // the next; 0: compact. Throws std::bad_alloc.
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
  std::unique_ptr<std::vector<std::int64_t>> axes_;  // the shape, then the strides
  std::unique_ptr<std::byte[]> copy_;                // unless the device is the host
  std::size_t size_ = 0;
  std::unique_ptr<DLTensor[]> views_;  // on the device, on the host
};

}  // namespace dsakit::cli
