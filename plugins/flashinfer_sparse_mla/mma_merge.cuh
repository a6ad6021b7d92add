// The merge kernel: the partials of a token become its output. A CTA has one head of a token that
// more than one range has worked on; a thread has four of its columns. Partials are added in the
// order of the ranges, whatever ran first.
#pragma once

#include "flashinfer_sparse_mla/mma_attention.cuh"

namespace dsakit::sparse::mma {

inline constexpr int kMergeThreads = kLatent / 4;

// Token of grid row y: with many tokens, the one cut by the y-th boundary between ranges, unless
// an earlier boundary has cut it. Answers -1 for none.
__device__ inline int cut_token(const KernelArgs& args, int y) {
  if (args.problem.tokens < args.plan.groups) return y;
  const int boundary = range_start(args.plan, y + 1);
  const int token = boundary / args.plan.blocks;
  const int start = token * args.plan.blocks;
  return boundary != start && range_start(args.plan, y) <= start ? token : -1;
}

__global__ void __launch_bounds__(kMergeThreads) merge_kernel(const __grid_constant__ Args args) {
  const KernelArgs& call = args.call;
  const Tensors& tensors = call.problem.tensors;
  const int token = cut_token(call, static_cast<int>(blockIdx.y));
  if (token < 0) return;
  const int line = token * call.plan.blocks;
  const int first = range_of(call.plan, line);
  const int count = range_of(call.plan, line + call.plan.blocks - 1) - first + 1;
  if (count < 2) return;
  const int head = static_cast<int>(blockIdx.x), column = static_cast<int>(threadIdx.x) * 4;
  const int64_t heads = padded_heads(call.plan, tile_heads(call.problem.heads));
  const auto place = [&](int i) {
    return (int64_t{first + i} * kPartialSlots + (i == 0 ? 1 : 0)) * heads + head;
  };
  float base = -INFINITY, top = -INFINITY;
#pragma unroll 8
  for (int i = 0; i < count; ++i) {
    base = fmaxf(base, args.partial_lse[place(i)]);
    top = fmaxf(top, args.partial_max[place(i)]);
  }
  const float offset = base == -INFINITY ? 0.0f : base;
  float sum = 0.0f;
  float4 o = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll 8
  for (int i = 0; i < count; ++i) {
    const float weight = exp2_approx(args.partial_lse[place(i)] - offset);
    const float4 part =
        *reinterpret_cast<const float4*>(args.partial + place(i) * kLatent + column);
    sum += weight;
    o.x = fmaf(weight, part.x, o.x);
    o.y = fmaf(weight, part.y, o.y);
    o.z = fmaf(weight, part.z, o.z);
    o.w = fmaf(weight, part.w, o.w);
  }
  const float sink = tensors.sink ? tensors.sink[head * tensors.sink_head] * kLog2e : -INFINITY;
  const float with_sink = sum + exp2_approx(sink - offset);
  if (threadIdx.x == 0) write_stats(call, token, head, sum, with_sink, base, top);
  const float inverse = sum == 0.0f ? 0.0f : 1.0f / with_sink;
  const uint32_t low = pack_bf16(o.x * inverse, o.y * inverse);
  const uint32_t high = pack_bf16(o.z * inverse, o.w * inverse);
  uint8_t* const to = static_cast<uint8_t*>(tensors.out) +
                      token_offset(call, tensors.out_token, token) + head * tensors.out_head +
                      column * 2;
  if (call.out_aligned) {
    *reinterpret_cast<uint2*>(to) = make_uint2(low, high);
    return;
  }
  auto* const elements = reinterpret_cast<uint16_t*>(to);
  elements[0] = static_cast<uint16_t>(low);
  elements[1] = static_cast<uint16_t>(low >> 16);
  elements[2] = static_cast<uint16_t>(high);
  elements[3] = static_cast<uint16_t>(high >> 16);
}

}  // namespace dsakit::sparse::mma
