// The 8-bit floats of the kernels against the reference codec: every code of both kinds,
// and rounding of values of any size.
#include "common/hip/fp8.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "kvcache/float8.hpp"

namespace dsakit::hip {
namespace {

float decoded(Fp8 kind, std::uint8_t code) {
  return kind == Fp8::e4m3fn ? kvcache::e4m3fn_decode(code) : kvcache::e4m3fnuz_decode(code);
}
std::uint8_t encoded(Fp8 kind, float value) {
  return kind == Fp8::e4m3fn ? kvcache::e4m3fn_encode(value) : kvcache::e4m3fnuz_encode(value);
}

bool same(float value, std::uint32_t bf16) {
  const float found = cuda::from_bf16(static_cast<std::uint16_t>(bf16));
  return std::isnan(value)
             ? std::isnan(found)
             : std::bit_cast<std::uint32_t>(value) == std::bit_cast<std::uint32_t>(found);
}

TEST(Fp8OfKernels, EveryCodeIsItsValue) {
  for (const Fp8 kind : {Fp8::e4m3fn, Fp8::e4m3fnuz})
    for (std::uint32_t code = 0; code < 256; ++code) {
      const float value = decoded(kind, static_cast<std::uint8_t>(code));
      EXPECT_TRUE(same(value, bf16_of_code(kind, code))) << code;
      const float scaled = from_code(kind, static_cast<std::uint8_t>(code), 0.37F);
      EXPECT_TRUE(std::isnan(value) ? std::isnan(scaled) : scaled == value * 0.37F) << code;
    }
}

TEST(Fp8OfKernels, ValuesRoundAsInTheCodec) {
  for (const Fp8 kind : {Fp8::e4m3fn, Fp8::e4m3fnuz})
    for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += 4093) {
      const float value = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
      ASSERT_EQ(to_code(kind, value, 1.0F), encoded(kind, value)) << value;
    }
}

}  // namespace
}  // namespace dsakit::hip
