// The host half of sparse MLA plugins that no GPU runtime is needed for: whether a manifest serves
// a configuration, and the checked arguments of a call in the form that kernels take.
//
// Kernels, of a backend class, has kId (the plugin's id), kLayouts and kFeatures (names that its
// manifest serves). Any thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>

#include "common/cuda/kv_rows.hpp"
#include "common/cuda/sparse_call.hpp"
#include "sdk/config.hpp"
#include "sdk/error.hpp"
#include "sdk/run_view.hpp"

namespace dsakit::sparse {

inline constexpr int kMaxTopk = 1 << 20;

namespace host {

// OK, or why no row of the manifest serves the configuration: up to `max_heads` heads, and ragged
// lists only if `ragged`. Kernels::refused(config), if there is one, names what else is not served,
// or answers null.
template <class Kernels>
dsakit_rc check_served(const sdk::Config& config, int max_heads, bool ragged, sdk::Error& error) {
  const auto refuse = [&](const char* what) {
    return error.fail(DSAKIT_RC_UNSUPPORTED, "%s does not serve %s", Kernels::kId, what);
  };
  const auto in = [](const auto& names, const std::string& name) {
    return std::ranges::find(names, name) != std::end(names);
  };
  if (config.layout == nullptr || !in(Kernels::kLayouts, config.kv_layout))
    return refuse("this kv_layout");
  if (config.d_qk != config.layout->d_qk() || config.d_v != config.layout->d_v)
    return refuse("d_qk and d_v that differ from the layout's");
  if (config.phase != "prefill" && config.phase != "decode" && config.phase != "mtp")
    return refuse("this phase");
  if (config.heads > max_heads)
    return error.fail(DSAKIT_RC_UNSUPPORTED, "%s does not serve more than %d heads", Kernels::kId,
                      max_heads);
  if (config.topk > kMaxTopk || config.topk2 > kMaxTopk)
    return error.fail(DSAKIT_RC_UNSUPPORTED, "%s does not serve a topk above %d", Kernels::kId,
                      kMaxTopk);
  if (config.ragged && !ragged) return refuse("index_mode = ragged");
  if (config.fp8_compute && !requires { Kernels::has_fp8_code; }) return refuse("compute = fp8");
  const auto bf16 = [](DLDataType type) { return type.code == kDLBfloat && type.bits == 16; };
  if (!bf16(config.q_dtype)) return refuse("a q_dtype other than bf16");
  if (!bf16(config.out_dtype)) return refuse("an out_dtype other than bf16");
  for (const std::string& feature : config.features)
    if (!in(Kernels::kFeatures, feature))
      return error.fail(DSAKIT_RC_UNSUPPORTED, "%s does not serve feature `%s`", Kernels::kId,
                        feature.c_str());
  if constexpr (requires { Kernels::refused(config); }) {
    if (const char* const what = Kernels::refused(config)) return refuse(what);
  }
  if (!config.dims.empty())
    return error.fail(DSAKIT_RC_UNSUPPORTED, "%s does not know dimension `%s`", Kernels::kId,
                      config.dims.front().first.c_str());
  return DSAKIT_RC_OK;
}

// A stride of the checked arguments, for tokens counted in groups of `inner`, in `unit` bytes.
inline cuda::TokenAxis axis(const sdk::TokenStride& stride, std::int64_t inner, std::int64_t unit) {
  if (stride.inner_count == inner) return {stride.outer / unit, stride.inner / unit};
  return {stride.outer * inner / unit, stride.outer / unit};
}

inline bool aligned(const std::byte* data, std::initializer_list<std::int64_t> strides) {
  auto bits = reinterpret_cast<std::uintptr_t>(data);
  for (std::int64_t stride : strides) bits |= static_cast<std::uintptr_t>(stride);
  return bits % 16 == 0;
}

template <class To>
To* as(std::byte* data) {
  return reinterpret_cast<To*>(data);
}
template <class To>
const To* as(const std::byte* data) {
  return reinterpret_cast<const To*>(data);
}

// OK, or why the kernels cannot reach the pool.
inline dsakit_rc check_pool(const std::byte* data, std::int64_t page_stride,
                            std::int64_t row_stride, sdk::Error& error) {
  if (aligned(data, {page_stride, row_stride})) return DSAKIT_RC_OK;
  return error.fail(DSAKIT_RC_UNSUPPORTED, "kv and its strides must be multiples of 16 bytes");
}

// Strides of a cache (a view of one, or of rows in it) as its layout fixes them.
template <class View>
void place_rows(const KvLayout& layout, View& view) {
  if (!layout.footer()) return;
  view.row_stride = layout.row_bytes;
  if (view.pages <= 1) view.page_stride = 0;
}

// The call that a checked view describes, with its first or second list of keys; lse conventions
// and rope come from the configuration.
inline cuda::Problem make_problem(const sdk::Config& config, const sdk::RunView& view,
                                  int list = 0) {
  const sdk::CacheView& cache = view.cache[list];
  const std::int64_t inner = view.q_token.inner_count;
  cuda::Problem problem;
  problem.tokens = static_cast<std::int32_t>(view.tokens);
  problem.heads = static_cast<std::int32_t>(view.heads);
  problem.topk = static_cast<std::int32_t>(cache.topk);
  problem.rope = config.d_qk > config.d_v;
  problem.fp8 = config.layout->element != KvElement::bf16;
  problem.footer = config.layout->footer();
  problem.fp8_compute = config.fp8_compute;
  problem.index64 = cache.wide_indices;
  problem.lse_log2 = config.lse == sdk::LseBase::log2;
  problem.lse_with_sink = config.lse_with_sink;
  problem.lse_empty = config.lse_empty;
  problem.scale = view.sm_scale;
  cuda::Tensors& t = problem.tensors;
  t.tokens_inner = static_cast<std::int32_t>(inner);
  t.q = view.q;
  t.q_token = axis(view.q_token, inner, 1);
  t.q_head = view.q_head;
  t.kv = cache.data;
  t.kv_page = cache.page_stride;
  t.kv_row = cache.row_stride;
  t.page_size = static_cast<std::uint32_t>(cache.page_size);
  t.slots = static_cast<std::uint32_t>(cache.slots());
  t.indices = cache.indices;
  t.index_token = axis(cache.index_row, inner, cache.wide_indices ? 8 : 4);
  t.length = as<std::int32_t>(cache.length);
  t.length_stride = cache.length_stride / 4;
  t.tokens_per_length = static_cast<std::int32_t>(cache.tokens_per_length);
  t.sink = as<float>(view.sink);
  t.sink_head = view.sink_stride / 4;
  t.out = view.out;
  t.out_token = axis(view.out_token, inner, 1);
  t.out_head = view.out_head;
  t.lse = as<float>(view.lse);
  t.lse_token = axis(view.lse_token, inner, 4);
  t.lse_head = view.lse_head / 4;
  t.max_logits = as<float>(view.max_logits);
  t.max_token = axis(view.max_token, inner, 4);
  t.max_head = view.max_head / 4;
  return problem;
}

// What the counters of kernels with blocks of `block` keys can reach.
inline dsakit_rc check_counts(const sdk::RunView& view, std::int64_t topk, std::int64_t block,
                              sdk::Error& error) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  for (int i = 0; i < view.caches; ++i)
    if (view.cache[i].pages > kMost / view.cache[i].page_size)
      return error.fail(DSAKIT_RC_UNSUPPORTED, "kv has 2^31 slots or more");
  if (view.tokens > kMost / (topk / block + 1))
    return error.fail(DSAKIT_RC_UNSUPPORTED, "q has too many tokens for this topk");
  return DSAKIT_RC_OK;
}

inline cuda::KvRows make_rows(const sdk::Config& config, const sdk::KvRowsView& view) {
  cuda::KvRows rows;
  rows.pool = view.data;
  rows.pages = view.pages;
  rows.page_size = view.page_size;
  rows.page_stride = view.page_stride;
  rows.row_stride = view.row_stride;
  rows.count = view.count;
  rows.slots = view.slots;
  rows.wide_slots = view.wide_slots;
  rows.slot_stride = view.slot_stride;
  rows.rows = view.rows;
  rows.rows_fp32 = view.rows_fp32;
  rows.row_bytes = view.row_bytes;
  rows.elements = static_cast<std::int32_t>(config.d_qk);
  rows.fp8 = config.layout->element != KvElement::bf16;
  rows.footer = config.layout->footer();
  rows.pow2_scales = config.kv_scale != sdk::ScaleKind::any;
  return rows;
}

}  // namespace host
}  // namespace dsakit::sparse
