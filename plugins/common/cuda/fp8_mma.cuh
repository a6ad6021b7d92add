// Warp-level matrix instructions over e4m3, and numbers as sums of two codes. For GPUs from sm_89
// on.
#pragma once

#include <cstdint>

namespace dsakit::cuda {

inline constexpr float kMostE4m3 = 448.0f;

// D += A * B: D 16x8 fp32, A 16x32, B 32x8 e4m3. As multiply() of warp_mma.cuh, where a register
// has four codes in place of two values.
__device__ __forceinline__ void multiply_codes(float (&d)[4], const uint32_t (&a)[4], uint32_t b0,
                                               uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Two neighbouring values as codes, rounded to nearest, and the codes of what that left.
struct TwoCodes {
  uint16_t codes, rest;
};
__device__ __forceinline__ TwoCodes two_codes(float low, float high) {
  TwoCodes two;
  uint32_t halves;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(two.codes) : "f"(high), "f"(low));
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves) : "h"(two.codes));
  float of_low, of_high;
  asm("{.reg .f16 a, b;\n"
      "mov.b32 {a, b}, %2;\n"
      "cvt.f32.f16 %0, a;\n"
      "cvt.f32.f16 %1, b;}"
      : "=f"(of_low), "=f"(of_high)
      : "r"(halves));
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;"
      : "=h"(two.rest)
      : "f"(high - of_high), "f"(low - of_low));
  return two;
}

}  // namespace dsakit::cuda
