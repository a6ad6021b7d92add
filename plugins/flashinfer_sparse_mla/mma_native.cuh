// The attention kernel for `compute` fp8: e4m3 matrix instructions over the codes of fp8 caches as
// they are.
//
// As mma_attention.cuh but for what multiplies. Rows lie in shared memory as in the pool. A group
// of 128 columns of a head's query is a scale times the sum of two e4m3 codes, and so is a weight
// times the group's scale of its key; so each product is of codes alone, twice, and scales act on
// sums in fp32. Sums of two codes keep about eight bits, where one keeps four. Rope stays bf16.
//
// The weights' scale, the unit, is one for each head and group: a change of the softmax's base is
// a change of the unit, and outputs are rescaled only where a weight would exceed it. Invariants
// and threads are those of mma_attention.cuh.
#pragma once

#include "common/cuda/fp8_mma.cuh"
#include "flashinfer_sparse_mla/mma_attention.cuh"

namespace dsakit::sparse::mma {

template <int kTiles_>  // of 16 heads
struct NativeShape {
  static constexpr bool kFp8 = true, kFooter = false, kRest = true;
  static constexpr int kTiles = kTiles_;
  static constexpr int kHeads = 16 * kTiles;
  static constexpr int kKeyPitch = kLatent + 128 + 16;  // codes, rope
  static constexpr int kSlotPitch = kStep + 16;         // weights of a head: bytes
  static constexpr int kKeyOffset = kHeads * kPitch;    // of queries: codes, their rests, rope
  static constexpr int kScoreOffset = kKeyOffset + kStep * kKeyPitch;
  static constexpr int kScoreBytes = kGroups * kHeads * kScorePitch * 4;
  static constexpr int kScaleOffset = kScoreOffset + kScoreBytes;            // float [step][4]
  static constexpr int kQueryScaleOffset = kScaleOffset + kStep * 16;        // float [head][4]
  static constexpr int kFactorOffset = kQueryScaleOffset + kHeads * 16;      // float [4][head]
  static constexpr int kValidOffset = kFactorOffset + kGroups * kHeads * 4;  // uint8_t [step]
  static constexpr int kWeightOffset = kScoreOffset;
  static constexpr int kBytes = kValidOffset + kStep;
  static_assert(kGroups * 2 * kHeads * kSlotPitch <= kScoreBytes && kBytes <= 99 * 1024);
};

template <class S>
struct NativeCta : Cta<S, NativeCta<S>> {
  using Base = Cta<S, NativeCta<S>>;
  using Base::args, Base::lane, Base::part, Base::row, Base::smem, Base::warp;
  using Base::factors, Base::head_max, Base::scales;
  using Base::kHeadThreads, Base::kKeys, Base::kRowThreads, Base::kScoreTiles;
  using typename Base::Pair;
  static constexpr float kMostWeight = 256.0f;  // a weight of one unit
  static constexpr float kLeast = 0x1p-100f;    // unit, and magnitude of a query's group

  float unit[kGroups];  // of head threadIdx.x / kHeadThreads

  __device__ NativeCta(const Args& a, uint8_t* s) : Base(a, s) {}

  __device__ __forceinline__ void begin() {
    Base::begin();
#pragma unroll
    for (float& u : unit) u = kLeast;
  }

  __device__ float* query_scales() const {
    return reinterpret_cast<float*>(smem + S::kQueryScaleOffset);
  }

  __device__ __forceinline__ void fetch(int entry, int step) const {
    const bool is_key = static_cast<uint32_t>(entry) < this->tensors_at(step).slots;
    const uint8_t* const from = this->row_bytes(is_key ? entry : 0, step) + part * 16;
    const uint32_t to = shared_address(smem) + S::kKeyOffset + row * S::kKeyPitch + part * 16;
#pragma unroll
    for (int i = 0; i < kLatent / 16; i += kRowThreads)
      copy_chunk(to + i * 16, from + i * 16, is_key);
    if (args.call.problem.rope) copy_chunk(to + kLatent, from + Base::kRopeAt, is_key);
    if (part == 0) this->valid()[row] = is_key;
    if (part < kGroups)
      copy_word(shared_address(scales() + row * kGroups + part), from + kLatent - part * 12,
                is_key);
  }

  // Stores a token's queries as codes.
  __device__ __forceinline__ void fetch_q(int token) const {
    const Tensors& tensors = args.call.problem.tensors;
    const int head = static_cast<int>(threadIdx.x) / kHeadThreads;
    const int number = this->first_head() + head;
    const int first = static_cast<int>(threadIdx.x) % kHeadThreads;
    const bool there = number < args.call.problem.heads;
    const uint8_t* const from = static_cast<const uint8_t*>(tensors.q) +
                                token_offset(args.call, tensors.q_token, token) +
                                (there ? number : 0) * tensors.q_head;
    uint8_t* const to = smem + head * kPitch;
    constexpr int kChunks = 16 / kHeadThreads > 0 ? 16 / kHeadThreads : 1;  // of a group, a thread
#pragma unroll 1
    for (int group = 0; group < kGroups; ++group) {
      uint4 chunks[kChunks];
      float top = 0.0f;
#pragma unroll
      for (int i = 0; i < kChunks; ++i) {
        chunks[i] = load_row(from + (group * 16 + i * kHeadThreads + first) * 16, there);
        const uint32_t* const pairs = &chunks[i].x;
#pragma unroll
        for (int j = 0; j < 4; ++j)
          top = fmaxf(top, fmaxf(fabsf(low_of(pairs[j])), fabsf(high_of(pairs[j]))));
      }
      top = fmaxf(head_max(top), kLeast);
      const float to_codes = kMostE4m3 / top;
      if (first == 0) query_scales()[head * kGroups + group] = top / kMostE4m3;
#pragma unroll
      for (int i = 0; i < kChunks; ++i) {
        const uint32_t* const pairs = &chunks[i].x;
        uint16_t codes[4], rest[4];
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const TwoCodes two = two_codes(low_of(pairs[j]) * to_codes, high_of(pairs[j]) * to_codes);
          codes[j] = two.codes;
          rest[j] = two.rest;
        }
        uint8_t* const place = to + (group * 16 + i * kHeadThreads + first) * 8;
        *reinterpret_cast<uint2*>(place) = joined(codes);
        *reinterpret_cast<uint2*>(place + kLatent) = joined(rest);
      }
    }
    if (!args.call.problem.rope) return;
    for (int at = first; at < 8; at += kHeadThreads)
      copy_chunk(shared_address(to) + kLatent * 2 + at * 16, from + kLatent * 2 + at * 16, there);
  }
  __device__ __forceinline__ static float low_of(uint32_t pair) {
    return __uint_as_float(pair << 16);
  }
  __device__ __forceinline__ static float high_of(uint32_t pair) {
    return __uint_as_float(pair & 0xFFFF0000u);
  }
  __device__ __forceinline__ static uint2 joined(const uint16_t (&x)[4]) {
    return make_uint2(x[0] | static_cast<uint32_t>(x[1]) << 16, x[2] | static_cast<uint32_t>(x[3])
                                                                           << 16);
  }

  __device__ __forceinline__ void compute_scores() const {
    const int group = warp % 4, head = this->score_head();
    const auto of_codes = [](float(&d)[4], const uint32_t(&a)[4], uint32_t b0, uint32_t b1) {
      multiply_codes(d, a, b0, b1);
    };
    float s[kScoreTiles][4] = {};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int at = group * 128 + i * 32;
      this->add_products(s, at, at, of_codes);
      this->add_products(s, kLatent + at, at, of_codes);
    }
    this->apply_scales(s, query_scales()[head * kGroups + group],
                       query_scales()[(head + 8) * kGroups + group]);
    if (args.call.problem.rope)
      this->add_products(s, kLatent * 2 + group * 32, kLatent + group * 32);
    this->store_scores(s);
  }

  // Where a key's weight is among those of a head: keys 2q, 2q + 1, 2q + 8 and 2q + 9 of each
  // sixteen are neighbours, as add_values() finds their codes.
  __device__ __forceinline__ static int slot_of(int key) {
    return key / 16 * 16 + key % 8 / 2 * 4 + key / 8 % 2 * 2 + key % 2;
  }

  // Stores weights as codes for each group, in units of the head and group.
  __device__ __forceinline__ void store_weights(const float (&w)[kKeys], float factor) {
    const int head = static_cast<int>(threadIdx.x) / kHeadThreads;
    const int key = static_cast<int>(threadIdx.x) % kHeadThreads * kKeys;
    constexpr int kCopy = S::kHeads * S::kSlotPitch;
    uint8_t* const to = smem + S::kWeightOffset + head * S::kSlotPitch;
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
      float x[kKeys], top = 0.0f;
#pragma unroll
      for (int i = 0; i < kKeys; ++i) {
        x[i] = w[i] * scales()[(key + i) * kGroups + g];
        top = fmaxf(top, fabsf(x[i]));
      }
      const float before = unit[g] * factor;
      unit[g] = fmaxf(fmaxf(before, head_max(top)), kLeast);
      if (key == 0) factors()[g * S::kHeads + head] = before / unit[g];
      const float to_codes = kMostWeight / unit[g];
#pragma unroll
      for (int i = 0; i < kKeys; i += 2) {
        const TwoCodes two = two_codes(x[i] * to_codes, x[i + 1] * to_codes);
        uint8_t* const place = to + g * 2 * kCopy + slot_of(key + i);
        *reinterpret_cast<uint16_t*>(place) = two.codes;
        *reinterpret_cast<uint16_t*>(place + kCopy) = two.rest;
      }
    }
  }

  __device__ __forceinline__ float factor_of(int row_of_tile) const {
    return factors()[warp / 2 * S::kHeads + row_of_tile];
  }
  __device__ __forceinline__ void set_factor(int row_of_tile, float factor) const {
#pragma unroll
    for (int g = 0; g < kGroups; ++g)
      factors()[g * S::kHeads + row_of_tile] = factor * unit[g] * (1.0f / kMostWeight);
  }

  // O += P * V for this warp's 64 columns: of sixteen, the even ones are one operand, the odd ones
  // the next.
  __device__ __forceinline__ void add_values(float (&o)[S::kTiles][8][4]) const {
    constexpr int kCopy = S::kHeads * S::kSlotPitch;
    const uint32_t weights = shared_address(smem) + S::kWeightOffset + warp / 2 * 2 * kCopy +
                             (lane & 15) * S::kSlotPitch + (lane >> 4) * 16;
    const uint32_t values = shared_address(smem) + S::kKeyOffset + lane * S::kKeyPitch + warp * 64;
    uint32_t codes[S::kTiles][4], rest[S::kTiles][4];
#pragma unroll
    for (int t = 0; t < S::kTiles; ++t) {
      load_matrices(codes[t], weights + t * 16 * S::kSlotPitch);
      load_matrices(rest[t], weights + t * 16 * S::kSlotPitch + kCopy);
    }
#pragma unroll
    for (int n = 0; n < 8; n += 2) {
      uint32_t v[4];
      load_transposed(v, values + n * 8);
      const uint32_t even[2] = {__byte_perm(v[0], v[1], 0x6420), __byte_perm(v[2], v[3], 0x6420)};
      const uint32_t odd[2] = {__byte_perm(v[0], v[1], 0x7531), __byte_perm(v[2], v[3], 0x7531)};
#pragma unroll
      for (int t = 0; t < S::kTiles; ++t) {
        multiply_codes(o[t][n], codes[t], even[0], even[1]);
        multiply_codes(o[t][n + 1], codes[t], odd[0], odd[1]);
        multiply_codes(o[t][n], rest[t], even[0], even[1]);
        multiply_codes(o[t][n + 1], rest[t], odd[0], odd[1]);
      }
    }
  }
  __device__ __forceinline__ Pair pair_of(const float (&o)[8][4], int n, int r) const {
    return {n / 2 * 16 + (lane & 3) * 4 + n % 2 * 2, o[n / 2 * 2][2 * r + n % 2],
            o[n / 2 * 2 + 1][2 * r + n % 2]};
  }
};

}  // namespace dsakit::sparse::mma
