// Sizes and shared memory of the Hopper attention kernel over fp8 keys (sm90_attention.cuh).
#pragma once

#include "common/cuda/sm90_async.cuh"
#include "common/cuda/sm90_wgmma_fp16.cuh"
#include "common/cuda/sparse_units.cuh"
#include "flashmla_kv/sparse_mla_fp8.hpp"

namespace dsakit::sparse::fp8 {

using namespace dsakit::cuda;

inline constexpr int kWeightTiles = 3;  // blocks whose weights are in shared memory
inline constexpr int kRecords = 4;      // blocks of which the smaller facts are
inline constexpr int kScalesInRow = kLatent;
inline constexpr int kRopeInRow = kLatent + 4 * 4;

// kHeads: heads of a CTA, the columns of its matrix products.
template <bool kRope_, int kHeads_>
struct Shape {
  static constexpr bool kRope = kRope_;
  static constexpr int kHeads = kHeads_;
  static constexpr int kThreads = 384;
  static constexpr int kStages = 3;
  static constexpr int kRow = kRopeInRow + (kRope ? 128 : 0);  // an odd multiple of 16 bytes
  static constexpr int kStage = kBlock * kRow;
  static constexpr int kChunks = kRope ? 9 : 8;  // tiles of 64 dims of Q
  static constexpr int kQTile = kHeads * 128;
  static constexpr int kWeightTile = kBlock * 128;
  static constexpr int kWeightOffset = kChunks * kQTile;
  static constexpr int kRingOffset = kWeightOffset + kWeightTiles * kWeightTile;
  static constexpr int kFactorOffset = kRingOffset + kStages * kStage;  // half [record][4][64]
  static constexpr int kStateOffset = kFactorOffset + kRecords * 512;   // float2 [version & 1][64]
  static constexpr int kLaneOffset = kStateOffset + 2 * 512;            // float [warp][64]
  static constexpr int kResultOffset = kLaneOffset + 8 * 256;           // float [group][64]
  static constexpr int kTopOffset = kResultOffset + 2 * 256;            // float [64]
  static constexpr int kRecordOffset = kTopOffset + 256;                // Record [record]
  static constexpr int kUnitOffset = kRecordOffset + kRecords * 8;      // int [warp]
  static constexpr int kMaskOffset = kUnitOffset + 8 * 4;               // uint32_t [stage][2]
  static constexpr int kWalkOffset = kMaskOffset + 8 * kStages + 8 * (kStages & 1);  // Walk [warp]
  static constexpr int kBarrierOffset =
      kWalkOffset + kThreads / 32 * static_cast<int>(sizeof(Walk));
  static constexpr int kBytes = kBarrierOffset + 8 * (5 * kStages + 5);
  static_assert(kBytes <= 232448 && kBlock == 64 && kRow % 32 == 16);
};

// What a block's owner decided of it.
struct Record {
  int version;  // of the bases
  int unit;     // exponent of the power of two by which its keys are divided
};

template <class S>
struct Shared {
  uint8_t* base;
  __device__ uint8_t* q() const { return base; }
  __device__ uint8_t* stage(uint32_t block) const {
    return base + S::kRingOffset + block % S::kStages * S::kStage;
  }
  // fp16 [key][head].
  __device__ uint8_t* weight(uint32_t block) const {
    return base + S::kWeightOffset + block % kWeightTiles * S::kWeightTile;
  }
  // fp16 [group of 128 columns][key]: the factors of the codes.
  __device__ uint16_t* factors(uint32_t block) const {
    return reinterpret_cast<uint16_t*>(base + S::kFactorOffset) + block % kRecords * 256;
  }
  __device__ Record& record(uint32_t block) const {
    return reinterpret_cast<Record*>(base + S::kRecordOffset)[block % kRecords];
  }
  // For each head what its scores are multiplied by, and the base of its weights.
  __device__ float2* state(int version) const {
    return reinterpret_cast<float2*>(base + S::kStateOffset) + (version & 1) * 64;
  }
  // A warp's sums or maxima of each head.
  __device__ float* of_warp(int warp) const {
    return reinterpret_cast<float*>(base + S::kLaneOffset) + warp * 64;
  }
  // What the results of a warpgroup's columns are multiplied by.
  __device__ float* result(int group) const {
    return reinterpret_cast<float*>(base + S::kResultOffset) + group * 64;
  }
  __device__ float* tops() const { return reinterpret_cast<float*>(base + S::kTopOffset); }
  __device__ int* units() const { return reinterpret_cast<int*>(base + S::kUnitOffset); }
  // Bit n % 32 of word n / 32: whether row n is a key.
  __device__ uint32_t* mask(uint32_t block) const {
    return reinterpret_cast<uint32_t*>(base + S::kMaskOffset) + block % S::kStages * 2;
  }
  __device__ int* room() const { return reinterpret_cast<int*>(weight(0)); }
  __device__ Walk& walk(int warp) const {
    return reinterpret_cast<Walk*>(base + S::kWalkOffset)[warp];
  }
  __device__ uint64_t* barrier(int i) const {
    return reinterpret_cast<uint64_t*>(base + S::kBarrierOffset) + i;
  }
  // A stage fills as a whole and empties by quarters of 16 rows.
  __device__ uint64_t* full(uint32_t block) const {
    return barrier(static_cast<int>(block % S::kStages));
  }
  __device__ uint64_t* empty(uint32_t block, int quarter) const {
    return barrier(S::kStages + static_cast<int>(block % S::kStages) * 4 + quarter);
  }
  __device__ uint64_t* weights(uint32_t block) const {
    return barrier(5 * S::kStages + static_cast<int>(block & 1));
  }
  __device__ uint64_t* q_full() const { return barrier(5 * S::kStages + 2); }
  __device__ uint64_t* q_empty() const { return barrier(5 * S::kStages + 3); }
  __device__ uint64_t* sums() const { return barrier(5 * S::kStages + 4); }
};

// Named barriers, beside kOpened: all consumers; each consumer warpgroup (the next one too); the
// set-up of the barriers in shared memory.
inline constexpr int kConsumers = 1, kGroup = 2, kSetUp = 4;

}  // namespace dsakit::sparse::fp8
