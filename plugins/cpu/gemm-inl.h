// The two small matrix products, register-blocked. Included once per vector target.
//
// Contents: register tiles; logits = keys x queries; the same for few heads; values +=
// probabilities x keys
// clang-format off
#if defined(DSAKIT_CPU_GEMM_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef DSAKIT_CPU_GEMM_INL
#undef DSAKIT_CPU_GEMM_INL
#else
#define DSAKIT_CPU_GEMM_INL
#endif
// clang-format on

#include <algorithm>
#include <type_traits>

#include "hwy/highway.h"
#include "plugins/cpu/decode-inl.h"
#include "plugins/cpu/kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace dsakit::cpu {
namespace HWY_NAMESPACE {

// ---- Register tiles ----

#if HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM_A64
constexpr bool kManyRegisters = true;  // 32
#else
constexpr bool kManyRegisters = false;  // 16
#endif

// Vectors of heads in a panel, at most.
constexpr int kPanelVectors = kManyRegisters ? std::min(4, kPanelHeads / kLanes) : 2;
// Keys of a logits tile that is w vectors wide; divides kKeyBlock.
constexpr int tile_keys(int w) {
  if (!kManyRegisters) return w == 1 ? 8 : 4;
  return w == 1 ? 16 : w == 2 ? 8 : 4;
}
// Heads and vectors of a values tile.
constexpr int kValueHeads = kManyRegisters ? 8 : 4;
constexpr int kValueVectors = kManyRegisters ? 3 : 2;
// Depth of a pass over d_qk: a panel of queries that deep stays in the first-level cache.
constexpr int kDepth = 96;

// ---- logits = keys x queries ----

// logits[key, 0..W) (+)= sum over d in [0, depth) of tile[key, d] * query[d, 0..W).
template <int W>
HWY_INLINE void logits_tile(const float* HWY_RESTRICT query, const float* HWY_RESTRICT tile,
                            int tile_stride, int depth, bool first, float* HWY_RESTRICT logits,
                            int logits_stride) {
  constexpr int kKeys = tile_keys(W);
  const DF df;
  VF sum[kKeys][W];
  for (int k = 0; k < kKeys; ++k)
    for (int w = 0; w < W; ++w)
      sum[k][w] = first ? hn::Zero(df) : hn::Load(df, logits + k * logits_stride + w * kLanes);
  for (int d = 0; d < depth; ++d) {
    VF q[W];
    for (int w = 0; w < W; ++w) q[w] = hn::Load(df, query + (d * W + w) * kLanes);
    for (int k = 0; k < kKeys; ++k) {
      const VF key = hn::Set(df, tile[k * tile_stride + d]);
      for (int w = 0; w < W; ++w) sum[k][w] = hn::MulAdd(key, q[w], sum[k][w]);
    }
  }
  for (int k = 0; k < kKeys; ++k)
    for (int w = 0; w < W; ++w) hn::Store(sum[k][w], df, logits + k * logits_stride + w * kLanes);
}

// One panel of W vectors of heads against all keys.
template <int W>
void logits_panel(const float* query, const HeadBlock& block, int count, const float* tile,
                  float* logits, Prefetcher& ahead) {
  constexpr int kKeys = tile_keys(W);
  for (int d = 0; d < block.d_qk; d += kDepth) {
    const int depth = std::min(kDepth, block.d_qk - d);
    for (int k = 0; k < count; k += kKeys) {
      if (d == 0) ahead.step(kKeys / 2);
      logits_tile<W>(query + static_cast<std::ptrdiff_t>(d) * W * kLanes,
                     tile + static_cast<std::ptrdiff_t>(k) * block.tile_stride + d,
                     block.tile_stride, depth, d == 0,
                     logits + static_cast<std::ptrdiff_t>(k) * block.heads_pad, block.heads_pad);
    }
  }
}

// ---- logits for few heads ----
// Where heads would fill at most half a vector, lanes run along d instead and are summed at the
// end.

// Heads behind the last full vector that take this way.
constexpr int few_heads(int heads) {
  const int rest = heads % kLanes;
  return rest <= kLanes / 2 ? rest : 0;
}

#if HWY_TARGET != HWY_SCALAR  // which has no partly filled vectors

// Adds neighbouring 128-bit blocks until one is left.
template <class D>
HWY_INLINE hn::Vec<hn::Full128<float>> sum_blocks([[maybe_unused]] D d, hn::Vec<D> v) {
  if constexpr (hn::MaxLanes(D()) == 4) {
    return v;
  } else {
    const hn::Half<D> half;
    return sum_blocks(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
}

// The sums over all lanes of four vectors.
HWY_INLINE hn::Vec<hn::Full128<float>> four_sums(VF a, VF b, VF c, VF e) {
  const DF df;
  const hn::Repartition<double, DF> pairs;
  const VF ab = hn::Add(hn::InterleaveLower(df, a, b), hn::InterleaveUpper(df, a, b));
  const VF ce = hn::Add(hn::InterleaveLower(df, c, e), hn::InterleaveUpper(df, c, e));
  const auto lower = hn::InterleaveLower(pairs, hn::BitCast(pairs, ab), hn::BitCast(pairs, ce));
  const auto upper = hn::InterleaveUpper(pairs, hn::BitCast(pairs, ab), hn::BitCast(pairs, ce));
  return sum_blocks(df, hn::Add(hn::BitCast(df, lower), hn::BitCast(df, upper)));
}

// query is [H, d_qk]; writes H rounded up to 4 logits of each key.
template <int H>
void logits_few(const float* HWY_RESTRICT query, const HeadBlock& block, int count,
                const float* HWY_RESTRICT tile, float* HWY_RESTRICT logits, Prefetcher& ahead) {
  constexpr int kKeys = std::min(8, (kManyRegisters ? 16 : 8) / H);
  const DF df;
  for (int k = 0; k < count; k += kKeys) {
    ahead.step(kKeys / 2);
    const float* keys = tile + static_cast<std::ptrdiff_t>(k) * block.tile_stride;
    VF sum[kKeys][H];
    for (int i = 0; i < kKeys; ++i)
      for (int h = 0; h < H; ++h) sum[i][h] = hn::Zero(df);
    for (int d = 0; d < block.d_qk; d += kLanes) {
      VF key[kKeys];
      for (int i = 0; i < kKeys; ++i) key[i] = hn::Load(df, keys + i * block.tile_stride + d);
      for (int h = 0; h < H; ++h) {
        const VF q = hn::Load(df, query + h * block.d_qk + d);
        for (int i = 0; i < kKeys; ++i) sum[i][h] = hn::MulAdd(key[i], q, sum[i][h]);
      }
    }
    for (int i = 0; i < kKeys; ++i) {
      float* to = logits + static_cast<std::ptrdiff_t>(k + i) * block.heads_pad;
      for (int h = 0; h < H; h += 4)
        hn::StoreU(four_sums(sum[i][h], sum[i][std::min(h + 1, H - 1)],
                             sum[i][std::min(h + 2, H - 1)], sum[i][std::min(h + 3, H - 1)]),
                   hn::Full128<float>(), to + h);
    }
  }
}

#endif

// ---- values += probabilities x keys ----

// values[h, 0..V) = values[h] * alpha[h] + sum over keys of p[key, h] * tile[key, 0..V); `fresh`
// values count as 0, whatever is there.
template <int H, int V>
HWY_INLINE void values_tile(const float* HWY_RESTRICT p, int p_stride, int count,
                            const float* HWY_RESTRICT tile, int tile_stride,
                            const float* HWY_RESTRICT alpha, bool fresh, float* HWY_RESTRICT values,
                            int values_stride) {
  const DF df;
  VF sum[H][V];
  for (int h = 0; h < H; ++h) {
    const VF keep = hn::Set(df, alpha[h]);
    for (int v = 0; v < V; ++v)
      sum[h][v] = fresh ? hn::Zero(df)
                        : hn::Mul(hn::Load(df, values + h * values_stride + v * kLanes), keep);
  }
  for (int k = 0; k < count; ++k) {
    VF x[V];
    for (int v = 0; v < V; ++v) x[v] = hn::Load(df, tile + k * tile_stride + v * kLanes);
    for (int h = 0; h < H; ++h) {
      const VF weight = hn::Set(df, p[k * p_stride + h]);
      for (int v = 0; v < V; ++v) sum[h][v] = hn::MulAdd(weight, x[v], sum[h][v]);
    }
  }
  for (int h = 0; h < H; ++h)
    for (int v = 0; v < V; ++v) hn::Store(sum[h][v], df, values + h * values_stride + v * kLanes);
}

// A strip of V vectors for all heads: groups of kValueHeads, then 4, 2, 1.
template <int V>
void values_strip(const float* p, const HeadBlock& block, int count, const float* tile,
                  const float* alpha, bool fresh, float* values) {
  int h = 0;
  const auto run = [&]<int H>(std::integral_constant<int, H>) {
    for (; h + H <= block.heads; h += H)
      values_tile<H, V>(p + h, block.heads_pad, count, tile, block.tile_stride, alpha + h, fresh,
                        values + static_cast<std::ptrdiff_t>(h) * block.d_v, block.d_v);
  };
  run(std::integral_constant<int, kValueHeads>());
  if constexpr (kValueHeads > 4) run(std::integral_constant<int, 4>());
  run(std::integral_constant<int, 2>());
  run(std::integral_constant<int, 1>());
}

inline void accumulate_values(const float* p, const HeadBlock& block, int count, const float* tile,
                              const float* alpha, bool fresh, Prefetcher& ahead, float* values) {
  constexpr int kStrip = kValueVectors * kLanes;
  const int share = (ahead.left() * kStrip + block.d_v - 1) / block.d_v;
  int c = 0;
  for (; c + kStrip <= block.d_v; c += kStrip, ahead.step(share))
    values_strip<kValueVectors>(p, block, count, tile + c, alpha, fresh, values + c);
  if constexpr (kValueVectors > 2) {
    for (; c + 2 * kLanes <= block.d_v; c += 2 * kLanes)
      values_strip<2>(p, block, count, tile + c, alpha, fresh, values + c);
  }
  for (; c < block.d_v; c += kLanes)
    values_strip<1>(p, block, count, tile + c, alpha, fresh, values + c);
}

}  // namespace HWY_NAMESPACE
}  // namespace dsakit::cpu
HWY_AFTER_NAMESPACE();

#endif
