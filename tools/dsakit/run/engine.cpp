#include "run/engine.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <string_view>

#include <fmt/format.h>

#include "kvcache/codec.hpp"
#include "kvcache/float8.hpp"
#include "sdk/config.hpp"
#include "sdk/conformance/host_tensor.hpp"

namespace dsakit::cli {
namespace {

constexpr DLDataType kFp32{kDLFloat, 32, 1}, kBf16{kDLBfloat, 16, 1}, kInt32{kDLInt, 32, 1},
    kInt64{kDLInt, 64, 1}, kUint8{kDLUInt, 8, 1};
constexpr std::byte kNan{0xFF};
constexpr float kTensorScale = 0.002F;  // of layouts with one scale: 4.5 deviations are in range

Diagnostic failed(const PhaseRunner& runner, std::string what) {
  return Diagnostic(Code::E0804)
      .with("backend", runner.backend)
      .with("phase", std::string(phase_name(runner.phase)))
      .with("reason", std::move(what));
}

bool has_feature(const dsakit_config& config, std::string_view name) {
  for (std::uint64_t i = 0; i < config.feature_count; ++i)
    if (name == config.features[i]) return true;
  return false;
}

bool is_token(const char* text, std::string_view token) {
  return text && token == text;
}

// Memory that two tensors share is described by the first `elements` of it.
void describe_list(DLTensor& list, const DLTensor& storage, std::int64_t* elements) {
  list = storage;
  list.ndim = 1;
  list.shape = elements;
  list.strides = nullptr;
}

}  // namespace

Diagnostic failed_call(const PhaseRunner& runner, const char* call, dsakit_rc rc,
                       const dsakit_error& error) {
  const std::string text = error.text[0] != '\0' ? error.text : "it gave no reason";
  return failed(runner, fmt::format("{} answered {}: {}", call, rc, text));
}

DLDataType dtype_named(const char* name) {
  return sdk::find_dtype(name ? name : "bf16");
}

tl::expected<PhaseRunner, Diagnostic> make_runner(const LoadedSession& session, Phase phase,
                                                  const InstanceOptions& options) {
  auto attention = session.create(phase, options);
  if (!attention) return tl::make_unexpected(std::move(attention.error()));
  const Session& names = session.session();
  return PhaseRunner{phase, names.backend[index(phase)], names.row[index(phase)],
                     std::move(*attention)};
}

tl::expected<PagedCache, Diagnostic> PagedCache::make(Memory& memory, const dsakit_config& config,
                                                      std::int64_t pages) {
  PagedCache cache;
  cache.layout_ = config.kv_layout ? find_kv_layout(config.kv_layout) : nullptr;
  if (!cache.layout_) {
    return tl::make_unexpected(
        Diagnostic(Code::E0805)
            .with("reason", fmt::format("dsakit has no codec of layout {}", config.kv_layout)));
  }
  const KvLayout& layout = *cache.layout_;
  cache.memory_ = &memory;
  cache.pages_ = pages;
  cache.page_size_ = config.page_size;
  cache.d_qk_ = config.d_qk;
  cache.data_ = Tensor(memory, layout.element == KvElement::bf16 ? kBf16 : kUint8,
                       {pages, config.page_size, layout.row_elements()}, kNan,
                       layout.page_bytes(config.page_size) / layout.element_bytes());
  cache.scale_ = Tensor(memory, kFp32, {1});
  *cache.scale_.as<float>() = kTensorScale;
  if (!cache.scale_.upload() || !cache.data_.upload()) {
    return tl::make_unexpected(
        Diagnostic(Code::E0805).with("reason", "the device's memory cannot be written"));
  }
  cache.device_ = std::make_unique<dsakit_kv_cache>();
  cache.device_->size = sizeof(dsakit_kv_cache);
  cache.device_->data = cache.data_.device();
  cache.device_->scale = layout.scale == KvScale::tensor_fp32 ? cache.scale_.device() : nullptr;
  cache.host_ = std::make_unique<dsakit_kv_cache>(*cache.device_);
  cache.host_->data = cache.data_.host();
  cache.host_->scale = layout.scale == KvScale::tensor_fp32 ? cache.scale_.host() : nullptr;
  return cache;
}

bool PagedCache::fill(std::span<const std::byte> pages) {
  std::memcpy(data_.bytes(), pages.data(), std::min(pages.size(), data_.size()));
  return data_.upload();
}

bool PagedCache::set_scale(float scale) {
  *scale_.as<float>() = scale;
  return scale_.upload();
}

void PagedCache::encode(const dsakit_config& config, std::byte* data,
                        std::span<const std::uint16_t> rows,
                        std::span<const std::int64_t> slots) const {
  kvcache::Pool pool = kvcache::compact_pool(*layout_, data, pages_, page_size_);
  pool.tensor_scale = *scale_.as<float>();
  const bool any = !config.kv_scale || is_token(config.kv_scale, "any");
  const auto rule = any ? kvcache::ScaleRule::arbitrary_fp32 : kvcache::ScaleRule::pow2_fp32;
  const auto width = static_cast<std::size_t>(d_qk_);
  std::vector<float> values(width);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    std::transform(rows.begin() + static_cast<std::ptrdiff_t>(i * width),
                   rows.begin() + static_cast<std::ptrdiff_t>((i + 1) * width), values.begin(),
                   kvcache::bf16_decode);
    kvcache::encode_row(pool, slots[i], rule, values);
  }
}

tl::expected<void, Diagnostic> PagedCache::append(PhaseRunner& runner,
                                                  std::span<const std::uint16_t> rows,
                                                  std::span<const std::int64_t> slots) {
  const auto no_copy = [&] { return tl::make_unexpected(failed(runner, "a copy failed")); };
  if (!runner.attention->can_append()) {
    if (!data_.download()) return no_copy();
    encode(runner.attention->config(), data_.bytes(), rows, slots);
    if (!data_.upload()) return no_copy();
    return {};
  }
  const auto count = static_cast<std::int64_t>(slots.size());
  Tensor values(*memory_, kBf16, {count, d_qk_});
  Tensor where(*memory_, kInt64, {count});
  std::memcpy(values.bytes(), rows.data(), rows.size_bytes());
  std::memcpy(where.bytes(), slots.data(), slots.size_bytes());
  if (!values.upload() || !where.upload()) return no_copy();
  dsakit_kv_args args{};
  args.size = sizeof(args);
  args.kv = device_.get();
  args.rows = values.device();
  args.slots = where.device();
  dsakit_error error{};
  error.size = sizeof(error);
  const dsakit_rc rc = runner.attention->append(&args, &error);
  if (rc != DSAKIT_RC_OK) return tl::make_unexpected(failed_call(runner, "kv_append", rc, error));
  if (!memory_->synchronise() || !data_.download()) return no_copy();
  return {};
}

std::int64_t PagedCache::count_wrong_rows(const dsakit_config& config,
                                          std::span<const std::uint16_t> rows,
                                          std::span<const std::int64_t> slots) const {
  std::vector<std::byte> expected(data_.bytes(), data_.bytes() + data_.size());
  encode(config, expected.data(), rows, slots);
  const kvcache::Pool want = kvcache::compact_pool(*layout_, expected.data(), pages_, page_size_);
  const kvcache::Pool have = kvcache::compact_pool(*layout_, data_.bytes(), pages_, page_size_);
  const auto row_bytes = static_cast<std::size_t>(layout_->token_bytes - layout_->footer_bytes);
  return std::ranges::count_if(slots, [&](std::int64_t slot) {
    const kvcache::RowAddress a = kvcache::row_address(want, slot);
    const kvcache::RowAddress b = kvcache::row_address(have, slot);
    return std::memcmp(a.data, b.data, row_bytes) != 0 ||
           (layout_->footer() &&
            std::memcmp(a.scale, b.scale, static_cast<std::size_t>(layout_->footer_bytes)) != 0);
  });
}

AttentionCall::AttentionCall(Memory& memory, const dsakit_config& config, std::int64_t tokens)
    : q(memory, dtype_named(config.q_dtype), {tokens, config.heads, config.d_qk}),
      out(memory, dtype_named(config.out_dtype), {tokens, config.heads, config.d_v}, kNan),
      lse(memory, kFp32, {tokens, config.heads}, kNan),
      sink(memory, kFp32, {config.heads}),
      length(memory, kInt32, {tokens}),
      sm_scale(1.0F / std::sqrt(static_cast<float>(config.d_qk))),
      memory_(&memory),
      tokens_(tokens),
      ragged_(is_token(config.index_mode, "ragged")),
      has_sink_(has_feature(config, "attn_sink")),
      has_length_(has_feature(config, "topk_length")),
      has_lse_(!is_token(config.lse, "none")),
      topk_(config.topk),
      indices_(memory, kInt32, {tokens, config.topk}),
      indptr_(memory, kInt32, {tokens + 1}),
      list_length_(1, 0) {
  std::fill_n(length.as<std::int32_t>(), tokens, static_cast<std::int32_t>(config.topk));
}

void AttentionCall::set_query(std::int64_t token, std::span<const float> values) {
  const DLDataType type = q.host()->dtype;
  const std::size_t bytes = static_cast<std::size_t>(type.bits) / 8;
  std::byte* to = q.bytes() + static_cast<std::size_t>(token) * values.size() * bytes;
  for (std::size_t i = 0; i < values.size(); ++i)
    conformance::write_value(to + i * bytes, type, values[i]);
}

void AttentionCall::set_indices(std::span<const std::int32_t> slots) {
  auto* list = indices_.as<std::int32_t>();
  if (!ragged_) {
    std::ranges::copy(slots, list);
    return;
  }
  auto* next = list;
  for (std::int64_t token = 0; token < tokens_; ++token) {
    indptr_.as<std::int32_t>()[token] = static_cast<std::int32_t>(next - list);
    const auto row =
        slots.subspan(static_cast<std::size_t>(token * topk_), static_cast<std::size_t>(topk_));
    next = std::ranges::copy_if(row, next, [](std::int32_t slot) { return slot >= 0; }).out;
  }
  indptr_.as<std::int32_t>()[tokens_] = static_cast<std::int32_t>(next - list);
  list_length_[0] = next - list;
  describe_list(ragged_device_, *indices_.device(), list_length_.data());
  describe_list(ragged_host_, *indices_.host(), list_length_.data());
}

dsakit_run_args AttentionCall::args(const PagedCache& cache, bool host) const {
  const auto view = [host](const Tensor& tensor) { return host ? tensor.host() : tensor.device(); };
  dsakit_run_args args{};
  args.size = sizeof(args);
  args.sm_scale = sm_scale;
  args.q = view(q);
  args.kv = host ? &cache.host() : &cache.device();
  args.indices = view(indices_);
  if (ragged_) {
    args.indices = host ? &ragged_host_ : &ragged_device_;
    args.indptr = view(indptr_);
  }
  if (has_length_ && !ragged_) args.topk_length = view(length);
  if (has_sink_) args.attn_sink = view(sink);
  args.out = view(out);
  if (has_lse_) args.lse = view(lse);
  args.workspace = workspace_.size() > 0 ? workspace_.device()->data : nullptr;
  args.workspace_size = workspace_.size();
  return args;
}

tl::expected<void, Diagnostic> AttentionCall::prepare_workspace(PhaseRunner& runner) {
  dsakit_error error{};
  error.size = sizeof(error);
  dsakit_workspace need{};
  need.size = sizeof(need);
  const dsakit_rc rc = runner.attention->workspace(tokens_, &need, &error);
  if (rc != DSAKIT_RC_OK) return tl::make_unexpected(failed_call(runner, "workspace", rc, error));
  if (need.alignment > Memory::kAlignment)
    return tl::make_unexpected(
        failed(runner, fmt::format("it asks for an alignment of {} bytes", need.alignment)));
  if (need.bytes > workspace_.size()) {
    workspace_ = Tensor(*memory_, kUint8, {static_cast<std::int64_t>(need.bytes)});
    if (!workspace_.upload()) return tl::make_unexpected(failed(runner, "a copy failed"));
  }
  return {};
}

tl::expected<double, Diagnostic> AttentionCall::run(PhaseRunner& runner, const PagedCache& cache) {
  if (auto ready = prepare_workspace(runner); !ready)
    return tl::make_unexpected(std::move(ready.error()));
  const bool sent = q.upload() && indices_.upload() && indptr_.upload() && sink.upload() &&
                    length.upload() && out.upload() && lse.upload();
  if (!sent) return tl::make_unexpected(failed(runner, "a copy to the device failed"));
  const dsakit_run_args arguments = args(cache, false);
  dsakit_error error{};
  error.size = sizeof(error);
  dsakit_rc rc = runner.attention->prepare(&arguments, &error);
  if (rc != DSAKIT_RC_OK) return tl::make_unexpected(failed_call(runner, "prepare", rc, error));
  if (!memory_->synchronise()) return tl::make_unexpected(failed(runner, "the device failed"));
  const auto start = std::chrono::steady_clock::now();
  rc = runner.attention->run(&arguments, &error);
  const bool finished = memory_->synchronise();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  if (rc != DSAKIT_RC_OK) return tl::make_unexpected(failed_call(runner, "run", rc, error));
  if (!finished || !out.download() || !lse.download())
    return tl::make_unexpected(failed(runner, "the device failed"));
  return took.count();
}

}  // namespace dsakit::cli
