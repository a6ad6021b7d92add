// The attention kernel: 16 or 32 heads of a token against its keys, with warp-level matrix
// instructions and no more than every GPU from sm_80 on has.
//
// Contents: 1 keys · 2 queries · 3 scores · 4 output · 5 work · 6 kernel.
//
// A CTA has a tile of heads and one range of the line of blocks (sparse_plan.hpp), which are of one
// step here, 32 keys; neighbouring CTAs have the same range and other heads, so that L2 serves the
// later reads of a row. Rows are asked into L2 a step ahead and stored in shared
// memory as bf16, codes as they are: their scales are applied in fp32 to scores and to weights, so
// that no product of a code and a scale is ever rounded. Warp
// w computes for w % 4 of the columns the scores' part of that group of 128 (and a quarter of the
// rope's), and 64 columns of the output.
//
// A kernel that computes otherwise (mma_native.cuh) is a class over Cta, whose functions take the
// place of those here that are called through self().
//
// Invariants: rows of invalid keys are zero in shared memory and their weights are zero. Each step
// has four or five barriers; what is between two of them is named at each. Nothing depends on the
// architecture.
#pragma once

#include <type_traits>

#include "common/cuda/sparse_softmax.cuh"
#include "common/cuda/warp_mma.cuh"
#include "dsakit/kv_layout.hpp"
#include "flashinfer_sparse_mla/sparse_mla_mma.hpp"

namespace dsakit::sparse::mma {

using namespace dsakit::cuda;

inline constexpr int kThreads = 256;
inline constexpr int kWarps = kThreads / 32;
inline constexpr int kStep = 32;         // keys
inline constexpr int kGroups = 4;        // of 128 columns, with a scale each
inline constexpr int kPitch = 1168;      // bytes from row to row: 16 apart for ldmatrix
inline constexpr int kScorePitch = 40;   // floats
inline constexpr int kWeightPitch = 80;  // bytes
inline constexpr KvLayout kFooted = *find_kv_layout("v4_584");
inline constexpr float kLog2e = 1.4426950408889634f;

// A second list of keys and the cache that it is about; its keys follow those of the first on a
// token's line, from `from` on.
struct SecondList {
  Tensors tensors;
  Divisor page_size;
  int32_t topk = 0, from = kNoSecond;
  bool index64 = false;
  static constexpr int32_t kNoSecond = INT32_MAX;
};

struct Args {
  KernelArgs call;
  float* partial = nullptr;      // [slot][head][512], divided by their sums
  float* partial_lse = nullptr;  // [slot][head], log2; -inf for no key
  float* partial_max = nullptr;  // [slot][head], log2
  int32_t first_range = 0;       // of those that this launch works on
  int32_t first_token = 0;       // that they begin in
  SecondList second;             // layouts with a footer only; last, as others do not read it
};

// Heads of all tiles.
DSAKIT_HOST_DEVICE inline int padded_heads(const Plan& plan, int tile_heads) {
  return plan.head_tiles * tile_heads;
}
// Slot of what range g writes of a token; its first, or the token that it begins inside. With a
// fixed cut a range is a part of one token.
DSAKIT_HOST_DEVICE inline int64_t partial_slot(const Args& args, int g, bool begins_inside) {
  return args.call.plan.fixed ? g - args.first_range
                              : int64_t{g} * kPartialSlots + (begins_inside ? 1 : 0);
}
// Heads of a CTA.
DSAKIT_HOST_DEVICE inline int tile_heads(int heads) {
  return heads <= 16 ? 16 : 32;
}

// How a pool's rows are stored. With a footer: codes under one power of two for each 64 columns,
// behind the rows of the page, and bf16 rope columns that count among the 512 of K and V. What they
// stand for is bf16, so that is what is stored in shared memory.
enum class Rows { kBf16, kGroups, kFooter };

template <Rows kRows, int kTiles_>  // kTiles: of 16 heads
struct Shape {
  static constexpr bool kFp8 = kRows == Rows::kGroups;
  static constexpr bool kFooter = kRows == Rows::kFooter;
  static constexpr int kTiles = kTiles_;
  static constexpr int kHeads = 16 * kTiles;
  static constexpr int kKeyPitch = kPitch;
  static constexpr int kKeyOffset = kHeads * kPitch;
  // Scores of the four warps of a tile, and later weights, a copy for each scale.
  static constexpr int kScoreOffset = kKeyOffset + kStep * kPitch;
  static constexpr int kScoreBytes = kGroups * kHeads * kScorePitch * 4;
  static constexpr int kCopies = kFp8 ? kGroups : 1;  // of weights
  // Whether what bf16 leaves of a weight is kept, too: sums of codes under scales that cancel each
  // other would show it.
  static constexpr bool kRest = kFp8 || kFooter;
  static constexpr int kWeightCopies = kCopies * (kRest ? 2 : 1);
  static constexpr int kScaleOffset = kScoreOffset + kScoreBytes;  // float [step][4]
  static constexpr int kFactorOffset = kScaleOffset + kStep * 16;  // float [head]
  static constexpr int kValidOffset = kFactorOffset + kHeads * 4;  // uint8_t [step]
  // Few weights have a place of their own, many copies lie over the scores.
  static constexpr int kWeightBytes = kWeightCopies * kHeads * kWeightPitch;
  static constexpr int kWeightOffset = kFp8 ? kScoreOffset : kValidOffset + kStep;
  static constexpr int kBytes = kValidOffset + kStep + (kFp8 ? 0 : kWeightBytes);
  static_assert((!kFp8 || kWeightBytes <= kScoreBytes) && kBytes <= 99 * 1024);
};

// Self: the class that is derived from this one, if there is one.
template <class S, class Derived = void>
struct Cta {
  using Self = std::conditional_t<std::is_void_v<Derived>, Cta, Derived>;
  static constexpr int kRowThreads = kThreads / kStep;                 // that load a row
  static constexpr int kRowParts = (S::kFp8 ? 32 : 64) / kRowThreads;  // 16-byte parts of latent
  static constexpr int kRopeAt = S::kFooter ? kFooted.rope_offset
                                 : S::kFp8  ? kLatent + 16
                                            : kLatent * 2;     // bytes before rope
  static constexpr int kHeadThreads = kThreads / S::kHeads;   // that have a row of scores
  static constexpr int kKeys = kStep / kHeadThreads;          // of scores a thread
  static constexpr int kScoreTiles = S::kTiles == 2 ? 4 : 2;  // of 8 keys, a warp

  const Args& args;
  uint8_t* const smem;
  const int warp, lane;
  const int row;   // of a step, that this thread loads
  const int part;  // of it
  RowState state;  // of head threadIdx.x / kHeadThreads

  __device__ Cta(const Args& a, uint8_t* s)
      : args(a),
        smem(s),
        warp(static_cast<int>(threadIdx.x) / 32),
        lane(static_cast<int>(threadIdx.x) % 32),
        row(static_cast<int>(threadIdx.x) / kRowThreads),
        part(static_cast<int>(threadIdx.x) % kRowThreads) {}

  __device__ __forceinline__ Self& self() { return static_cast<Self&>(*this); }
  __device__ __forceinline__ const Self& self() const { return static_cast<const Self&>(*this); }

  __device__ float* scores() const { return reinterpret_cast<float*>(smem + S::kScoreOffset); }
  __device__ float* scales() const { return reinterpret_cast<float*>(smem + S::kScaleOffset); }
  __device__ float* factors() const { return reinterpret_cast<float*>(smem + S::kFactorOffset); }
  __device__ uint8_t* valid() const { return smem + S::kValidOffset; }
  __device__ int first_head() const {
    return static_cast<int>(blockIdx.x) % args.call.plan.head_tiles * S::kHeads;
  }

  // ---- 1 keys ----

  // Whether a place on a token's line is one of the second list.
  __device__ __forceinline__ bool in_second(int at) const {
    if constexpr (S::kFooter) return at >= args.second.from;
    return false;
  }
  __device__ __forceinline__ const Tensors& tensors_at(int at) const {
    return in_second(at) ? args.second.tensors : args.call.problem.tensors;
  }
  // Keys of the second list, by its lengths.
  __device__ __forceinline__ int second_keys(int token) const {
    const Tensors& tensors = args.second.tensors;
    const int topk = args.second.topk;
    if (!tensors.length) return topk;
    const int length = tensors.length[token / tensors.tokens_per_length * tensors.length_stride];
    return min(max(length, 0), topk);
  }
  // Where the list of a place ends.
  __device__ __forceinline__ int end_of_list(int token, int at) const {
    return in_second(at) ? args.second.from + second_keys(token) : keys_of(args.call, token);
  }
  // The step after the one at `at`: the second list's first behind the first list's last key.
  __device__ __forceinline__ int next_step(int token, int at) const {
    at += kStep;
    if constexpr (S::kFooter) {
      if (args.second.from != SecondList::kNoSecond && at < args.second.from &&
          at >= keys_of(args.call, token))
        return args.second.from;
    }
    return at;
  }

  // The slot of this thread's row in a step, or -1.
  __device__ __forceinline__ int load_entry(int token, int step, int end) const {
    int at = step + row;
    if constexpr (S::kFooter) end = min(end, end_of_list(token, step));
    if (at >= end) return -1;
    const Tensors& tensors = tensors_at(step);
    bool index64 = args.call.problem.index64;
    if (in_second(step)) {
      at -= args.second.from;
      index64 = args.second.index64;
    }
    const int64_t place = token_offset(args.call, tensors.index_token, token) + at;
    if (!index64) return static_cast<const int32_t*>(tensors.indices)[place];
    const int64_t entry = static_cast<const int64_t*>(tensors.indices)[place];
    return entry >= 0 && entry < tensors.slots ? static_cast<int>(entry) : -1;
  }

  // Where the row of an entry is.
  struct Place {
    const uint8_t* page;
    uint32_t row;
  };
  __device__ __forceinline__ Place place_of(int entry, int step) const {
    const Tensors& tensors = tensors_at(step);
    const auto slot = static_cast<uint32_t>(entry);
    const uint32_t page =
        in_second(step) ? args.second.page_size.quotient(slot) : args.call.page_size.quotient(slot);
    return {static_cast<const uint8_t*>(tensors.kv) + page * tensors.kv_page,
            slot - page * tensors.page_size};
  }
  __device__ __forceinline__ const uint8_t* row_bytes(int entry, int step) const {
    const Place place = place_of(entry, step);
    return place.page + place.row * tensors_at(step).kv_row;
  }

  // Brings the row of an entry into L2.
  __device__ __forceinline__ void prefetch(int entry, int step) const {
    if (static_cast<uint32_t>(entry) >= tensors_at(step).slots) return;
    const uint8_t* from = row_bytes(entry, step);
    const int bytes = kRopeAt + (S::kFooter || args.call.problem.rope ? 128 : 0);
    constexpr int kMost = kRopeAt + 128 + 127, kAtOnce = kRowThreads * 128;
#pragma unroll
    for (int i = 0; i < (kMost + kAtOnce - 1) / kAtOnce; ++i) {
      const int at = i * kAtOnce + part * 128;
      if (at < bytes + 127) prefetch_line(from + min(at, bytes - 1));
    }
    if (S::kFooter && part == kRowThreads - 1)
      prefetch_line(footer_of(place_of(entry, step), tensors_at(step).page_size));
  }

  // Fetches the row of an entry and stores it; copies are still under way afterwards.
  __device__ __forceinline__ void fetch(int entry, int step) const {
    const bool is_key = static_cast<uint32_t>(entry) < tensors_at(step).slots;
    if constexpr (S::kFooter) {
      fetch_footed(place_of(is_key ? entry : 0, step), tensors_at(step).page_size, is_key);
      return;
    }
    const uint8_t* from = row_bytes(is_key ? entry : 0, step) + part * 16;
    uint8_t* const to = smem + S::kKeyOffset + row * kPitch;
    if (args.call.problem.rope)
      copy_chunk(shared_address(to) + kLatent * 2 + part * 16, from + kRopeAt, is_key);
    if (part == 0) valid()[row] = is_key;
    if constexpr (S::kFp8) {
      if (part < kGroups)
        copy_word(shared_address(scales() + row * kGroups + part), from + kLatent - part * 12,
                  is_key);
      store_codes(to, from, is_key);
    } else {
#pragma unroll
      for (int i = 0; i < kRowParts; ++i)
        copy_chunk(shared_address(to) + (part + kRowThreads * i) * 16, from + kRowThreads * i * 16,
                   is_key);
    }
  }
  // The scales of a row.
  __device__ __forceinline__ static const uint8_t* footer_of(const Place& place,
                                                             uint32_t page_size) {
    return place.page + int64_t{page_size} * kFooted.row_bytes +
           int64_t{place.row} * kFooted.footer_bytes;
  }
  __device__ __forceinline__ void fetch_footed(const Place& place, uint32_t page_size,
                                               bool is_key) const {
    const uint8_t* const from = place.page + int64_t{place.row} * kFooted.row_bytes + part * 16;
    uint8_t* const to = smem + S::kKeyOffset + row * kPitch;
    copy_chunk(shared_address(to) + kFooted.latent * 2 + part * 16, from + kFooted.rope_offset,
               is_key);
    if (part == 0) valid()[row] = is_key;
    constexpr int kParts = kFooted.latent / 16, kLoads = (kParts + kRowThreads - 1) / kRowThreads;
    uint2 scales = make_uint2(0, 0);
    if (is_key) scales = __ldg(reinterpret_cast<const uint2*>(footer_of(place, page_size)));
    uint4 codes[kLoads];
#pragma unroll
    for (int i = 0; i < kLoads; ++i)
      codes[i] = load_row(from + kRowThreads * i * 16, is_key && part + kRowThreads * i < kParts);
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const int at = part + kRowThreads * i;  // of 16 codes
      if (at >= kParts) continue;
      const int group = at / (kFooted.group / 16);
      const uint32_t scale = bf16_of_ue8m0((group < 4 ? scales.x : scales.y) >> 8 * (group & 3));
      const uint2 a = scaled(codes[i].x, scale), b = scaled(codes[i].y, scale);
      const uint2 c = scaled(codes[i].z, scale), d = scaled(codes[i].w, scale);
      auto* const pair = reinterpret_cast<uint4*>(to + at * 32);
      pair[0] = make_uint4(a.x, a.y, b.x, b.y);
      pair[1] = make_uint4(c.x, c.y, d.x, d.y);
    }
  }
  // Four codes times a scale.
  __device__ __forceinline__ static uint2 scaled(uint32_t codes, uint32_t scale) {
    const uint2 values = bf16_of_word(codes);
    return make_uint2(multiply_pairs(values.x, scale), multiply_pairs(values.y, scale));
  }
  __device__ __forceinline__ void store_codes(uint8_t* to, const uint8_t* from, bool is_key) const {
    uint4 codes[kRowParts];
#pragma unroll
    for (int i = 0; i < kRowParts; ++i) codes[i] = load_row(from + kRowThreads * i * 16, is_key);
#pragma unroll
    for (int i = 0; i < kRowParts; ++i) {
      const uint2 a = bf16_of_word(codes[i].x), b = bf16_of_word(codes[i].y);
      const uint2 c = bf16_of_word(codes[i].z), d = bf16_of_word(codes[i].w);
      auto* const pair = reinterpret_cast<uint4*>(to + (part + kRowThreads * i) * 32);
      pair[0] = make_uint4(a.x, a.y, b.x, b.y);
      pair[1] = make_uint4(c.x, c.y, d.x, d.y);
    }
  }

  // ---- 2 queries ----

  // Starts copying a token's queries; zeros for heads that there are not.
  __device__ __forceinline__ void fetch_q(int token) const {
    const Tensors& tensors = args.call.problem.tensors;
    const int head = static_cast<int>(threadIdx.x) / kHeadThreads, number = first_head() + head;
    const int first = static_cast<int>(threadIdx.x) % kHeadThreads;
    const bool there = number < args.call.problem.heads;
    const uint8_t* from = static_cast<const uint8_t*>(tensors.q) +
                          token_offset(args.call, tensors.q_token, token) +
                          (there ? number : 0) * tensors.q_head + first * 16;
    const uint32_t to = shared_address(smem) + head * kPitch + first * 16;
    const int chunks = args.call.problem.rope ? 72 : 64;
    for (int at = 0; at + first < chunks; at += kHeadThreads)
      copy_chunk(to + at * 16, from + at * 16, there);
  }

  // ---- 3 scores ----

  // Adds the products of 32 bytes of queries and keys that begin at these bytes of a row.
  template <class Multiply>
  __device__ __forceinline__ void add_products(float (&s)[kScoreTiles][4], int of_q, int of_key,
                                               Multiply multiply_tiles) const {
    const int tile = S::kTiles == 2 ? warp / 4 : 0;
    const int key = S::kTiles == 2 ? 0 : warp / 4 * 16;
    const uint32_t q =
        shared_address(smem) + (tile * 16 + (lane & 15)) * kPitch + of_q + (lane >> 4) * 16;
    const uint32_t k = shared_address(smem + S::kKeyOffset) +
                       (key + (lane & 7) + (lane >> 4) * 8) * S::kKeyPitch + of_key +
                       ((lane >> 3) & 1) * 16;
    uint32_t a[4];
    load_matrices(a, q);
#pragma unroll
    for (int n = 0; n < kScoreTiles; n += 2) {
      uint32_t b[4];
      load_matrices(b, k + n * 8 * S::kKeyPitch);
      multiply_tiles(s[n], a, b[0], b[1]);
      multiply_tiles(s[n + 1], a, b[2], b[3]);
    }
  }
  __device__ __forceinline__ void add_products(float (&s)[kScoreTiles][4], int of_q,
                                               int of_key) const {
    add_products(s, of_q, of_key,
                 [](float(&d)[4], const uint32_t(&a)[4], uint32_t b0, uint32_t b1) {
                   multiply(d, a, b0, b1);
                 });
  }

  // This warp's part of the scores: its group of columns under the group's scale, and its quarter
  // of the rope columns.
  __device__ __forceinline__ void compute_scores() const {
    const int group = warp % 4;
    float s[kScoreTiles][4] = {};
#pragma unroll S::kRest ? 4 : 8
    for (int i = 0; i < 8; ++i) add_products(s, group * 256 + i * 32, group * 256 + i * 32);
    if constexpr (S::kFp8) apply_scales(s, 1.0f, 1.0f);
    constexpr int kRopeBytes = kLatent * 2;
    if (args.call.problem.rope) add_products(s, kRopeBytes + group * 32, kRopeBytes + group * 32);
    store_scores(s);
  }
  // The first of the keys of this lane, and the first of its heads in the tile.
  __device__ __forceinline__ int score_key() const {
    return (S::kTiles == 2 ? 0 : warp / 4 * 16) + (lane & 3) * 2;
  }
  __device__ __forceinline__ int score_head() const {
    return (S::kTiles == 2 ? warp / 4 * 16 : 0) + lane / 4;
  }
  // Multiplies scores by the scales of their keys in this warp's group, and by factors of its two
  // heads.
  __device__ __forceinline__ void apply_scales(float (&s)[kScoreTiles][4], float head,
                                               float other_head) const {
    const int group = warp % 4, key = score_key();
#pragma unroll
    for (int n = 0; n < kScoreTiles; ++n) {
      const float low = scales()[(key + n * 8) * kGroups + group];
      const float high = scales()[(key + n * 8 + 1) * kGroups + group];
#pragma unroll
      for (int i = 0; i < 4; ++i) s[n][i] *= (i & 1 ? high : low) * (i < 2 ? head : other_head);
    }
  }
  __device__ __forceinline__ void store_scores(const float (&s)[kScoreTiles][4]) const {
    float* const to = scores() + (warp % 4 * S::kHeads + score_head()) * kScorePitch + score_key();
#pragma unroll
    for (int n = 0; n < kScoreTiles; ++n) {
      *reinterpret_cast<float2*>(to + n * 8) = make_float2(s[n][0], s[n][1]);
      *reinterpret_cast<float2*>(to + 8 * kScorePitch + n * 8) = make_float2(s[n][2], s[n][3]);
    }
  }

  // Largest or sum over the threads of a head.
  __device__ __forceinline__ static float head_max(float x) {
#pragma unroll
    for (int i = 1; i < kHeadThreads; i *= 2) x = fmaxf(x, __shfl_xor_sync(~0u, x, i));
    return x;
  }
  __device__ __forceinline__ static float head_sum(float x) {
#pragma unroll
    for (int i = 1; i < kHeadThreads; i *= 2) x += __shfl_xor_sync(~0u, x, i);
    return x;
  }

  // Adds up the parts of this thread's scores and turns them into weights. Answers what outputs
  // so far are to be multiplied by.
  __device__ __forceinline__ float weigh(float (&w)[kKeys]) {
    const int head = static_cast<int>(threadIdx.x) / kHeadThreads;
    const int key = static_cast<int>(threadIdx.x) % kHeadThreads * kKeys;
    const float scale_log2 = args.call.problem.scale * kLog2e;
    float top = -INFINITY;
    using Keys = std::conditional_t<kKeys == 4, float4, float2>;
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
      const Keys part =
          *reinterpret_cast<const Keys*>(scores() + (g * S::kHeads + head) * kScorePitch + key);
      const float* const x = reinterpret_cast<const float*>(&part);
#pragma unroll
      for (int i = 0; i < kKeys; ++i) w[i] = g == 0 ? x[i] : w[i] + x[i];
    }
    using Flags = std::conditional_t<kKeys == 4, uint32_t, uint16_t>;
    const uint32_t is_key = *reinterpret_cast<const Flags*>(valid() + key);
#pragma unroll
    for (int i = 0; i < kKeys; ++i) {
      w[i] = is_key >> 8 * i & 1 ? w[i] * scale_log2 : -INFINITY;
      top = fmaxf(top, w[i]);
    }
    const float factor = state.admit(head_max(top));
    const float offset = state.offset();
#pragma unroll
    for (int i = 0; i < kKeys; ++i) {
      w[i] = exp2_approx(w[i] - offset);
      state.sum += w[i];
    }
    return factor;
  }

  // Stores weights in bf16; with fp8 for each group of columns under its scale; and what that
  // rounding left where it counts.
  __device__ __forceinline__ void store_weights(const float (&w)[kKeys], float factor) const {
    const int head = static_cast<int>(threadIdx.x) / kHeadThreads;
    const int key = static_cast<int>(threadIdx.x) % kHeadThreads * kKeys;
    if (key == 0) factors()[head] = factor;
    uint8_t* to = smem + S::kWeightOffset + head * kWeightPitch + key * 2;
    constexpr int kCopy = S::kHeads * kWeightPitch;
    const auto scaled_weight = [&](int i, int g) {
      return S::kFp8 ? w[i] * scales()[(key + i) * kGroups + g] : w[i];
    };
#pragma unroll
    for (int g = 0; g < S::kCopies; ++g) {
      uint32_t pairs[kKeys / 2], rest[kKeys / 2];
#pragma unroll
      for (int i = 0; i < kKeys; i += 2) {
        const float low = scaled_weight(i, g), high = scaled_weight(i + 1, g);
        const uint32_t pair = pack_bf16(low, high);
        pairs[i / 2] = pair;
        rest[i / 2] = pack_bf16(low - __uint_as_float(pair << 16),
                                high - __uint_as_float(pair & 0xFFFF0000u));
      }
      put(to + g * kCopy, pairs);
      if constexpr (S::kRest) put(to + (S::kCopies + g) * kCopy, rest);
    }
  }
  __device__ __forceinline__ static void put(uint8_t* to, const uint32_t (&pairs)[kKeys / 2]) {
    if constexpr (kKeys == 4) {
      *reinterpret_cast<uint2*>(to) = make_uint2(pairs[0], pairs[1]);
    } else {
      *reinterpret_cast<uint32_t*>(to) = pairs[0];
    }
  }

  // ---- 4 output ----

  // What this warp's columns of a row of the tile are multiplied by, in place and when written.
  __device__ __forceinline__ float factor_of(int row_of_tile) const {
    return factors()[row_of_tile];
  }
  __device__ __forceinline__ void set_factor(int row_of_tile, float factor) const {
    factors()[row_of_tile] = factor;
  }
  // The n-th pair of neighbouring columns that this lane has of a row, of those of the warp.
  struct Pair {
    int column;
    float low, high;
  };
  __device__ __forceinline__ Pair pair_of(const float (&o)[8][4], int n, int r) const {
    return {(lane & 3) * 2 + n * 8, o[n][2 * r], o[n][2 * r + 1]};
  }

  // Multiplies the output by factors of its rows.
  __device__ __forceinline__ void scale_rows(float (&o)[S::kTiles][8][4]) const {
#pragma unroll
    for (int t = 0; t < S::kTiles; ++t) {
      const float low = self().factor_of(t * 16 + lane / 4);
      const float high = self().factor_of(t * 16 + lane / 4 + 8);
      if (!__any_sync(~0u, low != 1.0f || high != 1.0f)) continue;
#pragma unroll
      for (int n = 0; n < 8; ++n) {
#pragma unroll
        for (int i = 0; i < 4; ++i) o[t][n][i] *= i < 2 ? low : high;
      }
    }
  }

  // O += P * V for this warp's 64 columns.
  __device__ __forceinline__ void add_values(float (&o)[S::kTiles][8][4]) const {
    const int copy = S::kFp8 ? warp / 2 : 0;
    const uint32_t weights = shared_address(smem + S::kWeightOffset) +
                             (copy * S::kHeads + (lane & 15)) * kWeightPitch + (lane >> 4) * 16;
    const uint32_t values = shared_address(smem + S::kKeyOffset) + (lane & 15) * kPitch +
                            (warp * 64 + (lane >> 4) * 8) * 2;
#pragma unroll S::kRest ? 1 : 2
    for (int k = 0; k < kStep / 16; ++k) {
      uint32_t a[S::kTiles][4], rest[S::kTiles][4];
#pragma unroll
      for (int t = 0; t < S::kTiles; ++t) {
        const uint32_t at = weights + t * 16 * kWeightPitch + k * 32;
        load_matrices(a[t], at);
        if constexpr (S::kRest) load_matrices(rest[t], at + S::kCopies * S::kHeads * kWeightPitch);
      }
#pragma unroll
      for (int n = 0; n < 8; n += 2) {
        uint32_t b[4];
        load_transposed(b, values + k * 16 * kPitch + n * 16);
#pragma unroll
        for (int t = 0; t < S::kTiles; ++t) {
          multiply(o[t][n], a[t], b[0], b[1]);
          multiply(o[t][n + 1], a[t], b[2], b[3]);
          if constexpr (S::kRest) {
            multiply(o[t][n], rest[t], b[0], b[1]);
            multiply(o[t][n + 1], rest[t], b[2], b[3]);
          }
        }
      }
    }
  }

  __device__ __forceinline__ void write_final(const float (&o)[S::kTiles][8][4], int token) const {
    const Tensors& tensors = args.call.problem.tensors;
#pragma unroll
    for (int t = 0; t < S::kTiles; ++t) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const int of_tile = t * 16 + lane / 4 + 8 * r, head = first_head() + of_tile;
        if (head >= args.call.problem.heads) continue;
        const float inverse = self().factor_of(of_tile);
        uint8_t* const row_out = static_cast<uint8_t*>(tensors.out) +
                                 token_offset(args.call, tensors.out_token, token) +
                                 head * tensors.out_head + warp * 128;
#pragma unroll
        for (int n = 0; n < 8; ++n) {
          const Pair pair = self().pair_of(o[t], n, r);
          const uint32_t packed = pack_bf16(pair.low * inverse, pair.high * inverse);
          uint8_t* const to = row_out + pair.column * 2;
          if (args.call.out_aligned) {
            *reinterpret_cast<uint32_t*>(to) = packed;
          } else {
            reinterpret_cast<uint16_t*>(to)[0] = static_cast<uint16_t>(packed);
            reinterpret_cast<uint16_t*>(to)[1] = static_cast<uint16_t>(packed >> 16);
          }
        }
      }
    }
  }

  __device__ __forceinline__ void write_partial(const float (&o)[S::kTiles][8][4],
                                                int64_t slot) const {
    const int heads = padded_heads(args.call.plan, S::kHeads);
#pragma unroll
    for (int t = 0; t < S::kTiles; ++t) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const int of_tile = t * 16 + lane / 4 + 8 * r;
        const float inverse = self().factor_of(of_tile);
        if (first_head() + of_tile >= args.call.problem.heads) continue;
        float* const to =
            args.partial + (slot * heads + first_head() + of_tile) * kLatent + warp * 64;
#pragma unroll
        for (int n = 0; n < 8; ++n) {
          const Pair pair = self().pair_of(o[t], n, r);
          *reinterpret_cast<float2*>(to + pair.column) =
              make_float2(pair.low * inverse, pair.high * inverse);
        }
      }
    }
  }

  // Leaves as factors by what the output is to be multiplied, and writes what else is reported.
  __device__ __forceinline__ void finish(const Share& share, int token) {
    const Tensors& tensors = args.call.problem.tensors;
    const int of_tile = static_cast<int>(threadIdx.x) / kHeadThreads;
    const int head = first_head() + of_tile;
    const float sum = head_sum(state.sum);
    if (static_cast<int>(threadIdx.x) % kHeadThreads != 0) return;
    float divisor = sum;
    if (share.whole) {
      const bool there = head < args.call.problem.heads;
      const float sink =
          tensors.sink && there ? tensors.sink[head * tensors.sink_head] * kLog2e : -INFINITY;
      divisor = sum + exp2_approx(sink - state.offset());
      if (there) write_stats(args.call, token, head, sum, divisor, state.base, state.top);
    } else {
      const int64_t at = slot(share) * padded_heads(args.call.plan, S::kHeads) + head;
      args.partial_lse[at] = sum == 0.0f ? -INFINITY : state.base + log2f(sum);
      args.partial_max[at] = state.top;
    }
    self().set_factor(of_tile, sum == 0.0f ? 0.0f : 1.0f / divisor);
  }

  // ---- 5 work ----

  __device__ __forceinline__ int range() const {
    return args.first_range + static_cast<int>(blockIdx.x) / args.call.plan.head_tiles;
  }
  __device__ __forceinline__ int64_t slot(const Share& share) const {
    return partial_slot(args, range(), share.first == 0);
  }
  // Keeps the compiler from carrying over what it knows about x, in registers that are wanted.
  __device__ __forceinline__ static void forget(int& x) {
    asm volatile("" : "+r"(x));
  }

  // Attends to the range's share of a token.
  __device__ __forceinline__ void attend(float (&o)[S::kTiles][8][4], int& token) {
    const Share share = share_of(args.call, range(), token);
    int at = share.first * kStep;
    const int end = min(end_of_list(token, share.last * kStep - 1), share.last * kStep);
    if (at >= end) return;
    // Entries are read two steps ahead: their list comes from DRAM, too.
    int entry = load_entry(token, at, end);
    int after = next_step(token, at);
    int next = load_entry(token, after, end);
    self().fetch_q(token);
#pragma unroll 1
    while (at < end) {
      forget(token);  // where its list starts is computed anew
      const int later = next_step(token, after);
      const int coming = load_entry(token, later, end);
      __syncthreads();  // nobody reads the last step's keys and weights
      self().fetch(entry, at);
      prefetch(next, after);
      at = after;
      after = later;
      entry = next;
      next = coming;
      wait_for_chunks();
      __syncthreads();  // the keys, and at first the queries, are there
      self().compute_scores();
      __syncthreads();  // the scores are there
      float w[kKeys];
      const float factor = weigh(w);
      if constexpr (S::kFp8) __syncthreads();  // the scores are in registers
      self().store_weights(w, factor);
      __syncthreads();  // the weights are there
      scale_rows(o);
      self().add_values(o);
    }
  }

  // Before a token's first step.
  __device__ __forceinline__ void begin() {
    state = RowState{};
  }

  __device__ __forceinline__ void run() {
#pragma unroll 1
    for (int token = first_token(args.call, range());; ++token) {
      if (const Share share = share_of(args.call, range(), token); share.first >= share.last)
        return;
      float o[S::kTiles][8][4] = {};
      self().begin();
      __syncthreads();  // nobody reads the last unit's queries and factors
      attend(o, token);
      __syncthreads();  // nobody reads the last step's factors
      forget(token);
      const Share share = share_of(args.call, range(), token);
      finish(share, token);
      __syncthreads();  // the factors of the results are there
      if (share.whole) {
        write_final(o, token);
      } else {
        write_partial(o, slot(share));
      }
    }
  }
};

// ---- 6 kernel ----

template <class S>
__global__ void __launch_bounds__(kThreads, 2) attention_kernel(const __grid_constant__ Args args) {
  extern __shared__ __align__(16) uint8_t smem[];
  Cta<S>(args, smem).run();
}

}  // namespace dsakit::sparse::mma
