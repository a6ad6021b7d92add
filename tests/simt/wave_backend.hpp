// The back end of common/hip/wave.hpp on a CPU: every lane is a fiber, and lanes of a wave meet in
// each wave operation. Included by wave.hpp, through DSAKIT_SIMT_BACKEND.
#pragma once

#include <bit>
#include <cmath>
#include <cstring>

#include "simt/emulator.hpp"

#define DSAKIT_DEVICE inline
#define DSAKIT_KERNEL(threads) extern "C" void
#define DSAKIT_LDS(bytes, name) unsigned char* const name = ::dsakit::simt::lds(bytes)

namespace dsakit::hip {

inline int thread_id() {
  return simt::thread();
}
inline std::uint32_t workgroup_id() {
  return simt::workgroup();
}
template <class T>
const T& argument_again(const T& argument) {
  return argument;
}
inline void workgroup_barrier() {
  simt::barrier();
}
inline float wave_xor(float value, int mask) {
  return simt::exchange(value, mask);
}
inline std::int32_t wave_first(std::int32_t value) {
  for (int mask = 1; mask < 64; mask *= 2) {
    const auto other =
        std::bit_cast<std::int32_t>(simt::exchange(std::bit_cast<float>(value), mask));
    if ((thread_id() & mask) != 0) value = other;
  }
  return value;
}
inline bool wave_any(bool condition) {
  return simt::any(condition);
}

template <class Items>
f32x4 multiply(Items a, Items b, f32x4 c) {
  simt::Product product;
  product.items = sizeof(Items) / 2;
  std::memcpy(product.a, &a, sizeof(a));
  std::memcpy(product.b, &b, sizeof(b));
  std::memcpy(product.c, &c, sizeof(c));
  simt::multiply(product);
  f32x4 sum;
  std::memcpy(&sum, product.c, sizeof(sum));
  return sum;
}

inline f32x4 wave_mfma_16x16x16(i16x4 a, i16x4 b, f32x4 c) {
  return multiply(a, b, c);
}
#ifdef DSAKIT_WIDE_PRODUCTS
inline f32x4 wave_mfma_16x16x32(i16x8 a, i16x8 b, f32x4 c) {
  return multiply(a, b, c);
}
#endif

inline float exp2_of(float x) {
  return std::exp2(x);
}
inline float log2_of(float x) {
  return std::log2(x);
}

template <class T>
T load_global(const std::byte* address) {
  return *reinterpret_cast<const T*>(address);
}

class Lds {
 public:
  explicit Lds(unsigned char* bytes) : bytes_(bytes) {}
  template <class T>
  void store(int offset, T value) const {
    simt::written(bytes_ + offset, sizeof(T), alignof(T));
    std::memcpy(bytes_ + offset, &value, sizeof(T));
  }
  template <class T>
  T load(int offset) const {
    simt::read(bytes_ + offset, sizeof(T), alignof(T));
    T value;
    std::memcpy(&value, bytes_ + offset, sizeof(T));
    return value;
  }

 private:
  unsigned char* bytes_;
};

}  // namespace dsakit::hip
