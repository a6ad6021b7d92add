// From rows as they lie in the pool to operands of Hopper's matrix instructions, and what threads
// do with the accumulators' columns, which are heads.
//
// A fragment has 16 rows for each warp: thread l of it has rows l / 4 and 8 further, and of the
// reduced axis elements 2(l % 4), + 1, then 8 further. As accumulators it has for each j heads
// 8j + 2(l % 4) and the next: [4j], [4j + 1] of row l / 4, [4j + 2], [4j + 3] of the row below.
#pragma once

#include <cuda_fp16.h>

#include "common/cuda/sparse_softmax.cuh"
#include "common/cuda/warp_mma.cuh"

namespace dsakit::sparse::fp8 {

// Four e4m3 codes as fp16, in order.
__device__ __forceinline__ uint2 fp16_of_codes(uint32_t codes) {
  uint2 v;
  asm("{\n.reg .b16 a, b;\nmov.b32 {a, b}, %2;\ncvt.rn.f16x2.e4m3x2 %0, a;\n"
      "cvt.rn.f16x2.e4m3x2 %1, b;\n}\n"
      : "=r"(v.x), "=r"(v.y)
      : "r"(codes));
  return v;
}

__device__ __forceinline__ uint32_t times(uint32_t pair, uint32_t factors) {
  const __half2 product = __hmul2(*reinterpret_cast<const __half2*>(&pair),
                                  *reinterpret_cast<const __half2*>(&factors));
  return *reinterpret_cast<const uint32_t*>(&product);
}

__device__ __forceinline__ uint32_t pack_fp16(float low, float high) {
  const __half2 packed = __floats2half2_rn(low, high);
  return *reinterpret_cast<const uint32_t*>(&packed);
}

// Two steps of 16 dimensions of keys: `raw` has for rows l / 4 and 8 further of each step four
// neighbouring codes. So element 2q, 2q + 1, 2q + 8, 2q + 9 of a step is its dimension 4q ... + 3.
__device__ __forceinline__ void key_fragments(const uint32_t (&raw)[4], uint32_t (&a)[2][4]) {
#pragma unroll
  for (int step = 0; step < 2; ++step) {
#pragma unroll
    for (int row = 0; row < 2; ++row) {
      const uint2 v = fp16_of_codes(raw[2 * step + row]);
      a[step][row] = v.x;
      a[step][row + 2] = v.y;
    }
  }
}

// 16 keys of two tiles of columns: `raw` has of each tile two neighbouring columns of keys 2q,
// 2q + 1, then of the keys 8 further, whose factors are `low` and `high`. Row r of a tile, and r +
// 8, is its column 2r, 2r + 1.
__device__ __forceinline__ void value_fragments(const uint32_t (&raw)[4], uint32_t low,
                                                uint32_t high, uint32_t (&a)[2][4]) {
#pragma unroll
  for (int tile = 0; tile < 2; ++tile) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const uint2 v = fp16_of_codes(__byte_perm(raw[2 * tile + half], 0, 0x3120));
      a[tile][2 * half] = times(v.x, half ? high : low);
      a[tile][2 * half + 1] = times(v.y, half ? high : low);
    }
  }
}

// Combines, for each head, the values of a warp's lanes. Value 2j + x is of head 8j + 2q + x; the
// pair that this lane gets is of heads 2 * pair_of(lane) and the next.
template <int kPairs>
__device__ __forceinline__ int pair_of(int lane) {
  return ((lane >> 2) * kPairs / 8) * 4 + (lane & 3);
}
// Whether no lane before this one has the same pair.
template <int kPairs>
__device__ __forceinline__ bool first_of_pair(int lane) {
  return ((lane >> 2) & (8 / kPairs - 1)) == 0;
}
template <int kPairs, class Combine>
__device__ __forceinline__ float2 across_rows(float (&v)[2 * kPairs], int lane, Combine combine) {
  int pairs = kPairs;
#pragma unroll
  for (int bit = 16; bit >= 4; bit /= 2) {
    const bool upper = lane & bit;
    const int half = pairs / 2;
    if (half == 0) {
#pragma unroll
      for (int x = 0; x < 2; ++x) v[x] = combine(v[x], __shfl_xor_sync(~0u, v[x], bit));
      continue;
    }
#pragma unroll
    for (int i = 0; i < kPairs; ++i) {
      if (i >= 2 * half) break;
      const float keep = upper ? v[2 * half + i] : v[i], give = upper ? v[i] : v[2 * half + i];
      v[i] = combine(keep, __shfl_xor_sync(~0u, give, bit));
    }
    pairs = half;
  }
  return make_float2(v[0], v[1]);
}

// A row's four scales, as its products need them.
struct RowScales {
  float ratio[3];  // of a group's scale to the next one's
  float last;      // the last group's scale
  int unit;        // exponent of the power of two that is taken out of the row
};

// The unit of a row whose largest scale has this biased exponent. fp16 holds every code times a
// scale below 2^7, and scales from 2^-11 on keep all their bits.
__device__ __forceinline__ int unit_of(int exponent) {
  constexpr int kLargest = 127 + 6, kSmallest = 127 - 11;
  if ((exponent >= kSmallest && exponent <= kLargest) || exponent == 255 || exponent == 0) return 0;
  return min(max(exponent - kLargest, -24), 60);
}

// A scale is raised to 2^-60 of the row's largest, which then is all that it can matter, so that
// every quotient is finite.
__device__ __forceinline__ RowScales row_scales(const float4& scales) {
  const float v[4] = {scales.x, scales.y, scales.z, scales.w};
  const float most = fmaxf(fmaxf(fabsf(v[0]), fabsf(v[1])), fmaxf(fabsf(v[2]), fabsf(v[3])));
  const float least = fmaxf(most * 0x1p-60f, 0x1p-126f);
  float t[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) t[i] = fabsf(v[i]) < least ? copysignf(least, v[i]) : v[i];
  RowScales row;
#pragma unroll
  for (int i = 0; i < 3; ++i) row.ratio[i] = __fdividef(t[i], t[i + 1]);
  row.last = t[3];
  row.unit = unit_of(static_cast<int>(__float_as_uint(most) >> 23));
  return row;
}

}  // namespace dsakit::sparse::fp8
