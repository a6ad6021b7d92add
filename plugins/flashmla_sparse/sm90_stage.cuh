// Sizes and shared memory of the Hopper attention kernel (sm90_attention.cuh).
#pragma once

#include "common/cuda/sm90_async.cuh"
#include "common/cuda/sm90_wgmma.cuh"
#include "common/cuda/sparse_units.cuh"
#include "flashmla_sparse/sparse_mla.hpp"

namespace dsakit::sparse {

using namespace dsakit::cuda;

// What the host knows of all ranges. Code is fetched cold, so that short ranges have a kernel of
// their own: at most two blocks of a longer token each. Long ones fetch code ahead of its use.
// kByLength: ranges are cut by the lengths.
enum class Kind { kShort, kAny, kLong, kByLength };

template <bool kRope_>
struct Shape {
  static constexpr bool kRope = kRope_;
  static constexpr int kThreads = 384;
  static constexpr int kTile = kBlock * 128;     // 64 dims of a block
  static constexpr int kChunks = kRope ? 9 : 8;  // tiles of a row
  static constexpr int kStage = 9 * kTile;
  static constexpr int kQ = kChunks * kTile;  // 64 heads
  static constexpr int kRingOffset = kQ;
  static constexpr int kWeightOffset = kRingOffset + kStages * kStage;
  static constexpr int kBaseOffset = kWeightOffset + kTile;       // float [stage][64]
  static constexpr int kSumOffset = kBaseOffset + kStages * 256;  // float2 [unit & 1][group][64]
  static constexpr int kMaskOffset = kSumOffset + 4 * 512;
  static constexpr int kBarrierOffset = kMaskOffset + 16 * kStages;
  static constexpr int kWalkOffset = kBarrierOffset + 8 * (12 * kStages + 4);  // Walk [warp]
  static constexpr int kBytes = kWalkOffset + kThreads / 32 * static_cast<int>(sizeof(Walk));
  static_assert(kBytes <= 232448 && kBlock == 64 && kStages == 2);
};

template <class S>
struct Shared {
  uint8_t* base;
  __device__ uint8_t* q() const { return base; }
  __device__ uint8_t* stage(int i) const { return base + S::kRingOffset + i * S::kStage; }
  __device__ uint8_t* weight() const { return base + S::kWeightOffset; }
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
  __device__ int* room() const { return reinterpret_cast<int*>(stage(0)); }
  __device__ Walk& walk(int warp) const {
    return reinterpret_cast<Walk*>(base + S::kWalkOffset)[warp];
  }
  // A half of a stage has the tiles of one warpgroup's columns; `own` is the half of the group that
  // owns the stage. It fills as a whole and empties by quarters of 16 rows.
  __device__ uint64_t* full(int stage, bool own) const { return barrier(2 * stage + own); }
  __device__ uint64_t* empty(int stage, bool own, int quarter) const {
    return barrier(2 * kStages + (2 * stage + own) * 4 + quarter);
  }
  __device__ uint64_t* weights(int stage) const { return barrier(10 * kStages + stage); }
  __device__ uint64_t* rope_empty(int stage) const { return barrier(11 * kStages + stage); }
  __device__ uint64_t* q_full() const { return barrier(12 * kStages); }
  __device__ uint64_t* q_empty() const { return barrier(12 * kStages + 1); }
  __device__ uint64_t* first_q() const { return barrier(12 * kStages + 3); }
  __device__ uint64_t* summed() const { return barrier(12 * kStages + 2); }
};

// Blocks of a unit that a share makes. Where bits must not depend on the call, one without keys is
// added to an odd number: then every unit starts with the same warpgroup, and each adds up its
// scores in an order of its own.
__device__ __forceinline__ int unit_blocks(const KernelArgs& args, const Share& share, int keys) {
  const int count = count_of(share, keys);
  return args.plan.fixed ? count + (count & 1) : count;
}

// The named barrier at which warp 0 tells the producers that the barriers in shared memory are set
// up; the consumers meet for that at their own. Both start what they can before it.
inline constexpr int kSetUp = 4;

}  // namespace dsakit::sparse
