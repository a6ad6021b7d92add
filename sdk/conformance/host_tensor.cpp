#include "sdk/conformance/host_tensor.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>

#include "kvcache/float8.hpp"

namespace dsakit::conformance {
namespace {

std::uint16_t half_bits(float value) {
  // Test values are moderate: normal halves or zero, rounded to nearest by ldexp and rint.
  const double magnitude = std::fabs(static_cast<double>(value));
  const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
  if (magnitude < std::ldexp(1.0, -24)) return sign;
  const int exponent = std::max(std::ilogb(magnitude), -14);
  const double steps = std::rint(std::ldexp(magnitude, 10 - exponent));
  const int bits = (exponent + 14) * 1024 + static_cast<int>(steps);
  return static_cast<std::uint16_t>(sign | std::min(bits, 31744));
}

// Pools above this size are mapped and never filled.
constexpr std::uint64_t kSparseBytes = std::uint64_t{1} << 30;

}  // namespace

std::shared_ptr<std::byte> map_untouched(std::uint64_t bytes) {
  void* region = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (region == MAP_FAILED) throw std::bad_alloc();
  return {static_cast<std::byte*>(region), [bytes](std::byte* at) { munmap(at, bytes); }};
}

void HostTensor::make(DLDataType type, std::vector<std::int64_t> extents,
                      std::vector<std::int64_t> element_strides, std::byte fill,
                      std::uint64_t lead) {
  shape = std::move(extents);
  strides = std::move(element_strides);
  std::int64_t last = 0;
  std::int64_t compact = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    last += (shape[axis] - 1) * (strides.empty() ? compact : strides[axis]);
    compact *= shape[axis];
  }
  const std::int64_t elements = compact == 0 ? 0 : last + 1;
  const std::uint64_t bytes = static_cast<std::uint64_t>(elements * type.bits / 8) + 2 * lead;
  if (bytes > kSparseBytes) {
    memory.clear();
    sparse_bytes = bytes;
    sparse = map_untouched(bytes);
  } else {
    sparse.reset();
    memory.assign(bytes, fill);
  }
  view.data = base();
  view.device = {kDLCPU, 0};
  view.ndim = static_cast<int>(shape.size());
  view.dtype = type;
  view.shape = shape.data();
  view.strides = strides.empty() ? nullptr : strides.data();
  view.byte_offset = lead;
}

std::byte* HostTensor::at(std::int64_t element_offset) {
  return base() + view.byte_offset + element_offset * view.dtype.bits / 8;
}

std::int64_t HostTensor::offset(std::span<const std::int64_t> index) const {
  std::int64_t total = 0;
  std::int64_t compact = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    total += index[axis] * (strides.empty() ? compact : strides[axis]);
    compact *= shape[axis];
  }
  return total;
}

float normal(std::mt19937& random, float amplitude) {
  std::normal_distribution<float> distribution(0.0F, 1.0F);
  return std::clamp(distribution(random), -4.0F, 4.0F) * amplitude;
}

void write_value(std::byte* to, DLDataType type, float value) {
  if (type.bits == 32) {
    std::memcpy(to, &value, 4);
    return;
  }
  const std::uint16_t bits =
      type.code == kDLBfloat ? kvcache::bf16_encode(value) : half_bits(value);
  std::memcpy(to, &bits, 2);
}

void write_integer(HostTensor& tensor, std::int64_t offset, std::int64_t value) {
  const auto narrow = static_cast<std::int32_t>(value);
  if (tensor.view.dtype.bits == 64)
    std::memcpy(tensor.at(offset), &value, 8);
  else
    std::memcpy(tensor.at(offset), &narrow, 4);
}

}  // namespace dsakit::conformance
