#include "run/memory.hpp"

#include <cstring>
#include <new>

namespace dsakit::cli {

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
  owned_ = {memory.allocate(size_), Release{&memory}};
  if (!owned_) throw std::bad_alloc();
  device.data = owned_.get();
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
