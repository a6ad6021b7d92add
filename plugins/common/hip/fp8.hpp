// The 8-bit floats of KV caches, e4m3fn and e4m3fnuz, for kernels: what common/cuda/kv_values.hpp
// has for the first, for both, with the bits of the project's reference codec (core/kvcache). Needs
// IEEE arithmetic. Plain constexpr functions for host and device.
#pragma once

#include <cstdint>

#include "common/cuda/kv_values.hpp"

namespace dsakit::hip {

enum class Fp8 { e4m3fn, e4m3fnuz };

// fnuz has its exponents one lower, one NaN where the other has -0, and no -0.
constexpr bool is_nan_code(Fp8 kind, std::uint32_t code) {
  return kind == Fp8::e4m3fn ? (code & 0x7FU) == 0x7FU : code == 0x80U;
}
constexpr float code_magnitude(Fp8 kind, std::uint32_t code) {
  return cuda::bits_as<float>((code & 0x7FU) << 20) * (kind == Fp8::e4m3fn ? 0x1p120F : 0x1p119F);
}

// The value of a code as bf16, which holds it exactly.
constexpr std::uint32_t bf16_of_code(Fp8 kind, std::uint32_t code) {
  if (is_nan_code(kind, code)) return 0x7FC0U;
  return (code & 0x80U) << 8 | cuda::bits_as<std::uint32_t>(code_magnitude(kind, code)) >> 16;
}

// code * scale, one multiplication; a NaN code gives the NaN of the reference.
constexpr float from_code(Fp8 kind, std::uint8_t code, float scale) {
  if (is_nan_code(kind, code)) return cuda::bits_as<float>(0x7FC00000U);
  const float magnitude = code_magnitude(kind, code);
  return ((code & 0x80U) != 0 ? -magnitude : magnitude) * scale;
}

// value / scale, rounded to nearest even and saturated.
constexpr std::uint8_t to_code(Fp8 kind, float value, float scale) {
  if (kind == Fp8::e4m3fn) return cuda::to_e4m3(value, scale);
  if (cuda::is_nan(value)) return 0x80;
  const float quotient =
      cuda::bits_as<float>(cuda::bits_as<std::uint32_t>(value / scale) & ~0x80000000U);
  const float magnitude = quotient < 240.0F ? quotient : 240.0F;
  // As in to_e4m3(), one binade lower.
  const std::uint32_t binade = cuda::bits_as<std::uint32_t>(magnitude) & cuda::kFp32Infinity;
  constexpr std::uint32_t kSmallest = (127U - 7U) << 23;
  const float shifter =
      cuda::bits_as<float>((binade > kSmallest ? binade : kSmallest) + (20U << 23));
  const float rounded = (magnitude + shifter) - shifter;
  const std::uint32_t code = cuda::bits_as<std::uint32_t>(rounded * 0x1p-119F) >> 20;
  const std::uint32_t sign = cuda::bits_as<std::uint32_t>(value) >> 24 & 0x80U;
  return static_cast<std::uint8_t>(code == 0 ? 0 : sign | code);
}

}  // namespace dsakit::hip
