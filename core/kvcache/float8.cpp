#include "kvcache/float8.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace dsakit::kvcache {
namespace {

// 2^exponent for -126 ... 127.
constexpr float pow2(int exponent) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(exponent + 127) << 23);
}

// A 4-bit-exponent, 3-bit-mantissa format by its bias and largest finite value.
template <int kBias>
std::uint8_t encode_magnitude(float magnitude, float max, std::uint8_t max_code) {
  if (magnitude >= max) return max_code;
  constexpr float kSmallestNormal = pow2(1 - kBias);
  if (magnitude < kSmallestNormal) {
    // Adding 2^23 units of the subnormal step rounds to a whole number of steps.
    constexpr float kShifter = pow2(23 + 1 - kBias - 3);
    const float sum = magnitude + kShifter;
    return static_cast<std::uint8_t>(std::bit_cast<std::uint32_t>(sum) -
                                     std::bit_cast<std::uint32_t>(kShifter));
  }
  std::uint32_t bits = std::bit_cast<std::uint32_t>(magnitude);
  bits += 0x7FFFFU + ((bits >> 20) & 1U);
  const std::uint32_t code = (bits >> 20) - (static_cast<std::uint32_t>(127 - kBias) << 3);
  return code > max_code ? max_code : static_cast<std::uint8_t>(code);
}

template <int kBias>
constexpr float decode_magnitude(unsigned code) {
  const unsigned exponent = (code >> 3) & 0xFU;
  const unsigned mantissa = code & 7U;
  if (exponent == 0) return static_cast<float>(mantissa) * pow2(1 - kBias - 3);
  return std::bit_cast<float>((exponent + 127U - kBias) << 23 | mantissa << 20);
}

template <int kBias>
constexpr std::array<float, 256> decode_table() {
  std::array<float, 256> table{};
  for (unsigned code = 0; code < 256; ++code) {
    const float magnitude = decode_magnitude<kBias>(code);
    table[code] = code < 128 ? magnitude : -magnitude;
  }
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  if constexpr (kBias == 7)
    table[0x7F] = table[0xFF] = kNan;
  else
    table[0x80] = kNan;
  return table;
}

constexpr std::array<float, 256> kE4m3fnValues = decode_table<7>();
constexpr std::array<float, 256> kE4m3fnuzValues = decode_table<8>();

}  // namespace

std::uint16_t bf16_encode(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>((bits >> 16) | 0x40U);
  return static_cast<std::uint16_t>((bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16);
}

float bf16_decode(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

std::uint8_t e4m3fn_encode(float value) {
  const std::uint8_t sign = std::signbit(value) ? 0x80 : 0;
  if (std::isnan(value)) return static_cast<std::uint8_t>(sign | 0x7F);
  return static_cast<std::uint8_t>(sign | encode_magnitude<7>(std::fabs(value), kE4m3fnMax, 0x7E));
}

float e4m3fn_decode(std::uint8_t code) {
  return kE4m3fnValues[code];
}

std::uint8_t e4m3fnuz_encode(float value) {
  if (std::isnan(value)) return 0x80;
  const std::uint8_t code = encode_magnitude<8>(std::fabs(value), kE4m3fnuzMax, 0x7F);
  return code != 0 && std::signbit(value) ? static_cast<std::uint8_t>(code | 0x80) : code;
}

float e4m3fnuz_decode(std::uint8_t code) {
  return kE4m3fnuzValues[code];
}

float e8m0_decode(std::uint8_t code) {
  if (code == 255) return std::numeric_limits<float>::quiet_NaN();
  return std::ldexp(1.0F, static_cast<int>(code) - 127);
}

std::uint8_t e8m0_encode(float power_of_two) {
  return static_cast<std::uint8_t>(std::ilogb(power_of_two) + 127);
}

float ceil_pow2(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  return std::bit_cast<float>((bits + 0x7FFFFFU) & 0x7F800000U);
}

}  // namespace dsakit::kvcache
