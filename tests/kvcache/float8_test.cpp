// The small float formats against definitions written from their specifications with doubles: every
// code, every midpoint between neighbours, and both sides of it.
#include "kvcache/float8.hpp"

#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <limits>
#include <random>

namespace dsakit::kvcache {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Format {
  int bias;
  float max;
  std::uint8_t max_code, (*encode)(float);
  float (*decode)(std::uint8_t);
};

const Format kFn{7, 448.0F, 0x7E, e4m3fn_encode, e4m3fn_decode};
const Format kFnuz{8, 240.0F, 0x7F, e4m3fnuz_encode, e4m3fnuz_decode};

double specified(const Format& format, int code) {
  const int exponent = (code >> 3) & 15;
  const int mantissa = code & 7;
  const double magnitude = exponent == 0
                               ? std::pow(2.0, 1 - format.bias) * mantissa / 8.0
                               : std::pow(2.0, exponent - format.bias) * (1.0 + mantissa / 8.0);
  return code >= 128 ? -magnitude : magnitude;
}

class Float8 : public testing::TestWithParam<const Format*> {};

TEST_P(Float8, EveryFiniteCodeDecodesAsSpecifiedAndReturns) {
  const Format& format = *GetParam();
  for (int code = 0; code < 256; ++code) {
    const auto byte = static_cast<std::uint8_t>(code);
    const float value = format.decode(byte);
    if (std::isnan(value)) continue;
    EXPECT_EQ(static_cast<double>(value), specified(format, code)) << code;
    EXPECT_EQ(format.encode(value), byte) << code;
  }
}

TEST_P(Float8, MidpointsGoToTheEvenCodeAndNeighboursToTheNearer) {
  const Format& format = *GetParam();
  for (std::uint8_t code = 0; code < format.max_code; ++code) {
    const auto next = static_cast<std::uint8_t>(code + 1);
    const float middle = (format.decode(code) + format.decode(next)) / 2;
    EXPECT_EQ(format.encode(middle), code % 2 == 0 ? code : next) << int{code};
    EXPECT_EQ(format.encode(std::nextafter(middle, 0.0F)), code) << int{code};
    EXPECT_EQ(format.encode(std::nextafter(middle, kInf)), next) << int{code};
    if (code > 1) {
      EXPECT_EQ(format.encode(-middle), (code % 2 == 0 ? code : next) | 0x80) << int{code};
    }
  }
}

TEST_P(Float8, SaturatesAndKeepsNaN) {
  const Format& format = *GetParam();
  for (const float large : {format.max, format.max * 1.01F, format.max * 2, FLT_MAX, kInf}) {
    EXPECT_EQ(format.encode(large), format.max_code);
    EXPECT_EQ(format.encode(-large), format.max_code | 0x80);
  }
  EXPECT_TRUE(std::isnan(format.decode(format.encode(kNan))));
  EXPECT_TRUE(std::isnan(format.decode(format.encode(-kNan))));
  EXPECT_EQ(format.encode(FLT_MIN), 0);
  EXPECT_EQ(format.encode(std::numeric_limits<float>::denorm_min()), 0);
}

INSTANTIATE_TEST_SUITE_P(Formats, Float8, testing::Values(&kFn, &kFnuz), [](const auto& shown) {
  return shown.index == 0 ? "e4m3fn" : "e4m3fnuz";
});

TEST(Float8, NaNAndZeroCodes) {
  for (int code = 0; code < 256; ++code) {
    EXPECT_EQ(std::isnan(e4m3fn_decode(static_cast<std::uint8_t>(code))), (code & 0x7F) == 0x7F);
    EXPECT_EQ(std::isnan(e4m3fnuz_decode(static_cast<std::uint8_t>(code))), code == 0x80);
  }
  EXPECT_EQ(e4m3fn_encode(-0.0F), 0x80);
  EXPECT_EQ(e4m3fnuz_encode(-0.0F), 0x00);
  EXPECT_EQ(e4m3fnuz_encode(-1e-9F), 0x00);
}

TEST(Float8, FnuzBytesAreHalfOfFnBytes) {
  for (int code = 0; code < 0x7F; ++code)
    EXPECT_EQ(2 * e4m3fnuz_decode(static_cast<std::uint8_t>(code)),
              e4m3fn_decode(static_cast<std::uint8_t>(code)));
}

TEST(Bf16, RoundsToNearestEvenForEveryPattern) {
  for (std::uint32_t high = 0; high < 0x10000U; ++high) {
    const auto code = static_cast<std::uint16_t>(high);
    const float value = bf16_decode(code);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(bf16_decode(bf16_encode(value))));
      continue;
    }
    EXPECT_EQ(bf16_encode(value), code);
    if (!std::isfinite(value)) continue;
    const auto next = static_cast<std::uint16_t>(code + 1);
    const double middle = (static_cast<double>(value) + static_cast<double>(bf16_decode(next))) / 2;
    if (!std::isfinite(bf16_decode(next))) continue;
    EXPECT_EQ(bf16_encode(static_cast<float>(middle)), code % 2 == 0 ? code : next) << code;
  }
  EXPECT_EQ(bf16_encode(FLT_MAX), 0x7F80);
}

TEST(E8m0, EveryCodeReturns) {
  for (int code = 0; code < 255; ++code) {
    const auto byte = static_cast<std::uint8_t>(code);
    EXPECT_EQ(static_cast<double>(e8m0_decode(byte)), std::pow(2.0, code - 127));
    EXPECT_EQ(e8m0_encode(e8m0_decode(byte)), byte);
  }
  EXPECT_TRUE(std::isnan(e8m0_decode(255)));
}

TEST(CeilPow2, IsTheSmallestPowerNotBelow) {
  for (int exponent = -126; exponent < 127; ++exponent) {
    const float power = std::ldexp(1.0F, exponent);
    EXPECT_EQ(ceil_pow2(power), power);
    EXPECT_EQ(ceil_pow2(std::nextafter(power, kInf)), 2 * power);
    EXPECT_EQ(ceil_pow2(1.9F * power), 2 * power);
  }
}

}  // namespace
}  // namespace dsakit::kvcache
