// The attention kernel over fp8 keys for Hopper (sm_90a): up to 64 heads of a token against its
// keys.
//
// Contents: 1 scores · 2 softmax · 3 values · 4 results · 5 the consumer's loop · 6 kernel. Sizes
// and shared memory are in sm90_stage.cuh, the producer in sm90_producer.cuh, operands in
// sm90_fragments.cuh, work units in sparse_work.cuh.
//
// Keys stay as they are in the pool: warps 8-11 copy whole rows into stages of 64, and consumers
// turn codes into fp16 on the way from shared memory to the matrix instructions' registers. So
// keys, and later columns of V, are the rows of the products, and heads their columns: S^T = K Q^T
// and O^T = V^T P^T. Warps 0-3 and 4-7 are two consumer warpgroups. Each computes the scores of
// every other block and shares the weights through shared memory; each accumulates its own half of
// the 512 output columns over all blocks, so that one's softmax runs under the other's products.
//
// Numbers: codes are exact in fp16. Scores are summed in fp32 group by group of 128 dimensions, and
// multiplied by the quotient of two groups' scales in between: no scale is rounded. Rope columns
// are bf16. Values are code * scale / 2^unit, and weights fp16. Queries are divided by a power of
// two for each head, so that no query leaves fp16's range.
//
// Invariants: blocks are numbered through a CTA's life; block g's scores are warpgroup g & 1's, and
// the n-th use of a barrier has parity n & 1. Both warpgroups take blocks in order and keep the
// same bases, in shared memory in two versions; a block's owner publishes its version with the
// weights. Nothing depends on a score beyond its own weight.
#pragma once

#include <cfloat>

#include "flashmla_kv/sm90_fragments.cuh"
#include "flashmla_kv/sm90_producer.cuh"

namespace dsakit::sparse::fp8 {

// One consumer warpgroup of a CTA.
template <class S, bool kByLength>
struct Consumer {
  static constexpr int kRegs = S::kHeads / 2;   // accumulators of a product
  static constexpr int kPairs = S::kHeads / 8;  // pairs of heads of a thread
  static constexpr float kNone = -FLT_MAX;      // base before any key
  using Walking = Units<Shared<S>, S::kThreads / 32, kByLength>;
  using Scores = float[kRegs];
  using Output = float[4][kRegs];  // this warpgroup's columns: 64 a warp, 16 each
  const KernelArgs& args;
  const Shared<S> shared;
  const int group;       // 0 or 1: also its half of the columns
  const int warp, lane;  // of the warpgroup; of the warp
  uint32_t step = 0;     // blocks before the current unit
  uint32_t units = 0;    // units with blocks so far
  int version = 0;       // of the bases
  int unit = 0;          // exponent of the power of two by which the output so far is divided
  float sums[2 * kPairs];

  __device__ Consumer(const KernelArgs& a, Shared<S> s)
      : args(a),
        shared(s),
        group(static_cast<int>(uniform(threadIdx.x >> 7))),
        warp(static_cast<int>(uniform((threadIdx.x >> 5) & 3))),
        lane(threadIdx.x & 31) {}

  // ---- 1 scores ----

  // scores = K * Q^T of a block; the units of this thread's two rows.
  __device__ __forceinline__ void compute_scores(Scores& s, uint32_t block, int (&unit_of_row)[2]) {
    wait(shared.full(block), (block / S::kStages) & 1);
    const uint8_t* stage = shared.stage(block);
    const uint32_t at =
        smem_address(stage) + (warp * 16 + (lane & 15)) * S::kRow + (lane >> 4) * 16;
    const uint32_t q = uniform(smem_address(shared.q()));
    const uint64_t b = wgmma_descriptor(q, 16, 1024, Swizzle::k128);
    RowScales rows[2];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int key = warp * 16 + (lane >> 2) + 8 * r;
      const float4 scales = *reinterpret_cast<const float4*>(stage + key * S::kRow + kScalesInRow);
      rows[r] = row_scales(scales);
      unit_of_row[r] = rows[r].unit;
      publish_factor(scales, rows[r].unit, block, key);
    }
    uint32_t raw[2][4];
    load_matrices(raw[0], at);
#pragma unroll
    for (int n = 0; n < 16; ++n) {  // 32 dimensions
      if (n + 1 < 16) load_matrices(raw[(n + 1) & 1], at + (n + 1) * 32);
      uint32_t a[2][4];
      if (n % 4 == 0 && n > 0) {
        wgmma_wait<0>();
        scale_rows(s, rows[0].ratio[n / 4 - 1], rows[1].ratio[n / 4 - 1]);
      } else if (n > 1) {
        wgmma_wait<1>();
      }
      key_fragments(raw[n & 1], a);
      wgmma_fence();
      const uint64_t tile = b + (n / 2) * (S::kQTile >> 4) + (n & 1) * 4;
      if (n == 0) {
        wgmma_rs_reduced<Operand::kFp16, true>(s, a[0], tile);
      } else {
        wgmma_rs_reduced<Operand::kFp16, false>(s, a[0], tile);
      }
      wgmma_rs_reduced<Operand::kFp16, false>(s, a[1], tile + 2);
      wgmma_commit();
    }
    wgmma_wait<0>();
    scale_rows(s, rows[0].last, rows[1].last);
    if constexpr (S::kRope) {
      uint32_t a[4][4];
#pragma unroll
      for (int i = 0; i < 4; ++i) load_matrices(a[i], at + kRopeInRow + i * 32);
      wgmma_fence();
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        wgmma_rs_reduced<Operand::kBf16, false>(s, a[i], b + 8 * (S::kQTile >> 4) + 2 * i);
      }
      wgmma_commit();
      wgmma_wait<0>();
      wgmma_pin(s);
    }
  }

  __device__ __forceinline__ static void scale_rows(Scores& s, float upper, float lower) {
    wgmma_pin(s);
#pragma unroll
    for (int i = 0; i < kRegs; ++i) s[i] *= i & 2 ? lower : upper;
  }

  // What codes of a key are multiplied by, one of the four groups a lane.
  __device__ __forceinline__ void publish_factor(const float4& scales, int of_row, uint32_t block,
                                                 int key) const {
    const int q = lane & 3;
    const float scale = q & 2 ? (q & 1 ? scales.w : scales.z) : (q & 1 ? scales.y : scales.x);
    const float back = __uint_as_float(static_cast<uint32_t>(127 - of_row) << 23);
    shared.factors(block)[q * kBlock + key] = __half_as_ushort(__float2half_rn(scale * back));
  }

  // ---- 2 softmax ----

  // {scale, base} of heads 8j + 2q and the next.
  __device__ __forceinline__ float4 state_of(int of_version, int j) const {
    return reinterpret_cast<const float4*>(shared.state(of_version))[4 * j + (lane & 3)];
  }

  // Scores of a block to weights, for both warpgroups.
  __device__ __forceinline__ void weigh(Scores& s, Output& o, uint32_t block,
                                        const int (&unit_of_row)[2]) {
    const float common = args.problem.scale;
    if (!(common > 0.0f)) {
#pragma unroll
      for (int i = 0; i < kRegs; ++i) s[i] *= common;
    }
    mask(s, block);
    float top[4] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
#pragma unroll
    for (int j = 0; j < kPairs; ++j) {
      const float4 state = state_of(version, j);
      top[0] = fmaxf(top[0], fmaf(s[4 * j], state.x, -state.y));
      top[1] = fmaxf(top[1], fmaf(s[4 * j + 1], state.z, -state.w));
      top[2] = fmaxf(top[2], fmaf(s[4 * j + 2], state.x, -state.y));
      top[3] = fmaxf(top[3], fmaf(s[4 * j + 3], state.z, -state.w));
    }
    const bool exceeded = fmaxf(fmaxf(top[0], top[1]), fmaxf(top[2], top[3])) > RowState::kSlack;
    const bool scaled = (unit_of_row[0] | unit_of_row[1] | unit) != 0;
    const bool wanted = args.problem.tensors.max_logits != nullptr;
    const bool change = named_any(kGroup + group, 128, exceeded || scaled || wanted);
    if (change) raise_bases(s, o, unit_of_row);
#pragma unroll
    for (int j = 0; j < kPairs; ++j) {
      const float4 state = state_of(version, j);
      s[4 * j] = exp2_approx(fmaf(s[4 * j], state.x, -state.y));
      s[4 * j + 1] = exp2_approx(fmaf(s[4 * j + 1], state.z, -state.w));
      s[4 * j + 2] = exp2_approx(fmaf(s[4 * j + 2], state.x, -state.y));
      s[4 * j + 3] = exp2_approx(fmaf(s[4 * j + 3], state.z, -state.w));
      sums[2 * j] += s[4 * j] + s[4 * j + 2];
      sums[2 * j + 1] += s[4 * j + 1] + s[4 * j + 3];
    }
    if (change) {
      const float upper = exp2_approx(static_cast<float>(unit_of_row[0] - unit));
      const float lower = exp2_approx(static_cast<float>(unit_of_row[1] - unit));
#pragma unroll
      for (int i = 0; i < kRegs; ++i) s[i] *= i & 2 ? lower : upper;
    }
    publish(s, block);
  }

  __device__ __forceinline__ void mask(Scores& s, uint32_t block) const {
    const uint32_t word = lane == 0 ? shared.mask(block)[warp >> 1] : 0;
    const uint32_t keys = uniform(word) >> ((warp & 1) * 16) & 0xFFFF;
    if (keys == 0xFFFF) return;
    const uint32_t mine = keys >> (lane >> 2);
#pragma unroll
    for (int i = 0; i < kRegs; ++i) {
      if (!((i & 2 ? mine >> 8 : mine) & 1)) s[i] = -INFINITY;
    }
  }

  // New bases and unit for this block and those after it.
  __device__ __forceinline__ void raise_bases(const Scores& s, Output& o,
                                              const int (&unit_of_row)[2]) {
    float most[2 * kPairs];
#pragma unroll
    for (int j = 0; j < kPairs; ++j) {
      const float4 state = state_of(version, j);
      most[2 * j] = fmaxf(s[4 * j], s[4 * j + 2]) * state.x;
      most[2 * j + 1] = fmaxf(s[4 * j + 1], s[4 * j + 3]) * state.z;
    }
    const float2 pair =
        across_rows<kPairs>(most, lane, [](float a, float b) { return fmaxf(a, b); });
    if (first_of_pair<kPairs>(lane)) {
      reinterpret_cast<float2*>(shared.of_warp(group * 4 + warp))[pair_of<kPairs>(lane)] = pair;
    }
    const int most_unit = __reduce_max_sync(~0u, max(unit_of_row[0], unit_of_row[1]));
    if (lane == 0) shared.units()[group * 4 + warp] = most_unit;
    named_barrier(kGroup + group, 128);
    const int thread = static_cast<int>(threadIdx.x & 127);
    if (thread < S::kHeads) {
      float top = -INFINITY;
#pragma unroll
      for (int w = 0; w < 4; ++w) top = fmaxf(top, shared.of_warp(group * 4 + w)[thread]);
      float2 state = shared.state(version)[thread];
      shared.tops()[thread] = fmaxf(shared.tops()[thread], top);
      if (top > state.y + RowState::kSlack) state.y = top;
      shared.state(version + 1)[thread] = state;
    }
    const int4 of_warps = reinterpret_cast<const int4*>(shared.units())[group];
    const int to = max(max(of_warps.x, of_warps.y), max(of_warps.z, of_warps.w));
    named_barrier(kGroup + group, 128);
    follow(o, version + 1, to);
  }

  // Takes over bases and unit: what was summed so far shrinks.
  __device__ __forceinline__ void follow(Output& o, int to_version, int to_unit) {
    const float change = exp2_approx(static_cast<float>(unit - to_unit));
#pragma unroll
    for (int j = 0; j < kPairs; ++j) {
      const float4 before = state_of(version, j), after = state_of(to_version, j);
      const float even = exp2_approx(before.y - after.y), odd = exp2_approx(before.w - after.w);
      sums[2 * j] *= even;
      sums[2 * j + 1] *= odd;
#pragma unroll
      for (int t = 0; t < 4; ++t) {
        o[t][4 * j] *= even * change;
        o[t][4 * j + 1] *= odd * change;
        o[t][4 * j + 2] *= even * change;
        o[t][4 * j + 3] *= odd * change;
      }
    }
    version = to_version;
    unit = to_unit;
  }

  __device__ __forceinline__ void publish(const Scores& s, uint32_t block) const {
    const int row = warp * 16 + (lane & 15);
    const uint32_t at = smem_address(shared.weight(block)) + row * 128;
#pragma unroll
    for (int i = 0; i < kPairs / 2; ++i) {
      const int chunk = 2 * i + (lane >> 4);
      const float* v = s + 8 * i;
      store_matrices(at + ((chunk ^ (row & 7)) << 4), pack_fp16(v[0], v[1]), pack_fp16(v[2], v[3]),
                     pack_fp16(v[4], v[5]), pack_fp16(v[6], v[7]));
    }
    if ((threadIdx.x & 127) == 0) shared.record(block) = {version, unit};
    ptx::fence_proxy_async(ptx::space_shared);
    arrive(shared.weights(block));
  }

  // ---- 3 values ----

  // O^T += V^T * P^T of a block whose weights are there. Frees the stage's rows as they are read.
  __device__ __forceinline__ void add_values(Output& o, uint32_t block) const {
    wait(shared.weights(block), (block >> 1) & 1);
    const uint32_t at = smem_address(shared.stage(block)) + (lane & 15) * S::kRow +
                        (lane >> 4) * 16 + group * kHalf + warp * 64;
    const uint64_t p =
        wgmma_descriptor(uniform(smem_address(shared.weight(block))), 16, 1024, Swizzle::k128);
    const uint32_t* factors = reinterpret_cast<const uint32_t*>(shared.factors(block)) +
                              (group * 2 + (warp >> 1)) * (kBlock / 2) + (lane & 3);
    uint32_t raw[2][4];
    load_transposed(raw[0], at);
#pragma unroll
    for (int n = 0; n < 8; ++n) {  // 16 keys, half of the columns
      const int keys = n / 2, half = n & 1;
      if (n + 1 < 8) {
        load_transposed(raw[(n + 1) & 1], at + (n + 1) / 2 * 16 * S::kRow + ((n + 1) & 1) * 32);
      }
      uint32_t a[2][4];
      if (n > 1) wgmma_wait<1>();
      value_fragments(raw[half], factors[8 * keys], factors[8 * keys + 4], a);
      if (half == 1) release(block, keys);
      wgmma_fence();
      wgmma_rs_columns(o[2 * half], a[0], p + keys * (2048 >> 4));
      wgmma_rs_columns(o[2 * half + 1], a[1], p + keys * (2048 >> 4));
      wgmma_commit();
    }
    wgmma_wait<0>();
#pragma unroll
    for (int t = 0; t < 4; ++t) wgmma_pin(o[t]);
  }

  __device__ __forceinline__ void release(uint32_t block, int quarter) const {
    arrive(shared.empty(block, quarter));
  }

  // The other warpgroup's block.
  __device__ __forceinline__ void take_other(Output& o, uint32_t block) {
    wait(shared.weights(block), (block >> 1) & 1);
    const Record record = shared.record(block);
    if (record.version != version || record.unit != unit) follow(o, record.version, record.unit);
    add_values(o, block);
  }

  // ---- 4 results ----

  // Adds up this unit's sums of all warps: of head threadIdx.x % 128, if there is one.
  __device__ __forceinline__ float join_sums() {
    const float2 pair = across_rows<kPairs>(sums, lane, [](float a, float b) { return a + b; });
    if (first_of_pair<kPairs>(lane)) {
      reinterpret_cast<float2*>(shared.of_warp(group * 4 + warp))[pair_of<kPairs>(lane)] = pair;
    }
    // The named barrier is the quick one. compute-sanitizer follows the other alone.
    arrive(shared.sums());
    named_barrier(kConsumers, 256);
    wait(shared.sums(), (units & 1) ^ 1);
    const int thread = static_cast<int>(threadIdx.x & 127);
    float sum = 0.0f;
    if (thread < S::kHeads) {
#pragma unroll
      for (int w = 0; w < 8; ++w) sum += shared.of_warp(w)[thread];
    }
    return sum;
  }

  // The token's output, given the sum of weights of head threadIdx.x % 128.
  __device__ __forceinline__ void write_final(const Output& o, int token, float sum) const {
    const Problem& problem = args.problem;
    const Tensors& tensors = problem.tensors;
    const int thread = static_cast<int>(threadIdx.x & 127);
    const int head = tile_of(args) * S::kHeads + thread;
    if (thread < S::kHeads && head < problem.heads) {
      const float base = shared.state(version)[thread].y;
      const float sink =
          tensors.sink ? tensors.sink[head * tensors.sink_head] * 1.4426950408889634f : -INFINITY;
      const float with_sink = sum + exp2_approx(sink - base);
      const float up = exp2_approx(static_cast<float>(unit));
      shared.result(group)[thread] = sum == 0.0f ? 0.0f : up / with_sink;
      if (group == 0) {
        write_stats(args, token, head, sum, with_sink, base, shared.tops()[thread]);
      }
    }
    named_barrier(kGroup + group, 128);
    uint8_t* out = static_cast<uint8_t*>(tensors.out) +
                   token_offset(args, tensors.out_token, token) +
                   tile_of(args) * S::kHeads * tensors.out_head;
    write_columns(o, out + group * kHalf * 2, tensors.out_head, args.out_aligned, pack_bf16);
  }

  // A partial: o / sum in fp16 under a power-of-two scale for each head and half, and the LSE.
  __device__ __forceinline__ void write_partial(const Output& o, int64_t slot, float sum) const {
    float most[2 * kPairs];
#pragma unroll
    for (int j = 0; j < kPairs; ++j) {
#pragma unroll
      for (int x = 0; x < 2; ++x) {
        most[2 * j + x] = 0.0f;
#pragma unroll
        for (int t = 0; t < 4; ++t) {
          most[2 * j + x] =
              fmaxf(most[2 * j + x], fmaxf(fabsf(o[t][4 * j + x]), fabsf(o[t][4 * j + 2 + x])));
        }
      }
    }
    const float2 pair =
        across_rows<kPairs>(most, lane, [](float a, float b) { return fmaxf(a, b); });
    float* peaks = reinterpret_cast<float*>(shared.weight(0)) + group * 4 * 64;
    if (first_of_pair<kPairs>(lane)) {
      reinterpret_cast<float2*>(peaks + warp * 64)[pair_of<kPairs>(lane)] = pair;
    }
    named_barrier(kGroup + group, 128);
    const int heads = args.plan.head_tiles * 64, first = tile_of(args) * S::kHeads;
    const int thread = static_cast<int>(threadIdx.x & 127), head = first + thread;
    if (thread < S::kHeads && head < args.problem.heads) {
      float peak = 0.0f;
#pragma unroll
      for (int w = 0; w < 4; ++w) peak = fmaxf(peak, peaks[w * 64 + thread]);
      const float inverse = sum == 0.0f ? 0.0f : exp2_approx(static_cast<float>(unit)) / sum;
      peak *= inverse;
      // Scaled values stay under 2^13.
      int exponent = peak > 0.0f && peak < INFINITY ? ilogbf(peak) - 12 : 0;
      exponent = min(max(exponent, -100), 100);
      shared.result(group)[thread] = inverse * exp2_approx(static_cast<float>(-exponent));
      args.partial_scale[(slot * 2 + group) * heads + head] =
          exp2_approx(static_cast<float>(exponent));
      if (group == 0) {
        const float base = shared.state(version)[thread].y;
        args.partial_lse[slot * heads + head] = sum == 0.0f ? -INFINITY : base + log2f(sum);
        args.partial_max[slot * heads + head] = shared.tops()[thread];
      }
    }
    named_barrier(kGroup + group, 128);
    __half* to = args.partial + ((slot * 2 + group) * heads + first) * kHalf;
    write_columns(o, reinterpret_cast<uint8_t*>(to), kHalf * 2, true, pack_fp16);
  }

  // Writes this group's columns of all heads, times the heads' factors: 16 bytes a lane, after
  // transposing 4x4 words among the lanes whose rows are neighbours.
  template <class Pack>
  __device__ __forceinline__ void write_columns(const Output& o, uint8_t* to, int64_t head_stride,
                                                bool aligned, Pack pack) const {
    const int q = lane & 3, row = lane >> 2;
    const bool odd = lane & 4, upper = lane & 8;
    to += warp * 128 + (row & 3) * 32 + (row & 4) * 4;
#pragma unroll
    for (int j = 0; j < kPairs; ++j) {
#pragma unroll
      for (int x = 0; x < 2; ++x) {
        const int head = 8 * j + 2 * q + x;
        const float factor = shared.result(group)[head];
        uint32_t v[4];
#pragma unroll
        for (int t = 0; t < 4; ++t) {
          v[t] = pack(o[t][4 * j + x] * factor, o[t][4 * j + 2 + x] * factor);
        }
#pragma unroll
        for (int i = 0; i < 4; i += 2) {
          const uint32_t got = __shfl_xor_sync(~0u, odd ? v[i] : v[i + 1], 4);
          v[i] = odd ? got : v[i];
          v[i + 1] = odd ? v[i + 1] : got;
        }
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          const uint32_t got = __shfl_xor_sync(~0u, upper ? v[i] : v[i + 2], 8);
          v[i] = upper ? got : v[i];
          v[i + 2] = upper ? v[i + 2] : got;
        }
        if (tile_of(args) * S::kHeads + head >= args.problem.heads) continue;
        store_chunk(to + head * head_stride, v, aligned);
      }
    }
  }

  // ---- 5 the consumer's loop ----

  // The first unit's Q is the consumers' to fetch, later ones the producer's. A thread converts the
  // chunks that it copied, or would have.
  __device__ __forceinline__ void prepare_q() const {
    if (units == 0) {
      wait_for_copies();
    } else {
      named_barrier(kConsumers, 256);  // nobody reads what is of the unit before
      wait(shared.q_full(), (units - 1) & 1);
    }
    convert_q();
    ptx::fence_proxy_async(ptx::space_shared);
    named_barrier(kConsumers, 256);
  }

  // Divides each head's queries by a power of two, which leaves their largest between 1 and 2, and
  // turns those for latent columns into fp16, in the order of key_fragments.
  __device__ __forceinline__ void convert_q() const {
    const int chunk = static_cast<int>(threadIdx.x & 7), first = static_cast<int>(threadIdx.x >> 3);
    const float common = args.problem.scale;
#pragma unroll 1
    for (int row = first; row < S::kHeads; row += 32) {
      uint8_t* at = shared.q() + row * 128 + ((chunk ^ (row & 7)) << 4);
      __nv_bfloat162 most = __float2bfloat162_rn(0.0f);
#pragma unroll
      for (int c = 0; c < S::kChunks; ++c) {
        const uint4 v = *reinterpret_cast<const uint4*>(at + c * S::kQTile);
        for (const uint32_t word : {v.x, v.y, v.z, v.w}) {
          most = __hmax2(most, __habs2(*reinterpret_cast<const __nv_bfloat162*>(&word)));
        }
      }
      float top = quad_max(fmaxf(__low2float(most), __high2float(most)));
      top = fmaxf(top, __shfl_xor_sync(~0u, top, 4));
      int exponent = static_cast<int>((__float_as_uint(top) >> 23) & 255);
      if (exponent == 0 || exponent == 255) exponent = 127;
      exponent = min(max(exponent, 1), 253);
      const float factor = __uint_as_float(static_cast<uint32_t>(254 - exponent) << 23);
      if (chunk == 0) {
        const float back = __uint_as_float(static_cast<uint32_t>(exponent) << 23);
        const float scale = (common > 0.0f ? common : 1.0f) * 1.4426950408889634f;
        shared.state(version)[row] = make_float2(scale * back, kNone);
        shared.tops()[row] = -INFINITY;
      }
#pragma unroll
      for (int c = 0; c < S::kChunks; ++c) {
        auto* place = reinterpret_cast<uint4*>(at + c * S::kQTile);
        *place = c == 8 ? scale_rope(*place, factor) : scale_latent(*place, factor, chunk & 1);
      }
    }
  }
  __device__ __forceinline__ static float low_of(uint32_t pair) {
    return __uint_as_float(pair << 16);
  }
  __device__ __forceinline__ static float high_of(uint32_t pair) {
    return __uint_as_float(pair & 0xFFFF0000u);
  }
  __device__ __forceinline__ static uint4 scale_rope(const uint4& v, float factor) {
    return make_uint4(pack_bf16(low_of(v.x) * factor, high_of(v.x) * factor),
                      pack_bf16(low_of(v.y) * factor, high_of(v.y) * factor),
                      pack_bf16(low_of(v.z) * factor, high_of(v.z) * factor),
                      pack_bf16(low_of(v.w) * factor, high_of(v.w) * factor));
  }
  // Of 16 dimensions 4q, 4q + 1 come first, 4q + 2, 4q + 3 in the odd chunk, a neighbour lane's.
  __device__ __forceinline__ static uint4 scale_latent(const uint4& v, float factor, bool odd) {
    const uint32_t h[4] = {pack_fp16(low_of(v.x) * factor, high_of(v.x) * factor),
                           pack_fp16(low_of(v.y) * factor, high_of(v.y) * factor),
                           pack_fp16(low_of(v.z) * factor, high_of(v.z) * factor),
                           pack_fp16(low_of(v.w) * factor, high_of(v.w) * factor)};
    const uint32_t a = __shfl_xor_sync(~0u, odd ? h[0] : h[1], 1);
    const uint32_t b = __shfl_xor_sync(~0u, odd ? h[2] : h[3], 1);
    return odd ? make_uint4(a, b, h[1], h[3]) : make_uint4(h[0], h[2], a, b);
  }

  __device__ __forceinline__ void done_with_q() const {
    arrive(shared.q_empty());
  }

  // Attends to blocks from ... to - 1, at least one. A turn is one block of this group and the
  // other's block before it, if that is of this unit.
  __device__ __forceinline__ void attend(Output& o, uint32_t from, uint32_t to) {
    Scores s;
    int unit_of_row[2];
    uint32_t block = from + ((from ^ group) & 1);
#pragma unroll 1
    for (; block < to; block += 2) {
      compute_scores(s, block, unit_of_row);
      if (block > from) take_other(o, block - 1);
      weigh(s, o, block, unit_of_row);
      add_values(o, block);
    }
    done_with_q();
    if (block == to) take_other(o, block - 1);
  }

  __device__ void run() {
    const Walking walking{args, shared};
    int token = walking.template start<false>();
#pragma unroll 1
    for (;; walking.next(token)) {
      const Share share = walking.share(token);
      const bool more = share.first < share.last;
      const int count = more ? count_of(share, keys_of(args, token)) : 0;
      if (units == 0 && (!more || count > 0)) {
        if (more) copy_q<S, 256>(args, shared, token, threadIdx.x);
        named_barrier(kConsumers, 256);
      }
      if (!more) return;
      attend_and_write(token, count);
    }
  }

  __device__ __forceinline__ void attend_and_write(int& token, int count) {
    Output o;
#pragma unroll
    for (int t = 0; t < 4; ++t) {
#pragma unroll
      for (int i = 0; i < kRegs; ++i) o[t][i] = 0.0f;
    }
#pragma unroll
    for (float& sum : sums) sum = 0.0f;
    unit = 0;
    float sum = 0.0f;
    if (count > 0) {
      prepare_q();
      ++units;
      attend(o, step, step + count);
      sum = join_sums();
      step += count;
    } else {
      // Nothing was summed: a unit of no keys has results of its own.
      named_barrier(kConsumers, 256);
      const int thread = static_cast<int>(threadIdx.x & 127);
      if (group == 0 && thread < S::kHeads) {
        shared.state(version)[thread] = make_float2(0.0f, kNone);
        shared.tops()[thread] = -INFINITY;
      }
      named_barrier(kConsumers, 256);
    }
    forget(token);
    const Share share = Walking{args, shared}.share(token);
    if (share.whole) {
      write_final(o, token, sum);
    } else {
      write_partial(o, share.slot, sum);
    }
  }
};

// ---- 6 kernel ----

template <class S, bool kByLength>
__global__ void __launch_bounds__(S::kThreads, 1)
    attention_kernel(const __grid_constant__ KernelArgs args) {
  extern __shared__ __align__(1024) uint8_t smem[];
  const Shared<S> shared{smem};
  if (threadIdx.x == 0) {
    for (uint32_t i = 0; i < S::kStages; ++i) {
      ptx::mbarrier_init(shared.full(i), 2);
      for (int k = 0; k < 4; ++k) ptx::mbarrier_init(shared.empty(i, k), 256);
    }
    for (uint32_t i = 0; i < 2; ++i) ptx::mbarrier_init(shared.weights(i), 128);
    ptx::mbarrier_init(shared.q_full(), 128);
    ptx::mbarrier_init(shared.q_empty(), 256);
    ptx::mbarrier_init(shared.sums(), 256);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
  }
  if (threadIdx.x < 32) named_arrive(kSetUp, 160);
  launch_dependents();
  // In this order ptxas puts the producer's code first, next to the kernel's entry. It is fetched
  // cold and all else waits for it: the other way round a call takes 1.5 us more.
  if (threadIdx.x < 256) {
    raise_registers<232>();
    Consumer<S, kByLength>(args, shared).run();
  } else {
    drop_registers<40>();
    Producer<S, kByLength>(args, shared).run();
  }
}

}  // namespace dsakit::sparse::fp8
