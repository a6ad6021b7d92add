// Exact conversions between fp32 and the small formats of KV caches: bf16, e4m3fn, e4m3fnuz, e8m0.
// They define the bytes that every backend must produce.
//
// Invariants: encoders round to nearest even and saturate: no finite or infinite input becomes NaN,
// NaN stays NaN. Pure functions; any thread. Needs IEEE arithmetic (no -ffast-math, subnormals on).
#pragma once

#include <cstdint>

namespace dsakit::kvcache {

inline constexpr float kE4m3fnMax = 448.0F;
inline constexpr float kE4m3fnuzMax = 240.0F;

// Round to nearest even; overflow becomes infinity as in IEEE, NaN stays NaN (quiet).
std::uint16_t bf16_encode(float value);
float bf16_decode(std::uint16_t bits);

// OCP e4m3: bias 7, subnormals 2^-9, NaN is 0x7F with the sign kept.
std::uint8_t e4m3fn_encode(float value);
float e4m3fn_decode(std::uint8_t code);

// e4m3fnuz: bias 8, subnormals 2^-10, NaN is 0x80, results that round to zero are +0.
std::uint8_t e4m3fnuz_encode(float value);
float e4m3fnuz_decode(std::uint8_t code);

// 2^(code - 127); 255 is NaN.
float e8m0_decode(std::uint8_t code);
// Code of a power of two in 2^-127 ... 2^127.
std::uint8_t e8m0_encode(float power_of_two);

// The smallest power of two that is >= value; value is positive and normal, at most 2^127.
float ceil_pow2(float value);

}  // namespace dsakit::kvcache
