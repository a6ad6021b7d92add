// Keys in memory by kind of cache, for the attention kernels: load() and load_rope() get eight
// elements of a row, bf16() and rope_bf16() make values of them, of which scale() is not part.
#pragma once

#include "common/hip/fp8.hpp"
#include "common/hip/sparse_call.hpp"
#include "common/hip/wave.hpp"

namespace dsakit::hip {

// The row of a key that is not there; as long as the longest.
alignas(16) DSAKIT_CONSTANT static const std::byte kNoKey[(kLatent + kRope) * 2] = {};

struct Bf16Keys {
  static constexpr int kGroups = 0;  // scales of a row
  using Raw = u32x4;
  using RopeRaw = u32x4;
  DSAKIT_DEVICE static Raw load(const std::byte* row, int chunk) {
    return load_global<u32x4>(row + chunk * 16);
  }
  DSAKIT_DEVICE static RopeRaw load_rope(const std::byte* row, int chunk) {
    return load(row + kLatent * 2, chunk);
  }
  DSAKIT_DEVICE static u32x4 bf16(const Raw& raw) { return raw; }
  DSAKIT_DEVICE static u32x4 rope_bf16(const RopeRaw& raw) { return raw; }
};

template <Fp8 kKind>
struct TensorScaledKeys {
  static constexpr int kGroups = 0;
  using Raw = std::uint64_t;
  using RopeRaw = std::uint64_t;
  DSAKIT_DEVICE static Raw load(const std::byte* row, int chunk) {
    return load_global<std::uint64_t>(row + chunk * 8);
  }
  DSAKIT_DEVICE static RopeRaw load_rope(const std::byte* row, int chunk) {
    return load(row + kLatent, chunk);
  }
  DSAKIT_DEVICE static u32x4 bf16(Raw codes) {
    u32x4 values;
    DSAKIT_UNROLL
    for (int i = 0; i < 4; ++i) {
      const auto pair = static_cast<std::uint32_t>(codes >> (16 * i));
      values[i] = bf16_of_code(kKind, pair & 0xFFU) | bf16_of_code(kKind, pair >> 8 & 0xFFU) << 16;
    }
    return values;
  }
  DSAKIT_DEVICE static u32x4 rope_bf16(RopeRaw codes) { return bf16(codes); }
};

struct GroupScaledKeys : TensorScaledKeys<Fp8::e4m3fn> {
  static constexpr int kGroups = 4;  // of 128 values each
  using RopeRaw = u32x4;
  DSAKIT_DEVICE static RopeRaw load_rope(const std::byte* row, int chunk) {
    return Bf16Keys::load(row + kLatent + kGroups * 4, chunk);
  }
  DSAKIT_DEVICE static u32x4 rope_bf16(const RopeRaw& raw) { return raw; }
  DSAKIT_DEVICE static float scale(const std::byte* row, int group) {
    return load_global<float>(row + kLatent + group * 4);
  }
};

}  // namespace dsakit::hip
