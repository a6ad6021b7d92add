// The attention kernel over fp8 keys for Hopper (sm_90a): 64 heads of a token against its keys.
//
// Contents: 1 scores and softmax · 2 results · 3 the consumer's loop · 4 kernel. Sizes and shared
// memory are in sm90_stage.cuh, the producer in sm90_producer.cuh, work units in sparse_work.cuh.
//
// A CTA has one tile of 64 heads and one range of the line of blocks (sparse_plan.hpp); with two
// head tiles, neighbouring CTAs have the same range, so that L2 serves the second read of a row.
// Warps 8-15 gather and dequantise 64 rows a block into one of two stages; the rows of invalid keys
// are zero there. Warps 0-3 and 4-7 are two consumer warpgroups. Each computes the scores of every
// other block, those in its own stage, and shares the weights through the block's rope tile, which
// nobody needs by then; each accumulates its own half of the 512 output columns over all blocks. So
// one warpgroup's softmax runs under the other's matrix products.
//
// Numbers: latent columns, their queries and the weights are fp16, rope columns bf16, sums fp32.
// Queries are divided by a power of two for each head, so that no query leaves fp16's range, latent
// columns by one for every eight rows of a block (their unit); both are multiplied back in fp32.
//
// Invariants: blocks are numbered through a CTA's life; block g is in stage g & 1 and rope tile
// g % 3, its scores are warpgroup g & 1's, and the n-th use of a barrier has parity n & 1. Both
// warpgroups take blocks in order and keep the same base for each row: the owner of a block
// publishes the base with the weights. Nothing depends on a score beyond its own weight.
#pragma once

#include <cuda_bf16.h>

#include "common/cuda/sparse_softmax.cuh"
#include "flashmla_kv/sm90_producer.cuh"

namespace dsakit::sparse::fp8 {

// ---- 1 scores and softmax ----

// What the host knows of all ranges. Code is fetched cold, so that short ranges have a kernel of
// their own: at most two blocks of a longer token each. Long ones fetch code ahead of its use.
enum class Kind { kShort, kAny, kLong };

// One consumer warpgroup of a CTA.
template <class S, Kind kKind>
struct Consumer {
  static constexpr int kScoreRegs = kBlock / 2;
  static constexpr uint32_t kWarming = ~0u;
  static constexpr bool kWarm = kKind == Kind::kLong;
  const KernelArgs& args;
  const Shared<S> shared;
  const int group;       // 0 or 1: also its stage, and its half of the columns
  const int warp, lane;  // of the warpgroup; of the warp
  uint32_t step = 0;     // blocks before the current unit; kWarming: nothing is to be written
  uint32_t units = 0;    // units with blocks so far
  int unit = 0;          // exponent of the power of two by which the output so far is divided
  RowState rows[2];      // warp * 16 + lane / 4, and eight below

  __device__ Consumer(const KernelArgs& a, Shared<S> s)
      : args(a),
        shared(s),
        group(static_cast<int>(uniform(threadIdx.x >> 7))),
        warp((threadIdx.x >> 5) & 3),
        lane(threadIdx.x & 31) {}

  // Starts scores = Q * K^T of a block of this group with the group's own half of the tiles.
  __device__ __forceinline__ void start_scores(float (&s)[kScoreRegs], uint32_t block) const {
    // Addresses through one lane: then the compiler knows that they are uniform, and the
    // descriptors of the steps cost one scalar addition each.
    const uint32_t q = uniform(smem_address(shared.q()));
    const uint32_t k = uniform(smem_address(shared.stage(group)));
    const uint32_t own = uniform(group * 4 * S::kTile);
    wait(shared.full(group, true), (block / kStages) & 1);
    ptx::fence_proxy_async(ptx::space_shared);
    wgmma_fence();
    multiply_tiles<4, true>(s, q + own, k + own);
    wgmma_commit();
  }

  // The same with the other half and the rope tile.
  __device__ __forceinline__ void add_scores(float (&s)[kScoreRegs], uint32_t block) const {
    const uint32_t q = uniform(smem_address(shared.q()));
    const uint32_t k = uniform(smem_address(shared.stage(group)));
    const uint32_t other = uniform((4 - group * 4) * S::kTile);
    wait(shared.full(group, false), (block / kStages) & 1);
    ptx::fence_proxy_async(ptx::space_shared);
    wgmma_fence();
    multiply_tiles<4, false>(s, q + other, k + other);
    if constexpr (S::kRope) {
      const uint32_t rope = uniform(smem_address(shared.rope(block)));
      multiply_tiles<1, false, Operand::kBf16>(s, q + 8 * S::kTile, rope);
    }
    wgmma_commit();
  }

  template <int kTiles, bool kStart, Operand kType = Operand::kFp16>
  __device__ __forceinline__ static void multiply_tiles(float (&s)[kScoreRegs], uint32_t q,
                                                        uint32_t k) {
    const uint64_t a = wgmma_descriptor(q, 16, 1024, Swizzle::k128);
    const uint64_t b = wgmma_descriptor(k, 16, 1024, Swizzle::k128);
#pragma unroll
    for (int i = 0; i < kTiles * 4; ++i) {
      const int at = i / 4 * (S::kTile >> 4) + 2 * (i % 4);
      if (kStart && i == 0) {
        wgmma_ss_start<kType>(s, a, b);
      } else {
        wgmma_ss<kType>(s, a + at, b + at);
      }
    }
  }

  // Descriptor of this group's 256 columns of V in a stage.
  __device__ __forceinline__ uint64_t values(int stage) const {
    const uint32_t at = smem_address(shared.stage(stage)) + group * 4 * S::kTile;
    return wgmma_descriptor(uniform(at), S::kTile, 1024, Swizzle::k128);
  }

  // Starts O += P * V with the weights of this group's block, from registers; a commit group for
  // each 16 rows.
  __device__ __forceinline__ void start_own(float (&o)[128],
                                            const uint32_t (&p)[kScoreRegs / 2]) const {
    const uint64_t v = values(group);
    wgmma_fence();
#pragma unroll
    for (int i = 0; i < kBlock / 16; ++i) {
      const uint32_t a[4] = {p[4 * i], p[4 * i + 1], p[4 * i + 2], p[4 * i + 3]};
      wgmma_rs_fp16<0>(o, a, v + i * (2048 >> 4));
      wgmma_rs_fp16<64>(o, a, v + (2 * S::kTile + i * 2048) / 16);
      wgmma_commit();
    }
  }

  // The same with the other group's block, whose weights are in its stage.
  __device__ __forceinline__ void start_other(float (&o)[128], uint32_t block) const {
    const uint64_t v = values(group ^ 1);
    const uint64_t p =
        wgmma_descriptor(uniform(smem_address(shared.rope(block))), 16, 1024, Swizzle::k128);
    wgmma_fence();
#pragma unroll
    for (int i = 0; i < kBlock / 16; ++i) {
      wgmma_ss_tn_fp16<0>(o, p + 2 * i, v + i * (2048 >> 4));
      wgmma_ss_tn_fp16<64>(o, p + 2 * i, v + (2 * S::kTile + i * 2048) / 16);
      wgmma_commit();
    }
  }

  // Units of a block's rows, as bytes in the order of the producer warps.
  __device__ __forceinline__ uint2 units_of(uint32_t block) const {
    return *reinterpret_cast<const uint2*>(shared.units(block));
  }
  // Takes over the largest unit of a block; the factor by which older output changes.
  __device__ __forceinline__ float change_unit(const uint2& units) {
    int to = 0;
    if (units.x | units.y) {
      uint32_t most = __vmaxs4(units.x, units.y);
      most = __vmaxs4(most, most >> 16);
      to = static_cast<int8_t>(__vmaxs4(most, most >> 8) & 255);
    }
    const float factor = exp2_approx(static_cast<float>(unit - to));
    unit = to;
    return factor;
  }
  // Unit of this thread's columns 8j ... 8j + 7 of the scores.
  __device__ __forceinline__ int column_unit(const uint2& units, int j) const {
    const int of_warp = (2 * j + ((lane >> 1) & 1)) & 7;
    return static_cast<int8_t>(((of_warp & 4) ? units.y : units.x) >> (8 * (of_warp & 3)));
  }
  // Multiplies the columns of scores by their units.
  __device__ __forceinline__ void scale_scores(float (&s)[kScoreRegs], const uint2& units) const {
    wgmma_wait<0>();  // see mask
#pragma unroll
    for (int j = 0; j < kBlock / 8; ++j) {
      const float factor = exp2_approx(static_cast<float>(column_unit(units, j)));
#pragma unroll
      for (int i = 0; i < 4; ++i) s[4 * j + i] *= factor;
    }
  }
  // Brings the columns of weights to the block's largest unit.
  __device__ __forceinline__ void scale_weights(uint32_t (&p)[kScoreRegs / 2],
                                                const uint2& units) const {
#pragma unroll
    for (int j = 0; j < kBlock / 8; ++j) {
      const uint32_t factor =
          pair_of(exp2_approx(static_cast<float>(column_unit(units, j) - unit)));
      p[2 * j] = times(p[2 * j], factor);
      p[2 * j + 1] = times(p[2 * j + 1], factor);
    }
  }
  __device__ __forceinline__ static uint32_t pair_of(float x) {
    const __half2 pair = __float2half2_rn(x);
    return *reinterpret_cast<const uint32_t*>(&pair);
  }

  // Scores to weights in place; factors by which the rows' older output shrinks. Several chains,
  // because one warp a scheduler has nothing else to do meanwhile.
  __device__ __forceinline__ void softmax(float (&s)[kScoreRegs], uint32_t block,
                                          float (&factor)[2]) {
    const uint8_t* exponents = shared.q_scale() + warp * 16 + (lane >> 2);
    const uint2 units = units_of(block);
    const float change = change_unit(units);
    if (units.x | units.y) scale_scores(s, units);
    const float common = args.problem.scale * 1.4426950408889634f;
    float scale[2] = {common * __uint_as_float(uint32_t{exponents[0]} << 23),
                      common * __uint_as_float(uint32_t{exponents[8]} << 23)};
    if (!(common > 0.0f)) {
      wgmma_wait<0>();  // see mask
#pragma unroll
      for (int i = 0; i < kScoreRegs; ++i) s[i] *= scale[(i >> 1) & 1];
      scale[0] = scale[1] = 1.0f;
    }
    mask(s);
    float top[4] = {s[0], s[1], s[2], s[3]};
#pragma unroll
    for (int i = 4; i < kScoreRegs; ++i) top[i & 3] = fmaxf(top[i & 3], s[i]);
    float a = fmaxf(top[0], top[1]), b = fmaxf(top[2], top[3]);
    quad_max(a, b);
    factor[0] = rows[0].admit(a * scale[0]) * change;
    factor[1] = rows[1].admit(b * scale[1]) * change;
    if ((lane & 3) == 0) {
      float* base = shared.row_base(group) + warp * 16 + (lane >> 2);
      base[0] = rows[0].base;
      base[8] = rows[1].base;
    }
    const float offset[2] = {rows[0].offset(), rows[1].offset()};
#pragma unroll
    for (int i = 0; i < kScoreRegs; ++i) {
      s[i] = exp2_approx(fmaf(s[i], scale[(i >> 1) & 1], -offset[(i >> 1) & 1]));
      rows[(i >> 1) & 1].sum += s[i];
    }
  }

  __device__ __forceinline__ void mask(float (&s)[kScoreRegs]) const {
    constexpr int kWords = kBlock / 8;
    const uint32_t* words = reinterpret_cast<const uint32_t*>(shared.mask(group));
    uint32_t word[kWords], all = 0x03030303;
#pragma unroll
    for (int w = 0; w < kWords; ++w) {
      word[w] = words[w];
      all &= word[w];
    }
    if (all == 0x03030303) return;
    wgmma_wait<0>();  // ptxas wants nothing in flight where a branch changes accumulators
#pragma unroll
    for (int j = 0; j < kWords; ++j) {
      const uint32_t bits = word[j] >> ((lane & 3) * 8);
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        if (!((bits >> e) & 1)) s[4 * j + e] = s[4 * j + 2 + e] = -INFINITY;
      }
    }
  }

  // Gives this block's weights to the other group, whose fence in receive shows them to its matrix
  // instructions; the bases went with the softmax. Every lane arrives, for what every lane wrote.
  __device__ __forceinline__ void publish(const uint32_t (&p)[kScoreRegs / 2],
                                          uint32_t block) const {
    const int row = warp * 16 + (lane & 15);
    const uint32_t at = smem_address(shared.rope(block)) + row * 128;
#pragma unroll
    for (int i = 0; i < kBlock / 16; ++i) {
      const int chunk = 2 * i + (lane >> 4);
      store_matrices(at + ((chunk ^ (row & 7)) << 4), p[4 * i], p[4 * i + 1], p[4 * i + 2],
                     p[4 * i + 3]);
    }
    arrive(shared.weights(group));
  }

  // Waits for the other group's block and takes over its bases; factors for older output.
  __device__ __forceinline__ void receive(uint32_t block, float (&factor)[2]) {
    const int stage = group ^ 1;
    wait(shared.weights(stage), (block / kStages) & 1);
    ptx::fence_proxy_async(ptx::space_shared);
    const float* base = shared.row_base(stage) + warp * 16 + (lane >> 2);
    const float change = change_unit(units_of(block));
    factor[0] = rows[0].follow(base[0]) * change;
    factor[1] = rows[1].follow(base[8]) * change;
  }

  // ---- 2 results ----

  __device__ __forceinline__ int head(int r) const {
    return tile_of(args) * 64 + warp * 16 + (lane >> 2) + 8 * r;
  }

  // Writes this group's columns of both rows: 16 bytes a lane, after transposing 4x4 words among
  // the 4 lanes of a row.
  template <class Pack>
  __device__ __forceinline__ void write_rows(const float (&o)[128], uint8_t* (&to)[2], bool aligned,
                                             Pack pack) const {
    const int q = lane & 3;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
#pragma unroll
      for (int g = 0; g < 32; g += 4) {
        uint32_t v[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          v[i] = pack(o[4 * (g + i) + 2 * r], o[4 * (g + i) + 2 * r + 1], r);
        }
#pragma unroll
        for (int i = 0; i < 4; i += 2) {
          const uint32_t got = __shfl_xor_sync(~0u, q & 1 ? v[i] : v[i + 1], 1);
          v[i] = q & 1 ? got : v[i];
          v[i + 1] = q & 1 ? v[i + 1] : got;
        }
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          const uint32_t got = __shfl_xor_sync(~0u, q & 2 ? v[i] : v[i + 2], 2);
          v[i] = q & 2 ? got : v[i];
          v[i + 2] = q & 2 ? v[i + 2] : got;
        }
        if (!to[r]) continue;
        store(to[r] + (g + q) * 16, v, aligned);
      }
    }
  }

  // A loop for the rare unaligned rows, since code is fetched cold.
  __device__ __forceinline__ static void store(uint8_t* at, uint32_t (&v)[4], bool aligned) {
    if (aligned) {
      *reinterpret_cast<uint4*>(at) = make_uint4(v[0], v[1], v[2], v[3]);
      return;
    }
#pragma unroll 1
    for (int i = 0; i < 8; ++i) {
      reinterpret_cast<uint16_t*>(at)[i] = static_cast<uint16_t>(v[0]);
      v[0] = __funnelshift_r(v[0], v[1], 16);
      v[1] = __funnelshift_r(v[1], v[2], 16);
      v[2] = __funnelshift_r(v[2], v[3], 16);
      v[3] >>= 16;
    }
  }

  // The token's output.
  __device__ __forceinline__ void write_final(const float (&o)[128], int token) const {
    const Problem& problem = args.problem;
    const Tensors& tensors = problem.tensors;
    uint8_t* to[2];
    float inverse[2];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int h = head(r);
      to[r] = nullptr;
      inverse[r] = 0.0f;
      if ((kWarm && step == kWarming) || h >= problem.heads) continue;
      const float sum = rows[r].sum;
      const float sink =
          tensors.sink ? tensors.sink[h * tensors.sink_head] * 1.4426950408889634f : -INFINITY;
      const float with_sink = sum + exp2_approx(sink - rows[r].offset());
      if (sum != 0.0f) inverse[r] = exp2_approx(static_cast<float>(unit)) / with_sink;
      to[r] = static_cast<uint8_t*>(tensors.out) + token_offset(args, tensors.out_token, token) +
              h * tensors.out_head + group * kHalf * 2;
      if (group == 0 && (lane & 3) == 0) {
        write_stats(args, token, h, sum, with_sink, rows[r].base, rows[r].top);
      }
    }
    write_rows(o, to, args.out_aligned, [&](float low, float high, int r) {
      return pack_bf16(low * inverse[r], high * inverse[r]);
    });
  }

  // A partial: o / sum in fp16 under a power-of-two scale for each row and half, and the LSE.
  __device__ __forceinline__ void write_partial(const float (&o)[128], int64_t slot) const {
    const int heads = args.plan.head_tiles * 64;
    uint8_t* to[2];
    float factor[2];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int h = head(r);
      float largest = 0.0f;
#pragma unroll
      for (int g = 0; g < 32; ++g) {
        largest = fmaxf(largest, fmaxf(fabsf(o[4 * g + 2 * r]), fabsf(o[4 * g + 2 * r + 1])));
      }
      const float sum = rows[r].sum;
      const float inverse = sum == 0.0f ? 0.0f : exp2_approx(static_cast<float>(unit)) / sum;
      const float peak = quad_max(largest) * inverse;
      // Scaled values stay under 2^13.
      int exponent = peak > 0.0f && peak < INFINITY ? ilogbf(peak) - 12 : 0;
      exponent = min(max(exponent, -100), 100);
      factor[r] = inverse * exp2_approx(static_cast<float>(-exponent));
      to[r] = nullptr;
      if ((kWarm && step == kWarming) || h >= args.problem.heads) continue;
      const int64_t half_at = (slot * 2 + group) * heads + h;
      to[r] = reinterpret_cast<uint8_t*>(args.partial + half_at * kHalf);
      if ((lane & 3) != 0) continue;
      args.partial_scale[half_at] = exp2_approx(static_cast<float>(exponent));
      if (group == 0) {
        const int64_t at = slot * heads + h;
        args.partial_lse[at] = sum == 0.0f ? -INFINITY : rows[r].base + log2f(sum);
        args.partial_max[at] = rows[r].top;
      }
    }
    write_rows(o, to, true, [&](float low, float high, int r) {
      return pack_fp16(low * factor[r], high * factor[r]);
    });
  }

  // Adds the other group's sums; both have the same bases by now.
  __device__ __forceinline__ void join_sums() {
    float2* mine = shared.sums(units, group) + warp * 16 + (lane >> 2);
    const float2* theirs = shared.sums(units, group ^ 1) + warp * 16 + (lane >> 2);
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      rows[r].sum = quad_sum(rows[r].sum);
      if ((lane & 3) == 0) mine[8 * r] = make_float2(rows[r].sum, rows[r].top);
    }
    arrive(shared.summed());
    wait(shared.summed(), (units - 1) & 1);
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const float2 their = theirs[8 * r];
      rows[r].sum += their.x;
      rows[r].top = fmaxf(rows[r].top, their.y);
    }
  }

  // ---- 3 the consumer's loop ----

  // Waits for the products with a stage's values, and frees its rows as they are done with.
  __device__ __forceinline__ void finish(float (&o)[128], int stage) const {
    finish_quarter<0>(stage);
    finish_quarter<1>(stage);
    finish_quarter<2>(stage);
    finish_quarter<3>(stage);
    wgmma_pin(o);
  }
  template <int kQuarter>
  __device__ __forceinline__ void finish_quarter(int stage) const {
    wgmma_wait<3 - kQuarter>();
    if (kQuarter == 3) {
      arrive(shared.empty(stage, stage == group, kQuarter));
      return;
    }
    __syncwarp();
    if (lane == 0) arrive(shared.empty(stage, stage == group, kQuarter));
  }

  // Waits for what comes first: keys of a half of this group's block (true), or the other group's
  // weights of the block before. Neither may wait behind the other, since each frees a stage. One
  // thread looks, so that the others cost nothing meanwhile; the caller waits again, which makes
  // the data visible.
  __device__ __forceinline__ bool await(uint32_t block, bool own) const {
    bool keys_first = false;
    if ((threadIdx.x & 127) == 0) {
      const uint32_t keys = (block / kStages) & 1, weights = ((block - 1) / kStages) & 1;
      keys_first = test(shared.full(group, own), keys);
      while (!keys_first && !test(shared.weights(group ^ 1), weights)) {
        keys_first = test(shared.full(group, own), keys);
      }
    }
    return named_any(2 + group, 128, keys_first);
  }

  // The first unit's Q is this group's and the other's to fetch, later ones the producer's. A
  // thread converts the chunks that it copied, or would have.
  __device__ __forceinline__ void fetch_q() const {
    if (units == 0) {
      wait_for_copies();
    } else {
      wait(shared.q_full(), (units - 1) & 1);
    }
    convert_q(threadIdx.x);
    ptx::fence_proxy_async(ptx::space_shared);
    named_barrier(1, 256);
  }

  // Divides each head's queries by a power of two, which leaves their largest between 1 and 2, and
  // turns those for latent columns into fp16.
  __device__ __forceinline__ void convert_q(int thread) const {
    const int chunk = thread & 7, first = thread >> 3;
#pragma unroll
    for (int k = 0; k < 2; ++k) {
      const int row = first + 32 * k;
      uint8_t* at = shared.q() + row * 128 + ((chunk ^ (row & 7)) << 4);
      uint4 v[S::kChunks];
      __nv_bfloat162 most = __float2bfloat162_rn(0.0f);
#pragma unroll
      for (int c = 0; c < S::kChunks; ++c) {
        v[c] = *reinterpret_cast<const uint4*>(at + c * S::kTile);
        for (const uint32_t word : {v[c].x, v[c].y, v[c].z, v[c].w}) {
          most = __hmax2(most, __habs2(*reinterpret_cast<const __nv_bfloat162*>(&word)));
        }
      }
      float top = fmaxf(__low2float(most), __high2float(most));
      top = quad_max(top);
      top = fmaxf(top, __shfl_xor_sync(~0u, top, 4));
      int exponent = static_cast<int>((__float_as_uint(top) >> 23) & 255);
      if (exponent == 0 || exponent == 255) exponent = 127;
      exponent = min(max(exponent, 1), 253);
      const float factor = __uint_as_float(static_cast<uint32_t>(254 - exponent) << 23);
      if (chunk == 0) shared.q_scale()[row] = static_cast<uint8_t>(exponent);
#pragma unroll
      for (int c = 0; c < S::kChunks; ++c) {
        const bool rope = c == 8;
        v[c] = make_uint4(scale_pair(v[c].x, factor, rope), scale_pair(v[c].y, factor, rope),
                          scale_pair(v[c].z, factor, rope), scale_pair(v[c].w, factor, rope));
        *reinterpret_cast<uint4*>(at + c * S::kTile) = v[c];
      }
    }
  }
  __device__ __forceinline__ static uint32_t scale_pair(uint32_t pair, float factor, bool rope) {
    const float low = __uint_as_float(pair << 16) * factor;
    const float high = __uint_as_float(pair & 0xFFFF0000u) * factor;
    return rope ? pack_bf16(low, high) : pack_fp16(low, high);
  }
  __device__ __forceinline__ static uint32_t pack_fp16(float low, float high) {
    const __half2 packed = __floats2half2_rn(low, high);
    return *reinterpret_cast<const uint32_t*>(&packed);
  }

  __device__ __forceinline__ void done_with_q() const {
    __syncwarp();
    if (lane == 0) arrive(shared.q_empty());
  }

  __device__ __forceinline__ static void pack(const float (&s)[kScoreRegs],
                                              uint32_t (&p)[kScoreRegs / 2]) {
#pragma unroll
    for (int i = 0; i < kScoreRegs / 2; ++i) p[i] = pack_fp16(s[2 * i], s[2 * i + 1]);
  }

  // Shrinks the output. Rare; no matrix instruction may be in flight while it changes.
  __device__ __forceinline__ static void rescale(float (&o)[128], const float (&factor)[2]) {
    if (!__any_sync(~0u, factor[0] != 1.0f || factor[1] != 1.0f)) return;
    wgmma_wait<0>();
#pragma unroll
    for (int i = 0; i < 128; ++i) o[i] *= factor[(i >> 1) & 1];
  }

  // Takes over the other group's block; its products are in flight afterwards.
  __device__ __forceinline__ void take_other(float (&o)[128], uint32_t block, float (&factor)[2]) {
    receive(block, factor);
    rescale(o, factor);
    start_other(o, block);
  }

  // Scores that have arrived to weights, which the other group gets too.
  __device__ __forceinline__ void weigh(float (&s)[kScoreRegs], uint32_t (&p)[kScoreRegs / 2],
                                        uint32_t block, float (&factor)[2]) {
    wgmma_pin(s);
    softmax(s, block, factor);
    pack(s, p);
    const uint2 units = units_of(block);
    if (units.x | units.y) scale_weights(p, units);
    publish(p, block);
  }

  // Attends to blocks from ... to - 1, at least one. A turn is one block of this group and the
  // other's block before it, if that is of this unit.
  __device__ __forceinline__ void attend(float (&o)[128], uint32_t from, uint32_t to) {
    float s[kScoreRegs];
    uint32_t p[kScoreRegs / 2];
    float factor[2];
    bool other = (from & 1) == group;  // the other group's block before has been taken
    uint32_t block = from + (other ? 0 : 1);
#pragma unroll 1
    for (; block < to; block += 2) {
      bool pending = false;  // products with the other group's block are in flight
      if (other || !await(block, true)) {
        if (!other) {
          take_other(o, block - 1, factor);
          finish(o, group ^ 1);
        }
        start_scores(s, block);
        add_scores(s, block);
        wgmma_wait<0>();
      } else {
        start_scores(s, block);
        if (await(block, false)) {
          add_scores(s, block);
          take_other(o, block - 1, factor);
          wgmma_wait<4>();
          pending = true;
        } else {
          take_other(o, block - 1, factor);
          finish(o, group ^ 1);
          wgmma_pin(s);
          add_scores(s, block);
          wgmma_wait<0>();
        }
      }
      weigh(s, p, block, factor);
      if (pending) finish(o, group ^ 1);
      rescale(o, factor);
      start_own(o, p);
      finish(o, group);
      other = false;
    }
    done_with_q();
    if (block == to) {
      take_other(o, block - 1, factor);
      finish(o, group ^ 1);
    }
  }

  // The same for at most two blocks: each group's instructions lie in a row.
  __device__ __forceinline__ void attend_short(float (&o)[128], uint32_t from, uint32_t to) {
    float s[kScoreRegs];
    uint32_t p[kScoreRegs / 2];
    float factor[2];
    if ((from & 1) == group) {
      start_scores(s, from);
      add_scores(s, from);
      wgmma_wait<0>();
      weigh(s, p, from, factor);
      start_own(o, p);
      finish(o, group);
      if (to - from == 1) return;
      take_other(o, from + 1, factor);
      finish(o, group ^ 1);
    } else if (to - from == 1) {
      take_other(o, from, factor);
      finish(o, group ^ 1);
    } else {
      start_scores(s, from + 1);
      add_scores(s, from + 1);
      take_other(o, from, factor);
      wgmma_wait<4>();
      weigh(s, p, from + 1, factor);
      finish(o, group ^ 1);
      rescale(o, factor);
      start_own(o, p);
      finish(o, group);
    }
  }

  // A warming trip computes and writes nothing: it fetches the code of the results, cold after
  // other kernels, while the first keys are on their way.
  __device__ void run() {
    int token = first_token(args, range_of(args));
#pragma unroll 1
    while (true) {
      const Share share = share_of(args, range_of(args), token);
      const bool more = share.first < share.last;
      const int count = more ? count_of(share, keys_of(args, token)) : 0;
      const bool first = units == 0 && step != kWarming && (!more || count > 0);
      if (first) {
        if (more) copy_q<S, 256>(args, shared, tile_of(args), token, threadIdx.x);
        named_barrier(1, 256);
      }
      if (!more) return;
      if (kWarm) step = first ? kWarming : step == kWarming ? 0 : step;
      attend_and_write(token, count);
      if (!kWarm || step != kWarming) ++token;
    }
  }

  __device__ __forceinline__ void attend_and_write(int& token, int count) {
    float o[128];
#pragma unroll
    for (int i = 0; i < 128; ++i) o[i] = 0.0f;
    rows[0] = RowState{};
    rows[1] = RowState{};
    unit = 0;
    if (count > 0 && !(kWarm && step == kWarming)) {
      fetch_q();
      ++units;
      if constexpr (kKind == Kind::kShort) {
        attend_short(o, step, step + count);
        done_with_q();
      } else {
        attend(o, step, step + count);
      }
      join_sums();
      step += count;
    }
    forget(token);
    const Share share = share_of(args, range_of(args), token);
    if (kKind != Kind::kShort && share.whole) {
      write_final(o, token);
    } else {
      write_partial(o, share.slot);
    }
  }
};

// ---- 4 kernel ----

template <class S, Kind kKind>
__global__ void __launch_bounds__(S::kThreads, 1)
    attention_kernel(const __grid_constant__ KernelArgs args) {
  extern __shared__ __align__(1024) uint8_t smem[];
  const Shared<S> shared{smem};
  if (threadIdx.x == 0) {
    for (int i = 0; i < kStages; ++i) {
      ptx::mbarrier_init(shared.full(i, true), kProducerWarps);
      ptx::mbarrier_init(shared.full(i, false), kProducerWarps + (S::kRope ? kProducers : 0));
      for (int k = 0; k < 8; ++k) {
        ptx::mbarrier_init(shared.empty(i, k & 1, k >> 1), (k >> 1) == 3 ? 128 : 4);
      }
      ptx::mbarrier_init(shared.weights(i), 128);
    }
    ptx::mbarrier_init(shared.q_full(), kProducers);
    ptx::mbarrier_init(shared.q_empty(), 8);
    ptx::mbarrier_init(shared.summed(), 256);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
  }
  if (threadIdx.x < 32) named_arrive(kSetUp, kProducers + 32);
  launch_dependents();
  // In this order ptxas puts the producer's code first, next to the kernel's entry. It is fetched
  // cold and all else waits for it: the other way round a call takes 1.5 us more.
  if (threadIdx.x < 256) {
    raise_registers<208>();
    Consumer<S, kKind>(args, shared).run();
  } else {
    drop_registers<48>();
    Producer<S>(args, shared).run();
  }
}

}  // namespace dsakit::sparse::fp8
