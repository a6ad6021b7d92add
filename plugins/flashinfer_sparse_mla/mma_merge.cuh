// The merge: the partials of a token become its output. A CTA has one head of a token that more
// than one range has worked on, or a quarter of its columns where there are many partials; a thread
// has four columns. Partials are added in the order of the ranges, whatever ran first.
#pragma once

#include "flashinfer_sparse_mla/mma_attention.cuh"

namespace dsakit::sparse::mma {

// Where a token has many partials, parts of the threads that share them out, and CTAs that share
// the columns: one that reads all partials of a head is bound by what a multiprocessor takes in.
inline constexpr int kManyParts = 8, kManyCtas = 4;

// CTAs of a head, and its threads for each part.
DSAKIT_HOST_DEVICE constexpr int merge_ctas(int parts) {
  return parts > 1 ? kManyCtas : 1;
}
DSAKIT_HOST_DEVICE constexpr int column_threads(int parts) {
  return kLatent / 4 / merge_ctas(parts);
}
DSAKIT_HOST_DEVICE constexpr int merge_threads(int parts) {
  return parts * column_threads(parts);
}

// Token of grid row y: with many tokens, the one cut by the y-th boundary between ranges, unless
// an earlier boundary has cut it. Answers -1 for none.
__device__ inline int cut_token(const Args& args, int y) {
  const KernelArgs& call = args.call;
  if (call.plan.fixed || call.problem.tokens < call.plan.groups) return args.first_token + y;
  const int boundary = range_start(call.plan, y + 1);
  const int token = boundary / call.plan.blocks;
  const int start = token * call.plan.blocks;
  return boundary != start && range_start(call.plan, y) <= start ? token : -1;
}

// Largest of the values of a warp's lanes.
__device__ __forceinline__ float warp_max(float x) {
#pragma unroll
  for (int i = 16; i > 0; i /= 2) x = fmaxf(x, __shfl_xor_sync(~0u, x, i));
  return x;
}

// What a thread adds up.
struct Sums {
  float weight = 0.0f;
  float4 o = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
};

// Adds the sums of all parts of the threads; part 0 gets them.
template <int kParts>
__device__ __forceinline__ void add_parts(Sums& sums, int part, int thread) {
  __shared__ float4 outs[kParts][column_threads(kParts)];
  __shared__ float weights[kParts];
  outs[part][thread] = sums.o;
  if (thread == 0) weights[part] = sums.weight;
  __syncthreads();
  if (part != 0) return;
#pragma unroll
  for (int p = 1; p < kParts; ++p) {
    const float4 x = outs[p][thread];
    sums.weight += weights[p];
    sums.o = make_float4(sums.o.x + x.x, sums.o.y + x.y, sums.o.z + x.z, sums.o.w + x.w);
  }
}

__device__ __forceinline__ void write_merged(const KernelArgs& call, int token, int head,
                                             int column, const float4& o, float inverse) {
  const Tensors& tensors = call.problem.tensors;
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

// Part p of the threads adds the partials p, p + kParts, ... after wait().
template <int kParts, class Wait>
__device__ __forceinline__ void merge(const Args& args, const Wait& wait) {
  const KernelArgs& call = args.call;
  const Tensors& tensors = call.problem.tensors;
  const int token = cut_token(args, static_cast<int>(blockIdx.y));
  if (token < 0) return;
  const int line = token * call.plan.blocks;
  const int first = range_of(call.plan, line);
  const int count = range_of(call.plan, line + call.plan.blocks - 1) - first + 1;
  if (count < 2) return;
  constexpr int kThreads = column_threads(kParts);
  const int part = static_cast<int>(threadIdx.x) / kThreads;
  const int thread = static_cast<int>(threadIdx.x) % kThreads;
  const int head = static_cast<int>(blockIdx.x) / merge_ctas(kParts);
  const int quarter = static_cast<int>(blockIdx.x) % merge_ctas(kParts);
  const int column = (quarter * kThreads + thread) * 4;
  const int64_t heads = padded_heads(call.plan, tile_heads(call.problem.heads));
  const auto place = [&](int i) { return partial_slot(args, first + i, i == 0) * heads + head; };
  wait();
  float base = -INFINITY, top = -INFINITY;
  for (int i = static_cast<int>(threadIdx.x) % 32; i < count; i += 32) {
    base = fmaxf(base, args.partial_lse[place(i)]);
    top = fmaxf(top, args.partial_max[place(i)]);
  }
  base = warp_max(base);
  top = warp_max(top);
  const float offset = base == -INFINITY ? 0.0f : base;
  Sums sums;
#pragma unroll 8
  for (int i = part; i < count; i += kParts) {
    const float weight = exp2_approx(args.partial_lse[place(i)] - offset);
    const float4 x = *reinterpret_cast<const float4*>(args.partial + place(i) * kLatent + column);
    sums.weight += weight;
    sums.o.x = fmaf(weight, x.x, sums.o.x);
    sums.o.y = fmaf(weight, x.y, sums.o.y);
    sums.o.z = fmaf(weight, x.z, sums.o.z);
    sums.o.w = fmaf(weight, x.w, sums.o.w);
  }
  if constexpr (kParts > 1) add_parts<kParts>(sums, part, thread);
  if (part != 0) return;
  const float sink = tensors.sink ? tensors.sink[head * tensors.sink_head] * kLog2e : -INFINITY;
  const float with_sink = sums.weight + exp2_approx(sink - offset);
  if (column == 0) write_stats(call, token, head, sums.weight, with_sink, base, top);
  write_merged(call, token, head, column, sums.o, sums.weight == 0.0f ? 0.0f : 1.0f / with_sink);
}

}  // namespace dsakit::sparse::mma
