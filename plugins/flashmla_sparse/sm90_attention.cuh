// The attention kernel for Hopper (sm_90a): 64 heads of a token against its selected keys.
//
// Contents: 1 scores and softmax · 2 results · 3 the consumer's loop · 4 kernel. Sizes, shared
// memory and work units are in sm90_stage.cuh, the producer in sm90_producer.cuh.
//
// A CTA has one tile of 64 heads and one range of the line of blocks (sparse_mla.hpp); with two
// head tiles, neighbouring CTAs have the same range, so that L2 serves the second read of a row.
// Warps 8-11 gather 64 rows a block into one of two stages with 16-byte asynchronous copies,
// zeroing the rows of invalid keys. Warps 0-3 and 4-7 are two consumer warpgroups. Each computes
// the scores of every other block, those in its own stage, and shares the weights through
// a tile of shared memory; each accumulates its own half of the 512 output columns over all
// blocks. So one warpgroup's softmax runs under the other's matrix products.
//
// Invariants: blocks are numbered through a CTA's life; block g is in stage g & 1, its scores are
// warpgroup g & 1's, and the n-th use of a barrier has parity n & 1. Both warpgroups take blocks in
// order and keep the same base for each row: the owner of a block publishes the base with the
// weights. Nothing depends on a score beyond its own weight.
#pragma once

#include "common/cuda/sparse_softmax.cuh"
#include "flashmla_sparse/sm90_producer.cuh"

namespace dsakit::sparse {

// ---- 1 scores and softmax ----

// One consumer warpgroup of a CTA.
template <class S, Kind kKind>
struct Consumer {
  static constexpr int kScoreRegs = kBlock / 2, kParts = kBlock / 16;
  static constexpr uint32_t kWarming = ~0u;
  static constexpr bool kByLength = kKind == Kind::kByLength;
  static constexpr bool kWarm = kKind != Kind::kShort;
  static constexpr bool kRopeFirst = S::kRope && kKind != Kind::kShort;
  using Walking = Units<Shared<S>, S::kThreads / 32, kByLength>;
  const KernelArgs& args;
  const Shared<S> shared;
  const int group;       // 0 or 1: also its stage, and its half of the columns
  const int warp, lane;  // of the warpgroup; of the warp
  uint32_t step = 0;     // blocks before the current unit; kWarming: nothing is to be written
  uint32_t units = 0;    // units with blocks so far
  RowState rows[2];      // warp * 16 + lane / 4, and eight below

  __device__ Consumer(const KernelArgs& a, Shared<S> s)
      : args(a),
        shared(s),
        group(static_cast<int>(uniform(threadIdx.x >> 7))),
        warp((threadIdx.x >> 5) & 3),
        lane(threadIdx.x & 31) {}

  // Starts scores = Q * K^T of a block of this group with the group's own half of the tiles and the
  // rope tile.
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
    if constexpr (kRopeFirst) multiply_tiles<1, false>(s, q + 8 * S::kTile, k + 8 * S::kTile);
    wgmma_commit();
  }

  // The same with the other half.
  __device__ __forceinline__ void add_scores(float (&s)[kScoreRegs], uint32_t block) const {
    const uint32_t q = uniform(smem_address(shared.q()));
    const uint32_t k = uniform(smem_address(shared.stage(group)));
    const uint32_t other = uniform((4 - group * 4) * S::kTile);
    wait(shared.full(group, false), (block / kStages) & 1);
    ptx::fence_proxy_async(ptx::space_shared);
    wgmma_fence();
    multiply_tiles<4, false>(s, q + other, k + other);
    if constexpr (S::kRope && !kRopeFirst) {
      multiply_tiles<1, false>(s, q + 8 * S::kTile, k + 8 * S::kTile);
    }
    wgmma_commit();
  }

  template <int kTiles, bool kStart>
  __device__ __forceinline__ static void multiply_tiles(float (&s)[kScoreRegs], uint32_t q,
                                                        uint32_t k) {
    const uint64_t a = wgmma_descriptor(q, 16, 1024, Swizzle::k128);
    const uint64_t b = wgmma_descriptor(k, 16, 1024, Swizzle::k128);
#pragma unroll
    for (int i = 0; i < kTiles * 4; ++i) {
      const int at = i / 4 * (S::kTile >> 4) + 2 * (i % 4);
      if (kStart && i == 0) {
        wgmma_ss_start(s, a, b);
      } else {
        wgmma_ss(s, a + at, b + at);
      }
    }
  }

  // Descriptor of this group's 256 columns of V in a stage.
  __device__ __forceinline__ uint64_t values(int stage) const {
    const uint32_t at = smem_address(shared.stage(stage)) + group * 4 * S::kTile;
    return wgmma_descriptor(uniform(at), S::kTile, 1024, Swizzle::k128);
  }

  // Where a block's weights are. A place for both groups does, since each group's products with the
  // other's weights come before it stores its own. In short ranges the rope tile of the stage is
  // free, and no group waits for its products.
  __device__ __forceinline__ uint8_t* weight_tile(int stage) const {
    return kKind == Kind::kShort ? shared.stage(stage) + 8 * S::kTile : shared.weight();
  }

  // Starts O += P * V with the other group's block; a commit group for each 16 rows.
  __device__ __forceinline__ void start_other(float (&o)[128]) const {
    const int stage = group ^ 1;
    const uint64_t v = values(stage);
    const uint64_t p =
        wgmma_descriptor(uniform(smem_address(weight_tile(stage))), 16, 1024, Swizzle::k128);
    wgmma_fence();
#pragma unroll
    for (int i = 0; i < kParts; ++i) {
      wgmma_ss_tn(o, p + 2 * i, v + i * (2048 >> 4));
      wgmma_commit();
    }
  }

  // Takes the scores' maxima: factors by which the rows' older output shrinks, and the scale of the
  // scores. Several chains, because one warp a scheduler has nothing else to do meanwhile.
  __device__ __forceinline__ float admit(float (&s)[kScoreRegs], int stage, float (&factor)[2]) {
    float scale = args.problem.scale * 1.4426950408889634f;
    if (!(scale > 0.0f)) {
      wgmma_wait<0>();  // see mask
#pragma unroll
      for (int i = 0; i < kScoreRegs; ++i) s[i] *= scale;
      scale = 1.0f;
    }
    mask(s, stage);
    float top[4] = {s[0], s[1], s[2], s[3]};
#pragma unroll
    for (int i = 4; i < kScoreRegs; ++i) top[i & 3] = fmaxf(top[i & 3], s[i]);
    float a = fmaxf(top[0], top[1]), b = fmaxf(top[2], top[3]);
    factor[0] = factor[1] = 1.0f;
    if (__any_sync(~0u, rows[0].exceeded(a * scale) || rows[1].exceeded(b * scale))) {
      quad_max(a, b);
      factor[0] = rows[0].admit(a * scale);
      factor[1] = rows[1].admit(b * scale);
    }
    if ((lane & 3) == 0) {
      float* base = shared.row_base(group) + warp * 16 + (lane >> 2);
      base[0] = rows[0].base;
      base[8] = rows[1].base;
    }
    return scale;
  }

  // Scores to weights, which the other group gets too, and the products with them, 16 keys at a
  // time: the products of some run while the weights of the next are computed. Every lane arrives,
  // for what every lane wrote.
  __device__ __forceinline__ void weigh_and_start(float (&s)[kScoreRegs], float scale,
                                                  float (&o)[128], bool pending) {
    const float offset[2] = {rows[0].offset(), rows[1].offset()};
#pragma unroll
    for (int i = 0; i < kParts; ++i) {
      uint32_t p[4];
      weigh_part(s, i, scale, offset, p);
      release_before(i, pending);
      store_part(i, p);
      start_own(o, p, i);
    }
    arrive(shared.weights(group));
  }

  // Weights of 16 keys, in place and packed.
  __device__ __forceinline__ void weigh_part(float (&s)[kScoreRegs], int part, float scale,
                                             const float (&offset)[2], uint32_t (&p)[4]) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      float& x = s[8 * part + i];
      x = exp2_approx(fmaf(x, scale, -offset[(i >> 1) & 1]));
      rows[(i >> 1) & 1].sum += x;
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) p[i] = pack_bf16(s[8 * part + 2 * i], s[8 * part + 2 * i + 1]);
  }

  // The other group's fence in receive shows the weights to its matrix instructions; the bases went
  // with the maxima.
  __device__ __forceinline__ void store_part(int part, const uint32_t (&p)[4]) const {
    const int row = warp * 16 + (lane & 15), chunk = 2 * part + (lane >> 4);
    const uint32_t at = smem_address(weight_tile(group)) + row * 128;
    store_matrices(at + ((chunk ^ (row & 7)) << 4), p[0], p[1], p[2], p[3]);
  }

  // Starts O += P * V with 16 keys of this group's block, the weights from registers.
  __device__ __forceinline__ void start_own(float (&o)[128], const uint32_t (&p)[4],
                                            int part) const {
    wgmma_fence();
    wgmma_rs(o, p, values(group) + part * (2048 >> 4));
    wgmma_commit();
  }

  __device__ __forceinline__ void mask(float (&s)[kScoreRegs], int stage) const {
    constexpr int kWords = kBlock / 16;
    const uint32_t* words = reinterpret_cast<const uint32_t*>(shared.mask(stage));
    uint32_t word[kWords], all = 0x0F0F0F0F;
#pragma unroll
    for (int w = 0; w < kWords; ++w) {
      word[w] = words[w];
      all &= word[w];
    }
    if (all == 0x0F0F0F0F) return;
    wgmma_wait<0>();  // ptxas wants nothing in flight where a branch changes accumulators
#pragma unroll
    for (int j = 0; j < kBlock / 8; ++j) {
      const uint32_t bits = word[j / 2] >> ((j & 1) * 16 + (lane & 2) * 4 + (lane & 1) * 2);
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        if (!((bits >> e) & 1)) s[4 * j + e] = s[4 * j + 2 + e] = -INFINITY;
      }
    }
  }

  // Waits for the other group's block and takes over its bases; factors for older output.
  __device__ __forceinline__ void receive(uint32_t block, float (&factor)[2]) {
    const int stage = group ^ 1;
    wait(shared.weights(stage), (block / kStages) & 1);
    ptx::fence_proxy_async(ptx::space_shared);
    const float* base = shared.row_base(stage) + warp * 16 + (lane >> 2);
    factor[0] = rows[0].follow(base[0]);
    factor[1] = rows[1].follow(base[8]);
  }

  // ---- 2 results ----

  __device__ __forceinline__ int head(int r) const {
    return tile_of(args) * 64 + warp * 16 + (lane >> 2) + 8 * r;
  }

  // Writes this group's columns of both rows, 16 bytes a lane, in order or (kQuads) as they are: a
  // lane's words of four steps.
  template <bool kQuads, class Pack>
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
        if constexpr (!kQuads) quad_transpose(v);
        if (to[r]) store_chunk(to[r] + (g + q) * 16, v, aligned);
      }
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
      if (sum != 0.0f) inverse[r] = 1.0f / with_sink;
      to[r] = static_cast<uint8_t*>(tensors.out) + token_offset(args, tensors.out_token, token) +
              h * tensors.out_head + group * kHalf * 2;
      if (group == 0 && (lane & 3) == 0) {
        write_stats(args, token, h, sum, with_sink, rows[r].base, rows[r].top);
      }
    }
    write_rows<false>(o, to, args.out_aligned, [&](float low, float high, int r) {
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
      float size[2] = {0.0f, 0.0f};  // up to 64 times the largest; cheaper than that
#pragma unroll
      for (int g = 0; g < 32; ++g) {
        size[0] += fabsf(o[4 * g + 2 * r]);
        size[1] += fabsf(o[4 * g + 2 * r + 1]);
      }
      const float sum = rows[r].sum;
      const float inverse = sum == 0.0f ? 0.0f : 1.0f / sum;
      const float peak = quad_max(size[0] + size[1]) * inverse;
      // Scaled values stay under 2^13, and the largest is 2^6 at least.
      int exponent = static_cast<int>(__float_as_uint(peak) >> 23) - 127 - 12;
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
    write_rows<true>(o, to, true, [&](float low, float high, int r) {
      const __half2 packed = __floats2half2_rn(low * factor[r], high * factor[r]);
      return *reinterpret_cast<const uint32_t*>(&packed);
    });
  }

  // Adds the other group's sums; both have the same bases by now.
  __device__ __forceinline__ void join_sums() {
    float2* mine = shared.sums(units, group) + warp * 16 + (lane >> 2);
    const float2* theirs = shared.sums(units, group ^ 1) + warp * 16 + (lane >> 2);
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      rows[r].sum = quad_sum(rows[r].sum);
      rows[r].top = quad_max(rows[r].top);
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

  // Waits for the products with a stage's values, and frees its rows as they are done with; kLater
  // groups of products have been started since.
  template <int kLater>
  __device__ __forceinline__ void release(int stage) const {
    release_quarter<kLater, 0>(stage);
    release_quarter<kLater, 1>(stage);
    release_quarter<kLater, 2>(stage);
    release_quarter<kLater, 3>(stage);
  }
  template <int kLater, int kQuarter>
  __device__ __forceinline__ void release_quarter(int stage) const {
    wgmma_wait<kLater + 3 - kQuarter>();
    if (kQuarter == 3) {
      arrive(shared.empty(stage, stage == group, kQuarter));
      return;
    }
    __syncwarp();
    if (lane == 0) arrive(shared.empty(stage, stage == group, kQuarter));
  }
  // Before part `part` of the weights is stored: the products with the other group's, if any, have
  // read it, since three groups of products have been started after those.
  __device__ __forceinline__ void release_before(int part, bool pending) const {
    wgmma_wait<kParts - 1>();
    if (part == kParts - 1) {
      if (pending) arrive(shared.empty(group ^ 1, false, part));
      return;
    }
    __syncwarp();
    if (pending && lane == 0) arrive(shared.empty(group ^ 1, false, part));
  }
  __device__ __forceinline__ void release_rope() const {
    if constexpr (kRopeFirst) {
      __syncwarp();
      if (lane == 0) arrive(shared.rope_empty(group));
    }
  }
  __device__ __forceinline__ void finish(float (&o)[128], int stage) const {
    release<0>(stage);
    wgmma_pin(o);
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

  // The first unit's Q is this group's and the other's to fetch, later ones the producer's.
  __device__ __forceinline__ void fetch_q() const {
    if (units == 0) {
      wait(shared.first_q(), 0);
    } else {
      wait(shared.q_full(), (units - 1) & 1);
    }
    ptx::fence_proxy_async(ptx::space_shared);
  }

  __device__ __forceinline__ void done_with_q() const {
    __syncwarp();
    if (lane == 0) arrive(shared.q_empty());
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
    start_other(o);
  }

  // Scores that have arrived to weights and their products; `pending`: those with the other group's
  // block are in flight, too.
  __device__ __forceinline__ void weigh(float (&s)[kScoreRegs], float (&o)[128], bool pending) {
    float factor[2];
    wgmma_pin(s);
    release_rope();
    const float scale = admit(s, group, factor);
    rescale(o, factor);
    weigh_and_start(s, scale, o, pending);
    release<0>(group);
    wgmma_pin(o);
  }

  // The same in a short range, where the other group has nothing to do but to wait for the weights.
  __device__ __forceinline__ void weigh_first(float (&s)[kScoreRegs], float (&o)[128],
                                              bool pending) {
    float factor[2];
    uint32_t p[kParts][4];
    wgmma_pin(s);
    release_rope();
    const float scale = admit(s, group, factor);
    const float offset[2] = {rows[0].offset(), rows[1].offset()};
#pragma unroll
    for (int i = 0; i < kParts; ++i) weigh_part(s, i, scale, offset, p[i]);
#pragma unroll
    for (int i = 0; i < kParts; ++i) store_part(i, p[i]);
    arrive(shared.weights(group));
    if (pending) finish(o, group ^ 1);
    if (pending) rescale(o, factor);
#pragma unroll
    for (int i = 0; i < kParts; ++i) start_own(o, p[i], i);
    finish(o, group);
  }

  // Attends to blocks from ... to - 1, at least one. A turn is one block of this group and the
  // other's block before it, if that is of this unit.
  __device__ __forceinline__ void attend(float (&o)[128], uint32_t from, uint32_t to) {
    float s[kScoreRegs];
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
      weigh(s, o, pending);
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
    float factor[2];
    if ((from & 1) == group) {
      start_scores(s, from);
      add_scores(s, from);
      wgmma_wait<0>();
      weigh_first(s, o, false);
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
      weigh_first(s, o, true);
    }
  }

  // Whether a warming trip pays: it computes and writes nothing, but fetches the code of the
  // results, cold after other kernels, while the first keys are on their way, or (by lengths) while
  // the range is looked for. Where ranges are not long, one group has the time.
  __device__ __forceinline__ bool warms() const {
    if (kByLength) return args.problem.tokens > args.plan.groups;
    return kKind == Kind::kLong || group == 1;
  }

  __device__ void run() {
    const Walking walking{args, shared};
    int token = 0;
    bool opened = !kByLength || !warms();
    if (opened) token = walking.template start<false>();
    if (!opened) step = kWarming;
#pragma unroll 1
    while (true) {
      int count = 0;
      if (opened) {
        const Share share = walking.share(token);
        const bool more = share.first < share.last;
        count = more ? unit_blocks(args, share, keys_of(args, token)) : 0;
        const bool first = units == 0 && step != kWarming && (!more || count > 0);
        if (first) {
          if (more) copy_q<S, 256>(args, shared, tile_of(args), token, threadIdx.x);
          named_barrier(1, 256);
          if (more) arrive_after_copies(shared.first_q());
        }
        if (!more) return;
        if (kWarm && !kByLength) {
          step = first && warms() ? kWarming : step == kWarming ? 0 : step;
        }
      }
      attend_and_write(token, count);
      if (!opened) {
        token = walking.template start<false>();
        step = 0;
        opened = true;
      } else if (!kWarm || step != kWarming) {
        walking.next(token);
      }
    }
  }

  __device__ __forceinline__ void attend_and_write(int& token, int count) {
    float o[128];
#pragma unroll
    for (int i = 0; i < 128; ++i) o[i] = 0.0f;
    rows[0] = RowState{};
    rows[1] = RowState{};
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
    const Share share = Walking{args, shared}.share(token);
    const bool both = kByLength && step == kWarming;
    if (kKind != Kind::kShort && (share.whole || both)) write_final(o, token);
    if (kKind == Kind::kShort || !share.whole || both) write_partial(o, share.slot);
  }
};

// ---- 4 kernel ----

// Of a consumer's thread; a producer's gets what is left of 504. By lengths it needs more.
template <Kind kKind>
inline constexpr int kRegisters = kKind == Kind::kByLength ? 208 : 216;

template <class S, Kind kKind>
__global__ void __launch_bounds__(S::kThreads, 1)
    attention_kernel(const __grid_constant__ KernelArgs args) {
  extern __shared__ __align__(1024) uint8_t smem[];
  const Shared<S> shared{smem};
  if (threadIdx.x == 0) {
    for (int i = 0; i < kStages; ++i) {
      ptx::mbarrier_init(shared.full(i, true), 128 + 4);
      ptx::mbarrier_init(shared.full(i, false), 128);
      for (int k = 0; k < 8; ++k) {
        ptx::mbarrier_init(shared.empty(i, k & 1, k >> 1), (k >> 1) == 3 ? 128 : 4);
      }
      ptx::mbarrier_init(shared.weights(i), 128);
      ptx::mbarrier_init(shared.rope_empty(i), 4);
    }
    ptx::mbarrier_init(shared.first_q(), 256);
    ptx::mbarrier_init(shared.q_full(), 128);
    ptx::mbarrier_init(shared.q_empty(), 8);
    ptx::mbarrier_init(shared.summed(), 256);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
  }
  if (threadIdx.x < 32) named_arrive(kSetUp, 160);
  launch_dependents();
  // In this order ptxas puts the producer's code first, next to the kernel's entry. It is fetched
  // cold and all else waits for it: the other way round a call takes 1.5 us more.
  if (threadIdx.x < 256) {
    raise_registers<kRegisters<kKind>>();
    Consumer<S, kKind>(args, shared).run();
  } else {
    drop_registers<504 - 2 * kRegisters<kKind>>();
    Producer<S, kKind>(args, shared, tile_of(args)).run();
  }
}

}  // namespace dsakit::sparse
