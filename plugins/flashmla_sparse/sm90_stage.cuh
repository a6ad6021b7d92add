// Sizes, shared memory and work units of the Hopper attention kernel (sm90_attention.cuh), and the
// arguments that it shares with the merge kernel.
#pragma once

#include <cuda_fp16.h>

#include "common/cuda/sm90_async.cuh"
#include "common/cuda/sm90_wgmma.cuh"
#include "flashmla_sparse/sparse_mla.hpp"

namespace dsakit::sparse {

using namespace dsakit::cuda;

// Division by a number that the host knows, exact below 2^31.
struct Divisor {
  uint64_t magic = 0;
  uint32_t shift = 0;
  __device__ __forceinline__ uint32_t quotient(uint32_t x) const {
    return static_cast<uint32_t>((x * magic) >> 32) >> shift;
  }
};

// What both kernels get, by value.
struct KernelArgs {
  Problem problem;
  Plan plan;
  Divisor page_size, blocks, tokens_inner;
  bool out_aligned = false;        // every row of out starts at a multiple of 16 bytes
  __half* partial = nullptr;       // [slot][half][head][256]
  float* partial_lse = nullptr;    // [slot][head], log2; -inf for no key
  float* partial_max = nullptr;    // [slot][head], log2
  float* partial_scale = nullptr;  // [slot][half][head]
};

template <bool kRope_>
struct Shape {
  static constexpr bool kRope = kRope_;
  static constexpr int kThreads = 384;
  static constexpr int kTile = kBlock * 128;     // 64 dims of a block, or its weights
  static constexpr int kChunks = kRope ? 9 : 8;  // tiles of a row
  static constexpr int kStage = 9 * kTile;       // the last one holds the weights
  static constexpr int kQ = kChunks * kTile;     // 64 heads
  static constexpr int kRingOffset = kQ;
  static constexpr int kBaseOffset = kRingOffset + kStages * kStage;  // float [stage][64]
  static constexpr int kSumOffset = kBaseOffset + kStages * 256;  // float2 [unit & 1][group][64]
  static constexpr int kMaskOffset = kSumOffset + 4 * 512;
  static constexpr int kBarrierOffset = kMaskOffset + 16 * kStages;
  static constexpr int kBytes = kBarrierOffset + 8 * (11 * kStages + 3);
  static_assert(kBytes <= 232448 && kBlock == 64 && kStages == 2);
};

template <class S>
struct Shared {
  uint8_t* base;
  __device__ uint8_t* q() const { return base; }
  __device__ uint8_t* stage(int i) const { return base + S::kRingOffset + i * S::kStage; }
  __device__ float* row_base(int stage) const {
    return reinterpret_cast<float*>(base + S::kBaseOffset) + stage * 64;
  }
  __device__ float2* sums(uint32_t unit, int group) const {
    return reinterpret_cast<float2*>(base + S::kSumOffset) + ((unit & 1) * 2 + group) * 64;
  }
  __device__ uint8_t* mask(int stage) const { return base + S::kMaskOffset + 16 * stage; }
  __device__ uint64_t* barrier(int i) const {
    return reinterpret_cast<uint64_t*>(base + S::kBarrierOffset) + i;
  }
  // A half of a stage has the tiles of one warpgroup's columns; `own` is the half of the group that
  // owns the stage. It fills as a whole and empties by quarters of 16 rows.
  __device__ uint64_t* full(int stage, bool own) const { return barrier(2 * stage + own); }
  __device__ uint64_t* empty(int stage, bool own, int quarter) const {
    return barrier(2 * kStages + (2 * stage + own) * 4 + quarter);
  }
  __device__ uint64_t* weights(int stage) const { return barrier(10 * kStages + stage); }
  __device__ uint64_t* q_full() const { return barrier(11 * kStages); }
  __device__ uint64_t* q_empty() const { return barrier(11 * kStages + 1); }
  __device__ uint64_t* summed() const { return barrier(11 * kStages + 2); }
};

__device__ __forceinline__ int64_t token_offset(const KernelArgs& args, const TokenAxis& axis,
                                                int token) {
  const int outer = static_cast<int>(args.tokens_inner.quotient(static_cast<uint32_t>(token)));
  return outer * axis.outer + (token - outer * args.problem.tensors.tokens_inner) * axis.inner;
}

// The named barrier at which warp 0 tells the producers that the barriers in shared memory are set
// up; the consumers meet for that at their own. Both start what they can before it.
inline constexpr int kSetUp = 4;

// This CTA's tile of heads and its range, anew at each call.
__device__ __forceinline__ int cta() {
  int x;
  asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(x));
  return x;
}
__device__ __forceinline__ int tile_of(const KernelArgs& args) {
  return cta() & (args.plan.head_tiles - 1);
}
__device__ __forceinline__ int range_of(const KernelArgs& args) {
  return cta() >> (args.plan.head_tiles - 1);
}

// Range g's share of a token. Cheap to compute from the token, so that nobody keeps it in
// registers.
struct Share {
  int first, last;  // blocks first ... last - 1
  bool whole;       // all of the token's
  int64_t slot;     // else: where the partial goes
};

__device__ __forceinline__ int first_token(const KernelArgs& args, int g) {
  return static_cast<int>(args.blocks.quotient(static_cast<uint32_t>(range_start(args.plan, g))));
}

// Of a token at or after the range's first one; last is no more than first past the range's end.
__device__ __forceinline__ Share share_of(const KernelArgs& args, int g, int token) {
  const int blocks = args.plan.blocks, line = token * blocks;
  Share share;
  share.first = max(range_start(args.plan, g) - line, 0);
  share.last = min(range_start(args.plan, g + 1) - line, blocks);
  share.whole = share.first == 0 && share.last == blocks;
  share.slot = int64_t{g} * kPartialSlots + (share.first == 0 ? 1 : 0);
  return share;
}

// Entries of a token before its topk_length.
__device__ __forceinline__ int keys_of(const KernelArgs& args, int token) {
  const Tensors& tensors = args.problem.tensors;
  const int topk = args.problem.topk;
  if (!tensors.length) return topk;
  const int length = tensors.length[token / tensors.tokens_per_length * tensors.length_stride];
  return min(max(length, 0), topk);
}

// Blocks of a share that hold keys to look at.
__device__ __forceinline__ int count_of(const Share& share, int keys) {
  return max(0, min(share.last, (keys + kBlock - 1) / kBlock) - share.first);
}

}  // namespace dsakit::sparse
