// Sizes and shared memory of the Hopper attention kernel over fp8 keys (sm90_attention.cuh).
#pragma once

#include "common/cuda/sm90_async.cuh"
#include "common/cuda/sm90_wgmma_fp16.cuh"
#include "common/cuda/sparse_work.cuh"
#include "flashmla_kv/sparse_mla_fp8.hpp"

namespace dsakit::sparse::fp8 {

using namespace dsakit::cuda;

inline constexpr int kStages = 2;       // blocks of latent columns in shared memory
inline constexpr int kRopeTiles = 3;    // tiles of rope columns, later of weights
inline constexpr int kProducers = 256;  // threads
inline constexpr int kProducerWarps = kProducers / 32;

template <bool kRope_>
struct Shape {
  static constexpr bool kRope = kRope_;
  static constexpr int kThreads = 256 + kProducers;
  static constexpr int kTile = kBlock * 128;     // 64 dims of a block, or its weights
  static constexpr int kChunks = kRope ? 9 : 8;  // tiles of a row
  static constexpr int kStage = 8 * kTile;
  static constexpr int kQ = kChunks * kTile;  // 64 heads
  static constexpr int kRingOffset = kQ;
  static constexpr int kRopeOffset = kRingOffset + kStages * kStage;
  static constexpr int kBaseOffset = kRopeOffset + kRopeTiles * kTile;  // float [stage][64]
  static constexpr int kSumOffset = kBaseOffset + kStages * 256;  // float2 [unit & 1][group][64]
  static constexpr int kQScaleOffset = kSumOffset + 4 * 512;      // uint8_t [64]
  static constexpr int kMaskOffset = kQScaleOffset + 64;          // uint8_t [stage][32]
  static constexpr int kUnitOffset = kMaskOffset + 32 * kStages;  // int8_t [4][8]
  static constexpr int kBarrierOffset = kUnitOffset + 4 * kProducerWarps;
  static constexpr int kBytes = kBarrierOffset + 8 * (11 * kStages + 3);
  static_assert(kBytes <= 232448 && kBlock == 64 && kStages == 2 && kProducerWarps == 8);
};

template <class S>
struct Shared {
  uint8_t* base;
  __device__ uint8_t* q() const { return base; }
  __device__ uint8_t* stage(int i) const { return base + S::kRingOffset + i * S::kStage; }
  // The rope columns of a block and then its weights.
  __device__ uint8_t* rope(uint32_t block) const {
    return base + S::kRopeOffset + block % kRopeTiles * S::kTile;
  }
  __device__ float* row_base(int stage) const {
    return reinterpret_cast<float*>(base + S::kBaseOffset) + stage * 64;
  }
  __device__ float2* sums(uint32_t unit, int group) const {
    return reinterpret_cast<float2*>(base + S::kSumOffset) + ((unit & 1) * 2 + group) * 64;
  }
  // Biased exponents of the powers of two by which the heads' queries were divided.
  __device__ uint8_t* q_scale() const { return base + S::kQScaleOffset; }
  // Byte n: which of rows 2n and 2n + 1 are keys.
  __device__ uint8_t* mask(int stage) const { return base + S::kMaskOffset + 32 * stage; }
  // Exponents of the powers of two by which the producer warps have divided their latent columns of
  // a block; warp w has rows 4w ... 4w + 3 and those 32 further. There are places for four blocks,
  // so that nobody waits for one.
  __device__ int8_t* units(uint32_t block) const {
    return reinterpret_cast<int8_t*>(base + S::kUnitOffset) + block % 4 * kProducerWarps;
  }
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

// The named barrier at which warp 0 tells the producers that the barriers in shared memory are set
// up; the consumers meet for that at their own. Both start what they can before it.
inline constexpr int kSetUp = 4;

}  // namespace dsakit::sparse::fp8
