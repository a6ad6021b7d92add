#include "plugins/cpu/kernels.hpp"

#include <algorithm>
#include <limits>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugins/cpu/kernels.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "plugins/cpu/decode-inl.h"
#include "plugins/cpu/gemm-inl.h"
#include "plugins/cpu/softmax-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dsakit::cpu {
namespace HWY_NAMESPACE {

// One head's query in fp32, times the scale. d_qk is a multiple of kLanes.
void read_query(const QuerySource& source, int head, int d_qk, float* to) {
  const DF df;
  const std::byte* row = source.data + head * source.head_stride;
  const VF scale = hn::Set(df, source.scale);
  if (source.type == Float::bf16) decode_bf16(row, d_qk, to);
  for (int d = 0; d < d_qk; d += kLanes) {
    VF value = hn::Load(df, to + d);
    if (source.type == Float::fp16) {
      const hn::Rebind<hwy::float16_t, DF> dh;
      value = hn::PromoteTo(df, hn::LoadU(dh, reinterpret_cast<const hwy::float16_t*>(row) + d));
    } else if (source.type == Float::fp32) {
      value = hn::LoadU(df, reinterpret_cast<const float*>(row) + d);
    }
    hn::Store(hn::Mul(value, scale), df, to + d);
  }
}

// Heads that are processed as vectors of heads; the others follow packed as rows.
int vector_heads(const HeadBlock& block) {
  const int few = few_heads(block.heads);
  return few != 0 ? block.heads - few : (block.heads + kLanes - 1) / kLanes * kLanes;
}

// Panels follow each other; a panel of W vectors is [d_qk, W * kLanes]. Then come few_heads() rows,
// padded with rows of zeros to a power of two. Uses the key tile for the rows; zeroes the logits.
void pack_query(const QuerySource& source, const HeadBlock& block, const Scratch& scratch) {
  float* packed = scratch.query;
  const auto read_or_zero = [&](int head, float* row) {
    if (head < block.heads)
      read_query(source, head, block.d_qk, row);
    else
      std::fill(row, row + block.d_qk, 0.0F);
  };
  const int vector_end = vector_heads(block);
  for (int first = 0; first < vector_end; first += kPanelVectors * kLanes) {
    const int width = std::min(kPanelVectors * kLanes, vector_end - first);
    for (int lane = 0; lane < width; ++lane)
      read_or_zero(first + lane, scratch.tile + lane * block.tile_stride);
    for (int d = 0; d < block.d_qk; ++d)
      for (int lane = 0; lane < width; ++lane)
        packed[d * width + lane] = scratch.tile[lane * block.tile_stride + d];
    packed += static_cast<std::ptrdiff_t>(width) * block.d_qk;
  }
  for (int head = vector_end; head < vector_end + kLanes / 2; ++head, packed += block.d_qk)
    if (head < block.heads_pad) read_or_zero(head, packed);
  std::fill_n(scratch.logits, static_cast<std::ptrdiff_t>(kKeyBlock) * block.heads_pad, 0.0F);
}

// Calls body with the smallest of 1, 2, 4, 8 that is not below `count`, as a constant.
template <int N = 1, class Body>
void with_power_of_two(int count, Body body) {
  if constexpr (2 * N <= std::max(2, kLanes)) {
    if (count > N) return with_power_of_two<2 * N>(count, body);
  }
  body(std::integral_constant<int, N>());
}

void block_logits(const HeadBlock& block, int count, const Scratch& scratch, Prefetcher& ahead) {
  const float* query = scratch.query;
  const int vector_end = vector_heads(block);
  for (int first = 0; first < vector_end; first += kPanelVectors * kLanes) {
    const int vectors = std::min(kPanelVectors, (vector_end - first) / kLanes);
    const auto run = [&]<int W>(std::integral_constant<int, W>) {
      if constexpr (W <= kPanelVectors) {
        if (vectors == W)
          logits_panel<W>(query, block, count, scratch.tile, scratch.logits + first, ahead);
      }
    };
    run(std::integral_constant<int, 1>());
    run(std::integral_constant<int, 2>());
    run(std::integral_constant<int, 3>());
    run(std::integral_constant<int, 4>());
    query += static_cast<std::ptrdiff_t>(vectors) * kLanes * block.d_qk;
  }
#if HWY_TARGET != HWY_SCALAR
  if (vector_end >= block.heads) return;
  with_power_of_two(block.heads - vector_end, [&]<int H>(std::integral_constant<int, H>) {
    logits_few<H>(query, block, count, scratch.tile, scratch.logits + vector_end, ahead);
  });
#endif
}

void attend(const KvLayout& layout, const KeyRow* rows, int count, int ahead,
            const HeadBlock& block, const Scratch& scratch, const Partial& partial) {
  std::fill_n(partial.max, block.heads_pad, -std::numeric_limits<float>::infinity());
  std::fill_n(partial.sum, block.heads_pad, 0.0F);
  for (int first = 0; first < count; first += kKeyBlock) {
    const int keys = std::min(kKeyBlock, count - first);
    for (int k = 0; k < keys; ++k)
      decode_row(layout, rows[first + k], scratch.tile + k * block.tile_stride);
    Prefetcher next(layout, rows + first + keys, std::min(kKeyBlock, count + ahead - first - keys));
    block_logits(block, keys, scratch, next);
    softmax_block(block, keys, scratch.logits, partial, scratch.alpha);
    accumulate_values(scratch.logits, block, keys, scratch.tile, scratch.alpha, first == 0, next,
                      partial.values);
  }
}

const Kernels& target_kernels() {
  static constexpr Kernels kTable{pack_query, attend, fold_partial, store_values};
  return kTable;
}

}  // namespace HWY_NAMESPACE
}  // namespace dsakit::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dsakit::cpu {

HWY_EXPORT(target_kernels);

const Kernels& kernels() {
  return HWY_DYNAMIC_DISPATCH(target_kernels)();
}

}  // namespace dsakit::cpu
#endif
