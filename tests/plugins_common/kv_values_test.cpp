// The arithmetic of CUDA row kernels against the reference codec, on the host: every upper half of
// an fp32 number with the lower halves that decide a rounding, every code, both scale rules.
#include "common/cuda/kv_values.hpp"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "kvcache/codec.hpp"
#include "kvcache/float8.hpp"
#include "support/hostile_rows.hpp"

namespace dsakit::cuda {
namespace {

constexpr std::array<std::uint32_t, 7> kLowerHalves{0, 1, 0x5A5A, 0x7FFF, 0x8000, 0x8001, 0xFFFF};

// Calls body with each upper half beside each of the lower halves.
template <class Body>
void for_each_float(Body body) {
  for (std::uint32_t upper = 0; upper < 0x10000; ++upper)
    for (const std::uint32_t lower : kLowerHalves) body(std::bit_cast<float>(upper << 16 | lower));
}

std::uint32_t bits(float value) {
  return std::bit_cast<std::uint32_t>(value);
}

TEST(KvValues, Bf16IsThatOfTheCodec) {
  int different = 0;
  for_each_float([&](float x) { different += to_bf16(x) != kvcache::bf16_encode(x); });
  EXPECT_EQ(different, 0);
  for (unsigned code = 0; code < 0x10000; ++code) {
    const auto half = static_cast<std::uint16_t>(code);
    ASSERT_EQ(bits(from_bf16(half)), bits(kvcache::bf16_decode(half))) << code;
  }
}

TEST(KvValues, CodesAreThoseOfTheCodec) {
  for (const float scale : {1.0F, 0.0371F, 0x1p-126F, 0x1p-23F, 7.5e35F}) {
    int different = 0;
    for_each_float(
        [&](float x) { different += to_e4m3(x, scale) != kvcache::e4m3fn_encode(x / scale); });
    EXPECT_EQ(different, 0) << scale;
  }
}

TEST(KvValues, ValuesOfCodesAreThoseOfTheCodec) {
  for (unsigned code = 0; code < 256; ++code)
    for (std::uint32_t scale_bits = 0; scale_bits < 0x7F800000; scale_bits += 0x1ABCD) {
      const auto byte = static_cast<std::uint8_t>(code);
      const auto scale = std::bit_cast<float>(scale_bits);
      ASSERT_EQ(bits(from_e4m3(byte, scale)), bits(kvcache::e4m3fn_decode(byte) * scale))
          << code << " * " << scale;
    }
}

TEST(KvValues, ScalesAreThoseOfTheCodec) {
  for_each_float([](float amax) {
    if (!std::isfinite(amax) || std::signbit(amax)) return;
    for (const bool pow2 : {false, true}) {
      const auto rule = pow2 ? kvcache::ScaleRule::pow2_fp32 : kvcache::ScaleRule::arbitrary_fp32;
      ASSERT_EQ(bits(group_scale(magnitude_bits(amax), pow2)),
                bits(kvcache::group_scale(rule, amax)))
          << amax << (pow2 ? " pow2" : "");
    }
  });
}

TEST(KvValues, GroupsBecomeTheBytesOfTheCodec) {
  const KvLayout& layout = *find_kv_layout("fp8_528_g128");
  std::vector<std::byte> memory(static_cast<std::size_t>(layout.row_bytes)), wanted = memory;
  const kvcache::Pool pool = kvcache::compact_pool(layout, wanted.data(), 1, 1);
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    const std::vector<float> row = test::hostile_row(
        round % test::kHostileRows, static_cast<std::size_t>(layout.latent), random);
    const bool pow2 = round / test::kHostileRows % 2 == 1;
    kvcache::encode_row(
        pool, 0, pow2 ? kvcache::ScaleRule::pow2_fp32 : kvcache::ScaleRule::arbitrary_fp32, row);
    const auto group = static_cast<std::size_t>(layout.group);
    for (std::size_t first = 0; first < row.size(); first += group) {
      std::uint32_t amax = 0;
      for (std::size_t i = first; i < first + group; ++i)
        amax = std::max(amax, magnitude_bits(row[i]));
      const float scale = group_scale(amax, pow2);
      for (std::size_t i = first; i < first + group; ++i)
        memory[i] = std::byte{to_e4m3(row[i], scale)};
      std::memcpy(memory.data() + layout.scale_offset + 4 * (first / group), &scale, 4);
    }
    ASSERT_EQ(memory, wanted) << "round " << round;
  }
}

}  // namespace
}  // namespace dsakit::cuda
