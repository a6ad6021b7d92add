// The merge kernel: the partials of a token become its output.
//
// A warp has one head and 256 of its columns, a thread eight of them. Weights come from the
// partials' log-sum-exp; the order of summation is that of the ranges, whatever ran first. Starts
// under the attention kernel (programmatic dependent launch) and waits for its end.
#pragma once

#include "flashmla_sparse/sm90_attention.cuh"

namespace dsakit::sparse {

__device__ __forceinline__ float warp_max(float x) {
#pragma unroll
  for (int i = 16; i > 0; i /= 2) x = fmaxf(x, __shfl_xor_sync(~0u, x, i));
  return x;
}
__device__ __forceinline__ float warp_sum(float x) {
#pragma unroll
  for (int i = 16; i > 0; i /= 2) x += __shfl_xor_sync(~0u, x, i);
  return x;
}

// Ranges first ... first + count - 1 hold the partials of a token.
struct Partials {
  int first, count;
  __device__ int64_t slot(int i) const {
    return int64_t{first + i} * kPartialSlots + (i == 0 ? 1 : 0);
  }
};

// Token of grid row y: with many tokens, the one cut by the y-th boundary between ranges, unless
// an earlier boundary has cut it. Answers -1 for none.
__device__ inline int merge_token(const KernelArgs& args, int y) {
  if (args.problem.tokens < args.plan.groups) return y;
  const int boundary = range_start(args.plan, y + 1);
  const int token = boundary / args.plan.blocks;
  const int start = token * args.plan.blocks;
  return boundary != start && range_start(args.plan, y) <= start ? token : -1;
}

template <int kAhead>  // partials in flight
struct Merge {
  static constexpr int kWeights = kAhead <= 4 ? 1 : kMaxGroups / 32;
  const KernelArgs& args;
  const int head, column, lane;
  const int64_t heads;  // rows of a partial
  float* weights;       // of this warp, in shared memory
  float base = -INFINITY, top = -INFINITY, sum = 0.0f;

  __device__ __forceinline__ void weigh(const Partials& partials) {
    float lse[kWeights], scale[kWeights];
#pragma unroll
    for (int i = 0; i < kWeights; ++i) {
      const int p = lane + 32 * i;
      lse[i] = -INFINITY;
      scale[i] = 0.0f;
      if (p < partials.count) {
        const int64_t slot = partials.slot(p);
        lse[i] = args.partial_lse[slot * heads + head];
        scale[i] = args.partial_scale[(slot * 2 + column / kHalf) * heads + head];
        top = fmaxf(top, args.partial_max[slot * heads + head]);
      }
    }
#pragma unroll
    for (int i = 0; i < kWeights; ++i) base = fmaxf(base, lse[i]);
    base = warp_max(base);
    top = warp_max(top);
    const float offset = base == -INFINITY ? 0.0f : base;
#pragma unroll
    for (int i = 0; i < kWeights; ++i) {
      const float weight = exp2_approx(lse[i] - offset);
      sum += weight;
      weights[lane + 32 * i] = weight * scale[i];
    }
    sum = warp_sum(sum);
    __syncwarp();
  }

  __device__ __forceinline__ void load(const Partials& partials, int first,
                                       uint4 (&packed)[kAhead]) const {
    const __half* from = args.partial + (column / kHalf * heads + head) * kHalf + column % kHalf;
#pragma unroll
    for (int k = 0; k < kAhead; ++k) {
      packed[k] = make_uint4(0, 0, 0, 0);
      if (first + k < partials.count) {
        const int64_t slot = partials.slot(first + k);
        packed[k] = *reinterpret_cast<const uint4*>(from + slot * 2 * heads * kHalf);
      }
    }
  }

  __device__ __forceinline__ void add(const Partials& partials, int first,
                                      const uint4 (&packed)[kAhead], float (&o)[8]) const {
#pragma unroll
    for (int k = 0; k < kAhead; ++k) {
      if (first + k >= partials.count) break;
      const float w = weights[first + k];
      const uint32_t words[4] = {packed[k].x, packed[k].y, packed[k].z, packed[k].w};
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float2 pair = __half22float2(*reinterpret_cast<const __half2*>(&words[i]));
        o[2 * i] += w * pair.x;
        o[2 * i + 1] += w * pair.y;
      }
    }
  }

  // The first partials are on their way before their weights are.
  __device__ __forceinline__ void run(const Partials& partials, int token) {
    float o[8] = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
    uint4 packed[kAhead];
    load(partials, 0, packed);
    weigh(partials);
    add(partials, 0, packed, o);
#pragma unroll 1
    for (int first = kAhead; first < partials.count; first += kAhead) {
      load(partials, first, packed);
      add(partials, first, packed, o);
    }
    write(token, o);
  }

  __device__ __forceinline__ void write(int token, const float (&o)[8]) const {
    const Problem& problem = args.problem;
    const Tensors& tensors = problem.tensors;
    const float sink =
        tensors.sink ? tensors.sink[head * tensors.sink_head] * 1.4426950408889634f : -INFINITY;
    const float offset = base == -INFINITY ? 0.0f : base;
    const float with_sink = sum + exp2_approx(sink - offset);
    const float inverse = sum == 0.0f ? 0.0f : 1.0f / with_sink;
    uint8_t* to = static_cast<uint8_t*>(tensors.out) +
                  token_offset(tensors.out_token, token, tensors.tokens_inner) +
                  head * tensors.out_head + column * 2;
    uint32_t words[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) words[i] = pack_bf16(o[2 * i] * inverse, o[2 * i + 1] * inverse);
    if (args.out_aligned) {
      *reinterpret_cast<uint4*>(to) = make_uint4(words[0], words[1], words[2], words[3]);
    } else {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        reinterpret_cast<uint16_t*>(to)[2 * i] = static_cast<uint16_t>(words[i]);
        reinterpret_cast<uint16_t*>(to)[2 * i + 1] = static_cast<uint16_t>(words[i] >> 16);
      }
    }
    if (column == 0) {
      write_stats(problem, token, head, sum, with_sink, base, top);
    }
  }
};

// Grid: x over pairs of heads, y over tokens that a boundary may cut. kAhead 4 is for tokens of at
// most 32 partials, and best for a few.
template <int kAhead>
__global__ void __launch_bounds__(128) merge_kernel(const __grid_constant__ KernelArgs args) {
  __shared__ float weights[4][Merge<kAhead>::kWeights * 32];
  const int warp = blockIdx.x * 4 + threadIdx.x / 32;
  const int token = merge_token(args, blockIdx.y);
  Partials partials{0, 0};
  if (token >= 0) {
    const int start = token * args.plan.blocks;
    partials.first = range_of(args.plan, start);
    partials.count = range_of(args.plan, start + args.plan.blocks - 1) - partials.first + 1;
  }
  wait_for_prior_launch();
  if (partials.count < 2 || warp / 2 >= args.problem.heads) return;
  const int lane = threadIdx.x % 32;
  const int column = warp % 2 * kHalf + lane * 8;
  Merge<kAhead>{args, warp / 2, column, lane, args.plan.head_tiles * 64, weights[threadIdx.x / 32]}
      .run(partials, token);
}

}  // namespace dsakit::sparse
