// How stored keys become values and back, for kernels: the arithmetic of kv_append and kv_dequant,
// with the bits of the project's reference codec (core/kvcache).
//
// Invariants: each function gives the same bits on the host and on the device. Needs IEEE
// arithmetic: correctly rounded division, subnormals, no fast maths. Plain functions for host and
// device code; no CUDA header is needed to include them.
#pragma once

#include <cstdint>

#include "common/cuda/host_device.hpp"

namespace dsakit::cuda {

inline constexpr uint32_t kFp32Infinity = 0x7F800000U;

template <class To, class From>
DSAKIT_HOST_DEVICE constexpr To bits_as(From from) {
  return __builtin_bit_cast(To, from);
}

DSAKIT_HOST_DEVICE constexpr bool is_nan(float value) {
  return (bits_as<uint32_t>(value) & ~0x80000000U) > kFp32Infinity;
}

// Rounds to nearest even; a NaN keeps its sign and upper payload and becomes quiet.
DSAKIT_HOST_DEVICE constexpr uint16_t to_bf16(float value) {
  const uint32_t bits = bits_as<uint32_t>(value);
  if (is_nan(value)) return static_cast<uint16_t>((bits >> 16) | 0x40U);
  return static_cast<uint16_t>((bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16);
}

DSAKIT_HOST_DEVICE constexpr float from_bf16(uint16_t bits) {
  return bits_as<float>(uint32_t{bits} << 16);
}

// What a value adds to the largest magnitude of its group, as bits, which order like the values:
// nothing for NaN, the largest finite number for an infinity.
DSAKIT_HOST_DEVICE constexpr uint32_t magnitude_bits(float value) {
  const uint32_t bits = bits_as<uint32_t>(value) & ~0x80000000U;
  if (bits > kFp32Infinity) return 0;
  return bits == kFp32Infinity ? kFp32Infinity - 1 : bits;
}

// The scale of a group from the largest magnitude_bits() in it: amax / 448 or, with pow2, the next
// power of two; never below the smallest normal number, or 1e-4 rounded up to a power of two.
DSAKIT_HOST_DEVICE constexpr float group_scale(uint32_t amax_bits, bool pow2) {
  constexpr float kSmallest = 0x1p-126F, kPow2Floor = 1e-4F;
  const float scale = bits_as<float>(amax_bits) / 448.0F;
  if (!pow2) return scale < kSmallest ? kSmallest : scale;
  const uint32_t bits = bits_as<uint32_t>(scale < kPow2Floor ? kPow2Floor : scale);
  return bits_as<float>((bits + 0x7FFFFFU) & kFp32Infinity);
}

// value / scale as e4m3fn, rounded to nearest even and saturated; NaN keeps its sign.
DSAKIT_HOST_DEVICE constexpr uint8_t to_e4m3(float value, float scale) {
  const uint32_t sign = (bits_as<uint32_t>(value) >> 24) & 0x80U;
  if (is_nan(value)) return static_cast<uint8_t>(sign | 0x7FU);
  const float quotient = bits_as<float>(bits_as<uint32_t>(value / scale) & ~0x80000000U);
  const float magnitude = quotient < 448.0F ? quotient : 448.0F;
  // Adding 2^20 steps of the value's own binade, which ends at 2^-6, leaves whole steps of it.
  const uint32_t binade = bits_as<uint32_t>(magnitude) & kFp32Infinity;
  constexpr uint32_t kSmallest = (127U - 6U) << 23;
  const float shifter = bits_as<float>((binade > kSmallest ? binade : kSmallest) + (20U << 23));
  const float rounded = (magnitude + shifter) - shifter;
  // Exact: what is left has four bits, and these are the bits of the code.
  return static_cast<uint8_t>(sign | bits_as<uint32_t>(rounded * 0x1p-120F) >> 20);
}

// code * scale, one multiplication; a NaN code gives the NaN of the reference.
DSAKIT_HOST_DEVICE constexpr float from_e4m3(uint8_t code, float scale) {
  if ((code & 0x7FU) == 0x7FU) return bits_as<float>(0x7FC00000U);
  const float magnitude = bits_as<float>((code & 0x7FU) << 20) * 0x1p120F;
  return ((code & 0x80U) != 0 ? -magnitude : magnitude) * scale;
}

}  // namespace dsakit::cuda
