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
  static constexpr int kFirstOffset = kMaskOffset + 16 * kStages;  // int [group][turn & 1]
  static constexpr int kBarrierOffset = kFirstOffset + 16;
  static constexpr int kBytes = kBarrierOffset + 8 * (11 * kStages + 2);
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
  __device__ volatile int* first(int group, uint32_t turn) const {
    return reinterpret_cast<int*>(base + S::kFirstOffset) + group * 2 + (turn & 1);
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
};

__device__ __forceinline__ int64_t token_offset(const KernelArgs& args, const TokenAxis& axis,
                                                int token) {
  const int outer = static_cast<int>(args.tokens_inner.quotient(static_cast<uint32_t>(token)));
  return outer * axis.outer + (token - outer * args.problem.tensors.tokens_inner) * axis.inner;
}

// The named barrier at which warp 0 tells the producers that the barriers in shared memory are set
// up; the consumers meet for that at their own. Both start what they can before it.
inline constexpr int kSetUp = 4;

// One token's share of a range.
struct Unit {
  int token;
  int first;   // block
  int count;   // blocks that hold keys to look at
  int keys;    // of the whole token: entries before its topk_length
  bool whole;  // the range covers the token
  int slot;    // else: where the partial goes
};

// Walks the units of range g.
struct UnitWalk {
  int at, end;
  __device__ UnitWalk(const KernelArgs& args, int group)
      : at(range_start(args.plan, group)), end(range_start(args.plan, group + 1)) {}
  __device__ bool next(const KernelArgs& args, int group, Unit& unit) {
    if (at >= end) return false;
    const int blocks = args.plan.blocks;
    unit.token = static_cast<int>(args.blocks.quotient(static_cast<uint32_t>(at)));
    unit.first = at - unit.token * blocks;
    const int last = min(unit.first + end - at, blocks);
    at += last - unit.first;
    unit.whole = unit.first == 0 && last == blocks;
    unit.slot = group * kPartialSlots + (unit.first == 0 ? 1 : 0);
    const Tensors& tensors = args.problem.tensors;
    int keys = args.problem.topk;
    if (tensors.length) {
      keys = min(
          max(tensors.length[unit.token / tensors.tokens_per_length * tensors.length_stride], 0),
          keys);
    }
    unit.keys = keys;
    unit.count = max(0, min(last, (keys + kBlock - 1) / kBlock) - unit.first);
    return true;
  }
};

}  // namespace dsakit::sparse
