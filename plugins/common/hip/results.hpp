// What a token's attention becomes in the caller's tensors, for the kernels that write results.
//
// Logits and sums are in base 2 until here. Any lane may call.
#pragma once

#include "common/cuda/kv_values.hpp"
#include "common/hip/sparse_call.hpp"
#include "common/hip/wave.hpp"

namespace dsakit::hip {

inline constexpr float kLog2e = 1.44269504088896340736F;
inline constexpr float kLn2 = 0.69314718055994530942F;
inline constexpr float kInfinity = __builtin_huge_valf();

DSAKIT_DEVICE std::int64_t offset_of(const Tensors& tensors, const TokenAxis& axis,
                                     std::uint32_t token) {
  const auto inner = static_cast<std::uint32_t>(tensors.tokens_inner);
  return token / inner * axis.outer + token % inner * axis.inner;
}

// Of one token and head: log2 of the sum of exponentials, the largest logit, whether any key was
// there.
struct Summary {
  float lse = -kInfinity, largest = -kInfinity;
  bool seen = false;
};

// log2(2^a + 2^b).
DSAKIT_DEVICE float log2_sum(float a, float b) {
  const float top = a > b ? a : b;
  if (top == kInfinity || top == -kInfinity) return top;
  return top + log2_of(exp2_of(a - top) + exp2_of(b - top));
}

// What normalised outputs are multiplied by for the sink; 1 without one.
DSAKIT_DEVICE float sink_factor(float lse, float sink) {
  if (sink == -kInfinity) return 1.0F;
  if (sink == kInfinity) return 0.0F;
  return exp2_of(lse - log2_sum(lse, sink));
}

DSAKIT_DEVICE float sink_of(const Tensors& tensors, int head) {
  return tensors.sink == nullptr ? -kInfinity : tensors.sink[head * tensors.sink_head] * kLog2e;
}

DSAKIT_DEVICE void write_summary(const Problem& problem, std::uint32_t token, int head,
                                 const Summary& summary, float sink) {
  const Tensors& t = problem.tensors;
  if (t.lse != nullptr) {
    const float base2 = problem.lse_with_sink ? log2_sum(summary.lse, sink) : summary.lse;
    const float value = problem.lse_log2 ? base2 : base2 * kLn2;
    t.lse[offset_of(t, t.lse_token, token) + head * t.lse_head] =
        summary.seen ? value : problem.lse_empty;
  }
  if (t.max_logits != nullptr) {
    t.max_logits[offset_of(t, t.max_token, token) + head * t.max_head] =
        summary.seen ? summary.largest * kLn2 : -kInfinity;
  }
}

// Four neighbouring columns of an output; they need not be aligned to more than an element.
DSAKIT_DEVICE void write_out(const Problem& problem, std::uint32_t token, int head, int column,
                             const f32x4& value) {
  const Tensors& t = problem.tensors;
  unsigned char* const row = static_cast<unsigned char*>(t.out) + offset_of(t, t.out_token, token) +
                             head * t.out_head + column * 2;
  const std::uint16_t packed[4] = {cuda::to_bf16(value[0]), cuda::to_bf16(value[1]),
                                   cuda::to_bf16(value[2]), cuda::to_bf16(value[3])};
  __builtin_memcpy(row, packed, sizeof(packed));
}

}  // namespace dsakit::hip
