#include "bench/gpu_call.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string_view>

#include <fmt/format.h>

#include "kvcache/codec.hpp"
#include "kvcache/float8.hpp"
#include "run/sequences.hpp"

namespace dsakit::cli {
namespace {

constexpr DLDataType kBenchFp32{kDLFloat, 32, 1}, kBenchInt32{kDLInt, 32, 1};
constexpr std::int64_t kSampleRows = 4096, kGapBytes = 16;
constexpr float kSampleScale = 0.01F;  // of layouts with one scale: 4.5 deviations are in range
constexpr std::uint64_t kSampleSeed = 1, kSinkStream = 3ULL << 60;

bool uses(const dsakit_config& config, std::string_view feature) {
  for (std::uint64_t i = 0; i < config.feature_count; ++i)
    if (feature == config.features[i]) return true;
  return false;
}

bool is_named(const char* text, std::string_view token) {
  return text != nullptr && token == text;
}

Diagnostic not_timed(std::string reason) {
  return Diagnostic(Code::E0805).with("reason", std::move(reason));
}

// Normal rows in the layout of a config, compact, page after page.
std::vector<std::byte> packed_samples(const KvLayout& layout, const dsakit_config& config,
                                      std::int64_t pages, std::int64_t page_size) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(pages * layout.page_bytes(page_size)));
  kvcache::Pool pool = kvcache::compact_pool(layout, bytes.data(), pages, page_size);
  pool.tensor_scale = kSampleScale;
  const bool any = config.kv_scale == nullptr || is_named(config.kv_scale, "any");
  const auto rule = any ? kvcache::ScaleRule::arbitrary_fp32 : kvcache::ScaleRule::pow2_fp32;
  std::vector<float> values(static_cast<std::size_t>(layout.d_qk()));
  for (std::int64_t slot = 0; slot < pool.slots(); ++slot) {
    make_values(kSampleSeed, static_cast<std::uint64_t>(slot), values, 1.0F);
    kvcache::encode_row(pool, slot, rule, values);
  }
  return bytes;
}

}  // namespace

const SampleRows::Samples* SampleRows::of(GpuLab& lab, const dsakit_config& config) {
  const KvLayout& layout = *find_kv_layout(config.kv_layout);
  const std::int64_t page_size = layout.footer() ? config.page_size : 1;
  const std::string key =
      fmt::format("{} {} {}", layout.name, config.kv_scale ? config.kv_scale : "any", page_size);
  Samples& samples = made_[key];
  if (samples.count > 0) return &samples;
  const std::int64_t pages = std::max<std::int64_t>(kSampleRows / page_size, 1);
  const auto bytes = packed_samples(layout, config, pages, page_size);
  samples.memory = lab.make(bytes.size());
  samples.words = layout.page_bytes(page_size) / 4;
  samples.count = pages;
  if (lab.device().upload(samples.memory.get(), bytes.data(), bytes.size())) return &samples;
  made_.erase(key);
  return nullptr;
}

GpuCall::GpuCall(GpuLab& lab, PhaseRunner& runner, const BenchShape& shape, std::uint64_t seed)
    : lab_(lab),
      runner_(runner),
      config_(runner.attention->config()),
      shape_(shape),
      seed_(seed << 20),
      layout_(config_.kv_layout ? find_kv_layout(config_.kv_layout) : nullptr) {}

tl::expected<std::unique_ptr<GpuCall>, Diagnostic> GpuCall::make(GpuLab& lab, PhaseRunner& runner,
                                                                 const BenchShape& shape,
                                                                 SampleRows& samples,
                                                                 std::uint64_t seed) {
  std::unique_ptr<GpuCall> call(new GpuCall(lab, runner, shape, seed));
  if (call->layout_ == nullptr)
    return tl::make_unexpected(
        not_timed(fmt::format("dsakit has no codec of layout {}", call->config_.kv_layout)));
  if (!is_named(call->config_.q_dtype, "bf16") || !is_named(call->config_.out_dtype, "bf16"))
    return tl::make_unexpected(not_timed("bench writes bf16 queries and outputs only"));
  if (is_named(call->config_.index_mode, "ragged"))
    return tl::make_unexpected(not_timed("bench writes index rows of equal width only"));
  call->make_tensors();
  call->make_pool();
  tl::expected<void, Diagnostic> done = call->make_workspace();
  if (done) done = call->start(samples);
  if (!done) return tl::make_unexpected(std::move(done.error()));
  return call;
}

// `pads`: elements between the indices of each axis but the last, beyond what a compact tensor has;
// used only where the shape asks for gaps.
void GpuCall::make_tensor(Tensor& tensor, DLDataType type, std::vector<std::int64_t> shape,
                          std::vector<std::int64_t> pads) {
  std::int64_t stride = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    tensor.shape[axis] = shape[axis];
    tensor.strides[axis] = stride;
    stride *= shape[axis];
    if (axis > 0 && shape_.padded) stride += pads[axis - 1];
  }
  tensor.memory = lab_.make(static_cast<std::size_t>(stride * type.bits / 8));
  tensor.view.data = tensor.memory.get();
  tensor.view.device = lab_.device().device();
  tensor.view.ndim = static_cast<int>(shape.size());
  tensor.view.dtype = type;
  tensor.view.shape = tensor.shape.data();
  tensor.view.strides = tensor.strides.data();
}

void GpuCall::make_tensors() {
  const std::int64_t tokens = shape_.tokens(), heads = config_.heads;
  constexpr std::int64_t kGap = kGapBytes / 2;
  make_tensor(q_, dtype_named("bf16"), {tokens, heads, config_.d_qk}, {5 * kGap, kGap});
  make_tensor(out_, dtype_named("bf16"), {tokens, heads, config_.d_v}, {3 * kGap, kGap});
  make_tensor(lse_, kBenchFp32, {tokens, heads}, {4});
  make_tensor(indices_, kBenchInt32, {tokens, config_.topk}, {4});
  args_.size = sizeof(args_);
  args_.stream = lab_.stream();
  args_.sm_scale = 1.0F / std::sqrt(static_cast<float>(config_.d_qk));
  args_.q = &q_.view;
  args_.indices = &indices_.view;
  args_.out = &out_.view;
  args_.kv = &cache_;
  if (!is_named(config_.lse, "none")) args_.lse = &lse_.view;
  if (uses(config_, "topk_length")) {
    make_tensor(length_, kBenchInt32, {tokens}, {});
    args_.topk_length = &length_.view;
  }
  if (uses(config_, "attn_sink")) {
    make_tensor(sink_, kBenchFp32, {heads}, {});
    args_.attn_sink = &sink_.view;
  }
}

// Flat where a page is one row.
void GpuCall::make_pool() {
  const std::int64_t page = config_.page_size, row = layout_->row_elements();
  const std::int64_t pages = (shape_.pool * shape_.pools() + page - 1) / page;
  const DLDataType type =
      layout_->element == KvElement::bf16 ? dtype_named("bf16") : DLDataType{kDLUInt, 8, 1};
  const std::int64_t gap = kGapBytes / layout_->element_bytes();
  if (layout_->footer()) {
    // Only the stride of the pages counts; it includes the footer.
    const std::int64_t padding = layout_->page_bytes(page) - page * row;
    make_tensor(pool_, type, {pages, page, row}, {0, 0});
    pool_.strides[0] += padding;
    pool_.memory = lab_.make(static_cast<std::size_t>(pages * pool_.strides[0]));
    pool_.view.data = pool_.memory.get();
  } else if (page == 1) {
    make_tensor(pool_, type, {pages, row}, {gap});
  } else {
    make_tensor(pool_, type, {pages, page, row}, {7 * gap, gap});
  }
  cache_.size = sizeof(cache_);
  cache_.data = &pool_.view;
  if (layout_->scale == KvScale::tensor_fp32) {
    make_tensor(scale_, kBenchFp32, {1}, {});
    cache_.scale = &scale_.view;
  }
}

tl::expected<void, Diagnostic> GpuCall::make_workspace() {
  dsakit_error error{};
  error.size = sizeof(error);
  dsakit_workspace need{};
  need.size = sizeof(need);
  const dsakit_rc rc = runner_.attention->workspace(shape_.tokens(), &need, &error);
  if (rc != DSAKIT_RC_OK) return tl::make_unexpected(failed_call(runner_, "workspace", rc, error));
  if (need.alignment > Memory::kAlignment)
    return tl::make_unexpected(
        not_timed(fmt::format("the backend asks for an alignment of {} bytes", need.alignment)));
  workspace_bytes_ = need.bytes;
  if (need.bytes == 0) return {};
  workspace_ = lab_.make(need.bytes);
  args_.workspace = workspace_.get();
  args_.workspace_size = need.bytes;
  if (lab_.device().fill(workspace_.get(), std::byte{0}, need.bytes)) return {};
  return tl::make_unexpected(lab_.failed("writing memory"));
}

tl::expected<void, Diagnostic> GpuCall::start(SampleRows& samples) {
  dsakit_error error{};
  error.size = sizeof(error);
  const dsakit_rc rc = runner_.attention->prepare(&args_, &error);
  if (rc != DSAKIT_RC_OK) return tl::make_unexpected(failed_call(runner_, "prepare", rc, error));
  const SampleRows::Samples* rows = samples.of(lab_, config_);
  bool good = rows != nullptr && write_keys(*rows);
  if (good && cache_.scale != nullptr)
    good = lab_.device().upload(scale_.memory.get(), &kSampleScale, sizeof(kSampleScale));
  if (good && args_.attn_sink != nullptr) {
    std::vector<float> sinks(static_cast<std::size_t>(config_.heads));
    make_values(seed_, kSinkStream, sinks, 1.0F);
    good = lab_.device().upload(sink_.memory.get(), sinks.data(), sinks.size() * sizeof(float));
  }
  if (good) return {};
  return tl::make_unexpected(lab_.failed("writing keys"));
}

bool GpuCall::write_keys(const SampleRows::Samples& rows) {
  RowFill fill;
  fill.to = static_cast<std::uint32_t*>(pool_.memory.get());
  fill.samples = static_cast<const std::uint32_t*>(rows.memory.get());
  fill.samples_count = rows.count;
  fill.row_words = rows.words;
  fill.seed = seed_;
  const bool by_page = layout_->footer() || pool_.view.ndim == 2;
  fill.rows_per_page = by_page ? 1 : config_.page_size;
  fill.rows = pool_.shape[0] * fill.rows_per_page;
  const std::int64_t bytes = layout_->element_bytes();
  fill.page_stride = pool_.strides[0] * bytes / 4;
  fill.row_stride = by_page ? 0 : pool_.strides[1] * bytes / 4;
  return lab_.fill(fill) && lab_.wait();
}

bool GpuCall::rewrite() {
  ++seed_;
  QueryFill query;
  query.to = static_cast<std::uint16_t*>(q_.memory.get());
  query.tokens = shape_.tokens();
  query.heads = config_.heads;
  query.width = config_.d_qk;
  query.token_stride = q_.strides[0];
  query.head_stride = q_.strides[1];
  query.seed = seed_;
  IndexFill list;
  list.to = static_cast<std::int32_t*>(indices_.memory.get());
  list.tokens = shape_.tokens();
  list.topk = config_.topk;
  list.row_stride = indices_.strides[0];
  list.pool = shape_.pool;
  list.tokens_per_pool = shape_.disjoint ? shape_.s_q : 0;
  const double own = (1.0 - shape_.overlap) * static_cast<double>(config_.topk);
  if (shape_.overlap > 0) list.shift = std::max<std::int64_t>(std::llround(own), 1);
  list.invalid = static_cast<std::uint32_t>(std::min(shape_.invalid * 0x1p32, 0x1p32 - 1));
  list.seed = seed_;
  bool good = lab_.fill(query) && lab_.fill(list);
  if (!good || args_.topk_length == nullptr) return good;
  LengthFill length;
  length.to = static_cast<std::int32_t*>(length_.memory.get());
  length.tokens = shape_.tokens();
  length.topk = config_.topk;
  length.seed = seed_;
  length.full = shape_.random_length ? 0 : 1;
  return lab_.fill(length);
}

bool GpuCall::fail(Diagnostic why) {
  error_ = std::move(why);
  return false;
}

bool GpuCall::enqueue(Flush how) {
  if (!rewrite() || !lab_.flush(how) || !lab_.mark_before())
    return fail(lab_.failed("writing fresh data"));
  dsakit_error error{};
  error.size = sizeof(error);
  const dsakit_rc rc = runner_.attention->run(&args_, &error);
  if (rc != DSAKIT_RC_OK) return fail(failed_call(runner_, "run", rc, error));
  return lab_.mark_behind() || fail(lab_.failed("marking a call"));
}

bool GpuCall::spoil_outputs() {
  const auto bytes =
      static_cast<std::size_t>(out_.shape[0] * out_.strides[0]) * sizeof(std::uint16_t);
  return lab_.device().fill(out_.memory.get(), std::byte{0xFF}, bytes) &&
         lab_.device().synchronise();
}

// Of the first, the middle and the last token.
tl::expected<void, Diagnostic> GpuCall::check_outputs() {
  std::vector<std::uint16_t> values(static_cast<std::size_t>(out_.strides[0]));
  const auto* from = static_cast<const std::uint16_t*>(out_.memory.get());
  for (const std::int64_t token : {std::int64_t{0}, shape_.tokens() / 2, shape_.tokens() - 1}) {
    if (!lab_.device().download(values.data(), from + token * out_.strides[0],
                                values.size() * sizeof(std::uint16_t)))
      return tl::make_unexpected(lab_.failed("reading outputs"));
    for (std::int64_t head = 0; head < config_.heads; ++head)
      for (std::int64_t d = 0; d < config_.d_v; ++d)
        if (std::isnan(
                kvcache::bf16_decode(values[static_cast<std::size_t>(head * out_.strides[1] + d)])))
          return tl::make_unexpected(
              Diagnostic(Code::E0804)
                  .with("backend", runner_.backend)
                  .with("phase", std::string(phase_name(runner_.phase)))
                  .with("reason", fmt::format("token {} of {} came out as NaN, "
                                              "or not at all",
                                              token, shape_.tokens())));
  }
  return {};
}

}  // namespace dsakit::cli
