// The running softmax of a row of scores, and what is reported of it.
#pragma once

#include <cmath>

#include "common/cuda/sparse_work.cuh"

namespace dsakit::sparse {

__device__ __forceinline__ float exp2_approx(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

__device__ __forceinline__ uint32_t pack_bf16(float low, float high) {
  uint32_t packed;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  return packed;
}

// One row's running softmax in log2 units. Weights are 2^(x - base); `base` follows the maximum
// only when that has grown by more than kSlack, which spares most rescaling and stays in range.
struct RowState {
  static constexpr float kSlack = 8.0f;
  float base = -INFINITY;
  float top = -INFINITY;  // true maximum
  float sum = 0.0f;       // of this thread's columns of its group's blocks

  // Counts some scores in; whether the base has to follow them.
  __device__ __forceinline__ bool exceeded(float maximum) {
    top = fmaxf(top, maximum);
    return maximum > base + kSlack;
  }
  // Takes a block's maximum; the factor by which older weights shrink.
  __device__ __forceinline__ float admit(float maximum) {
    top = fmaxf(top, maximum);
    if (!(maximum > base + kSlack)) return 1.0f;
    const float factor = exp2_approx(base - maximum);
    base = maximum;
    sum *= factor;
    return factor;
  }
  // Takes over the base that the other warpgroup has chosen.
  __device__ __forceinline__ float follow(float other) {
    if (other == base) return 1.0f;
    const float factor = exp2_approx(base - other);
    base = other;
    sum *= factor;
    return factor;
  }
  __device__ __forceinline__ float offset() const { return base == -INFINITY ? 0.0f : base; }
};

__device__ __forceinline__ float quad_max(float x) {
  x = fmaxf(x, __shfl_xor_sync(~0u, x, 1));
  return fmaxf(x, __shfl_xor_sync(~0u, x, 2));
}
__device__ __forceinline__ void quad_max(float& x, float& y) {
  float a = __shfl_xor_sync(~0u, x, 1), b = __shfl_xor_sync(~0u, y, 1);
  x = fmaxf(x, a);
  y = fmaxf(y, b);
  a = __shfl_xor_sync(~0u, x, 2);
  b = __shfl_xor_sync(~0u, y, 2);
  x = fmaxf(x, a);
  y = fmaxf(y, b);
}
__device__ __forceinline__ float quad_sum(float x) {
  x += __shfl_xor_sync(~0u, x, 1);
  return x + __shfl_xor_sync(~0u, x, 2);
}

// Transposes 4x4 words among four lanes: lane q gets word q of each, in the order of the lanes.
__device__ __forceinline__ void quad_transpose(uint32_t (&v)[4]) {
  const int q = static_cast<int>(threadIdx.x & 3);
#pragma unroll
  for (int i = 0; i < 4; i += 2) {
    const uint32_t got = __shfl_xor_sync(~0u, q & 1 ? v[i] : v[i + 1], 1);
    v[i] = q & 1 ? got : v[i];
    v[i + 1] = q & 1 ? v[i + 1] : got;
  }
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const uint32_t got = __shfl_xor_sync(~0u, q & 2 ? v[i] : v[i + 2], 2);
    v[i] = q & 2 ? got : v[i];
    v[i + 2] = q & 2 ? v[i + 2] : got;
  }
}

// LSE and maximum of one token and head from base-2 sums; `with_sink` is the sum plus the sink.
__device__ inline void write_stats(const KernelArgs& args, int token, int head, float sum,
                                   float with_sink, float base, float top) {
  const Problem& problem = args.problem;
  const Tensors& tensors = problem.tensors;
  constexpr float kLn2 = 0.6931471805599453f;
  if (tensors.lse) {
    const float log2_sum = base + log2f(problem.lse_with_sink ? with_sink : sum);
    tensors.lse[token_offset(args, tensors.lse_token, token) + head * tensors.lse_head] =
        sum == 0.0f        ? problem.lse_empty
        : problem.lse_log2 ? log2_sum
                           : log2_sum * kLn2;
  }
  if (tensors.max_logits) {
    tensors.max_logits[token_offset(args, tensors.max_token, token) + head * tensors.max_head] =
        top * kLn2;
  }
}

}  // namespace dsakit::sparse
