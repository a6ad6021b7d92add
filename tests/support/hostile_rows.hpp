// Rows of values that are hard to store: what a quantiser may meet, and what it must survive.
#pragma once

#include <bit>
#include <cstdint>
#include <random>
#include <vector>

namespace dsakit::test {

inline constexpr int kHostileRows = 4;

// By kind: any 32 bits, ordinary sizes, subnormal numbers, zeros of both signs; in each, now and
// then, a NaN or an infinity.
inline std::vector<float> hostile_row(int kind, std::size_t size, std::mt19937& random) {
  std::vector<float> row(size);
  for (float& value : row) {
    const auto any = static_cast<std::uint32_t>(random());
    const float unit = static_cast<float>(any >> 8) * 0x1p-23F - 1;
    if (kind == 0) value = std::bit_cast<float>(any);
    if (kind == 1) value = unit * 30;
    if (kind == 2) value = std::bit_cast<float>(any & 0x807FFFFFU);
    if (kind == 3) value = std::bit_cast<float>(any & 0x80000000U);
    if (kind != 0 && any % 101 == 7) value = std::bit_cast<float>(any | 0x7FC00000U);
    if (kind != 0 && any % 307 == 9)
      value = std::bit_cast<float>((any & 0x80000000U) | 0x7F800000U);
  }
  return row;
}

}  // namespace dsakit::test
