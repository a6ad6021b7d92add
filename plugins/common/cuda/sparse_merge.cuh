// The merge kernel: the partials of a token become its output.
//
// kSplit warps share one head and 256 of its columns, a thread has eight of them: each adds every
// kSplit-th partial, then one adds up the warps in order. Weights come from the
// partials' log-sum-exp; the order of summation is that of the ranges, whatever ran first. Starts
// under the attention kernel (programmatic dependent launch) and waits for its end.
#pragma once

#include "common/cuda/sm90_async.cuh"
#include "common/cuda/sparse_softmax.cuh"

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

inline constexpr int kMergeWarps = 4;  // of a CTA

// Ranges first ... first + count - 1 hold the partials of a token.
struct Partials {
  int first, count;
  __device__ int slot(int i) const { return (first + i) * kPartialSlots + (i == 0 ? 1 : 0); }
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

// The same where ranges are cut by lengths, with the token's partials; known when attention is
// done.
__device__ inline int merge_token_by_length(const KernelArgs& args, int y, Partials& partials) {
  const Cut cut = args.cuts[y + 1];
  partials = {0, 0};
  if (cut.token < 0 || cut.line / cut.share != y) return -1;
  partials = {y, (cut.line + cut.blocks - 1) / cut.share - y + 1};
  return cut.token;
}

template <int kSplit, int kAhead>  // kAhead partials in flight
struct Merge {
  static constexpr int kMost = kAhead <= 4 ? 1 : kMaxGroups / 32;
  const KernelArgs& args;
  const int head, column, lane, part;
  const int heads;  // rows of a partial
  float* weights;   // of this warp, in shared memory
  float base = -INFINITY, top = -INFINITY, sum = 0.0f;

  // Partials' log-sum-exps and scales, a lane's share.
  template <int kWeights>
  struct Given {
    float lse[kWeights], scale[kWeights];
  };

  template <int kWeights>
  __device__ __forceinline__ Given<kWeights> given(const Partials& partials) {
    Given<kWeights> all;
#pragma unroll
    for (int i = 0; i < kWeights; ++i) {
      const int p = lane + 32 * i;
      all.lse[i] = -INFINITY;
      all.scale[i] = 0.0f;
      if (p < partials.count) {
        const int slot = partials.slot(p);
        all.lse[i] = args.partial_lse[slot * heads + head];
        all.scale[i] = args.partial_scale[(slot * 2 + column / kHalf) * heads + head];
        top = fmaxf(top, args.partial_max[slot * heads + head]);
      }
    }
    return all;
  }

  template <int kWeights>
  __device__ __forceinline__ void weigh(const Given<kWeights>& all) {
#pragma unroll
    for (int i = 0; i < kWeights; ++i) base = fmaxf(base, all.lse[i]);
    base = warp_max(base);
    top = warp_max(top);
    const float offset = base == -INFINITY ? 0.0f : base;
#pragma unroll
    for (int i = 0; i < kWeights; ++i) {
      const float weight = exp2_approx(all.lse[i] - offset);
      sum += weight;
      weights[lane + 32 * i] = weight * all.scale[i];
    }
    sum = warp_sum(sum);
    __syncwarp();
  }

  // Only the first partial of a token is in the second place of its range.
  __device__ __forceinline__ void load(const Partials& partials, int first,
                                       uint4 (&packed)[kAhead]) const {
    const int row = 2 * heads * kHalf, p = first * kSplit + part;
    const __half* from = args.partial + (column / kHalf * heads + head) * kHalf + column % kHalf +
                         (partials.first + p) * (kPartialSlots * row);
#pragma unroll
    for (int k = 0; k < kAhead; ++k) {
      packed[k] = make_uint4(0, 0, 0, 0);
      const __half* at = k == 0 && p == 0 ? from + row : from;
      if (p + k * kSplit < partials.count) packed[k] = *reinterpret_cast<const uint4*>(at);
      from += kSplit * kPartialSlots * row;
    }
  }

  // Weights past the last partial are 0. With two warps a head nothing is skipped, so that an empty
  // trip fetches all of the code.
  __device__ __forceinline__ void add(int count, int first, const uint4 (&packed)[kAhead],
                                      float (&o)[8]) const {
#pragma unroll
    for (int k = 0; k < kAhead; ++k) {
      const int p = (first + k) * kSplit + part;
      if (kSplit == 1 && p >= count) break;
      const float w = weights[p];
      const uint32_t words[4] = {packed[k].x, packed[k].y, packed[k].z, packed[k].w};
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float2 pair = __half22float2(*reinterpret_cast<const __half2*>(&words[i]));
        o[2 * i] += w * pair.x;
        o[2 * i + 1] += w * pair.y;
      }
    }
  }

  __device__ __forceinline__ void run(const Partials& partials, float (&o)[8]) {
    uint4 packed[kAhead];
    if (kMost == 1 || partials.count <= 32) {
      const Given<1> all = given<1>(partials);
      load(partials, 0, packed);
      weigh(all);
    } else {
      load(partials, 0, packed);
      weigh(given<kMost>(partials));
    }
    add(partials.count, 0, packed, o);
#pragma unroll 1
    for (int first = kAhead; first * kSplit < partials.count; first += kAhead) {
      load(partials, first, packed);
      add(partials.count, first, packed, o);
    }
  }

  __device__ __forceinline__ void write(int token, const float (&o)[8], bool wanted) const {
    const Problem& problem = args.problem;
    const Tensors& tensors = problem.tensors;
    const float sink =
        tensors.sink ? tensors.sink[head * tensors.sink_head] * 1.4426950408889634f : -INFINITY;
    const float offset = base == -INFINITY ? 0.0f : base;
    const float with_sink = sum + exp2_approx(sink - offset);
    const float inverse = sum == 0.0f ? 0.0f : 1.0f / with_sink;
    uint8_t* to = static_cast<uint8_t*>(tensors.out) +
                  token_offset(args, tensors.out_token, token) + head * tensors.out_head +
                  column * 2;
    uint32_t words[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) words[i] = pack_bf16(o[2 * i] * inverse, o[2 * i + 1] * inverse);
    if (args.quads) quad_transpose(words);
    if (!wanted) return;
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
      write_stats(args, token, head, sum, with_sink, base, top);
    }
  }
};

// Grid: x over heads, y over tokens that a boundary may cut, or (by lengths) over boundaries.
// kAhead 4 or 2 is for tokens of at most 32 partials, and best for a few; with 2 all CTAs of a
// large call run at once.
template <int kSplit, int kAhead>
__global__ void __launch_bounds__(kMergeWarps * 32, kAhead == 2 ? 16 : 1)
    merge_kernel(const __grid_constant__ KernelArgs args) {
  using Work = Merge<kSplit, kAhead>;
  __shared__ float weights[kMergeWarps][Work::kMost * 32];
  __shared__ float sums[kSplit == 1 ? 1 : kMergeWarps][32][9];  // 9: no bank conflicts
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int half = (blockIdx.x * kMergeWarps + warp) / kSplit;  // of a head
  int token = args.cuts ? -1 : merge_token(args, blockIdx.y);
  Partials partials{0, 0};
  if (token >= 0) {
    const int start = token * args.plan.blocks;
    partials.first = range_of(args.plan, start);
    partials.count = range_of(args.plan, start + args.plan.blocks - 1) - partials.first + 1;
  }
  const bool valid = half / 2 < args.problem.heads;
  // With many partials a token there are few CTAs, and these wait on multiprocessors of their own:
  // an empty first trip fetches the code meanwhile.
#pragma unroll 1
  for (int trip = kSplit > 1 ? 0 : 1; trip < 2; ++trip) {
    if (trip == 1) {
      cuda::wait_for_prior_launch();
      if (args.cuts) token = merge_token_by_length(args, blockIdx.y, partials);
      if (partials.count < 2) return;
    }
    Work work{args,         half / 2,      half % 2 * kHalf + lane * 8,
              lane,         warp % kSplit, args.plan.head_tiles * 64,
              weights[warp]};
    float o[8] = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
    if (valid) work.run(trip == 0 ? Partials{0, 0} : partials, o);
    if constexpr (kSplit > 1) {
#pragma unroll
      for (int i = 0; i < 8; ++i) sums[warp][lane][i] = o[i];
      __syncthreads();
      if (warp % kSplit == 0) {
#pragma unroll
        for (int k = 1; k < kSplit; ++k) {
#pragma unroll
          for (int i = 0; i < 8; ++i) o[i] += sums[warp + k][lane][i];
        }
      }
      __syncthreads();
    }
    if (valid && warp % kSplit == 0) work.write(token, o, trip == 1);
  }
}

}  // namespace dsakit::sparse
