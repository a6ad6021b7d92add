#include "run/tensors_job.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dsakit/kv_layout.hpp"

namespace dsakit::cli {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();

std::string shape_text(const TensorFileEntry& entry) {
  return fmt::format("{} [{}]", entry.dtype, fmt::join(entry.shape, ", "));
}

bool is_shape(const TensorFileEntry& entry, std::vector<std::int64_t> shape) {
  return entry.shape == shape;
}

std::string query_dtype(const std::string& name) {
  if (name == "BF16") return "bf16";
  if (name == "F16") return "fp16";
  return name == "F32" ? "fp32" : "";
}

// The layouts whose packed rows have this many bytes and hold such keys.
std::vector<std::string> packed_layouts(std::int64_t row, std::int64_t d_qk) {
  std::vector<std::string> names;
  for (const KvLayout& layout : kKvLayouts)
    if (layout.element != KvElement::bf16 && layout.token_bytes == row && layout.d_qk() == d_qk &&
        layout.d_v != 0)
      names.emplace_back(layout.name);
  return names;
}

}  // namespace

Diagnostic TensorsJob::unusable(const std::string& tensor, std::string reason) const {
  return Diagnostic(Code::E0802)
      .with("tensor", tensor)
      .with("file", file_.file())
      .with("reason", std::move(reason));
}

tl::expected<TensorsJob, Diagnostic> TensorsJob::open(const std::string& file) {
  auto opened = TensorFile::open(file);
  if (!opened) return tl::make_unexpected(std::move(opened.error()));
  TensorsJob job(std::move(*opened));
  if (auto read = job.read_shapes(); !read) return tl::make_unexpected(std::move(read.error()));
  return job;
}

tl::expected<void, Diagnostic> TensorsJob::read_shapes() {
  const auto refuse = [this](const char* tensor, std::string reason) {
    return tl::make_unexpected(unusable(tensor, std::move(reason)));
  };
  for (const char* name : {"q", "kv", "indices"})
    if (!file_.find(name)) return refuse(name, "it is not in the file");
  const TensorFileEntry& q = *file_.find("q");
  if (q.shape.size() != 3 || query_dtype(q.dtype).empty())
    return refuse("q",
                  fmt::format("it must be BF16, F16 or F32 [T, h, d_qk], found {}", shape_text(q)));
  tokens_ = q.shape[0];
  heads_ = q.shape[1];
  d_qk_ = q.shape[2];
  const TensorFileEntry& indices = *file_.find("indices");
  const std::size_t rank = indices.shape.size();
  if ((indices.dtype != "I32" && indices.dtype != "I64") || (rank != 2 && rank != 3) ||
      indices.shape[0] != tokens_ || (rank == 3 && indices.shape[1] != 1))
    return refuse("indices", fmt::format("it must be I32 or I64 [{}, topk], found {}", tokens_,
                                         shape_text(indices)));
  wide_indices_ = indices.dtype == "I64";
  topk_ = indices.shape.back();
  if (std::min({tokens_, heads_, d_qk_, topk_}) < 1 ||
      std::max({tokens_, heads_, d_qk_, topk_}) > kMost)
    return refuse("q", "an axis is empty or too long");
  const TensorFileEntry* length = file_.find("topk_length");
  if (length && (length->dtype != "I32" || !is_shape(*length, {tokens_})))
    return refuse("topk_length",
                  fmt::format("it must be I32 [{}], found {}", tokens_, shape_text(*length)));
  const TensorFileEntry* sink = file_.find("attn_sink");
  if (sink && (sink->dtype != "F32" || !is_shape(*sink, {heads_})))
    return refuse("attn_sink",
                  fmt::format("it must be F32 [{}], found {}", heads_, shape_text(*sink)));
  const TensorFileEntry* scale = file_.find("kv_scale");
  if (scale && (scale->dtype != "F32" || scale->bytes() != sizeof(float)))
    return refuse("kv_scale", fmt::format("it must be F32 [1], found {}", shape_text(*scale)));
  return read_cache_shape(*file_.find("kv"));
}

tl::expected<void, Diagnostic> TensorsJob::read_cache_shape(const TensorFileEntry& kv) {
  packed_ = kv.dtype == "U8";
  const std::size_t rank = kv.shape.size();
  const bool good = (packed_ || kv.dtype == "BF16") && (rank == 2 || rank == 3) &&
                    std::ranges::all_of(kv.shape, [](std::int64_t extent) {
                      return extent >= 1 && extent <= kMost;
                    });
  if (!good || (!packed_ && kv.shape.back() != d_qk_) ||
      kv.shape[0] * (rank == 3 ? kv.shape[1] : 1) > kMost) {
    return tl::make_unexpected(unusable(
        "kv",
        fmt::format("it must be BF16 [n, {}] or [pages, page, {}], or U8 packed rows, found {}",
                    d_qk_, d_qk_, shape_text(kv))));
  }
  row_ = kv.shape.back();
  page_size_ = rank == 3 ? kv.shape[1] : 0;
  rows_ = kv.shape[0] * (rank == 3 ? kv.shape[1] : 1);
  if (packed_ && packed_layouts(row_, d_qk_).empty()) {
    return tl::make_unexpected(
        unusable("kv", fmt::format("no layout packs {} values into {} bytes", d_qk_, row_)));
  }
  return {};
}

tl::expected<void, Diagnostic> TensorsJob::describe(Request& request) const {
  const auto set = [&](const char* tensor, const std::string& dim,
                       const Value& value) -> tl::expected<void, Diagnostic> {
    const auto found = request.values.find(dim);
    const bool free = found == request.values.end() ||
                      std::holds_alternative<Unknown>(found->second) ||
                      found->second == Value(Token("auto"));
    if (!free && found->second != value) {
      return tl::make_unexpected(
          unusable(tensor, fmt::format("it has {} = {}, the request says {}", dim,
                                       value_text(value), value_text(found->second))));
    }
    request.values[dim] = value;
    request.origins[dim] = {tensor, file_.file()};
    return {};
  };
  const auto number = [](std::int64_t value) { return Value(static_cast<std::int32_t>(value)); };
  auto done = set("q", "heads", number(heads_));
  if (done) done = set("q", "d_qk", number(d_qk_));
  if (done) done = set("q", "q_dtype", Token(query_dtype(file_.find("q")->dtype)));
  if (done) done = set("indices", "topk", number(topk_));
  if (done && page_size_ > 0) done = set("kv", "page_size", number(page_size_));
  if (done && packed_) {
    const std::string layout = packed_layouts(row_, d_qk_).front();
    if (!request.kv_layout) request.kv_layout = layout;
    request.values.try_emplace("d_v", number(find_kv_layout(layout)->d_v));
    if (page_size_ == 0) done = set("kv", "page_size", number(1));
  }
  if (!done) return done;
  Set features;
  if (const auto found = request.values.find("features"); found != request.values.end())
    if (const auto* named = std::get_if<Set>(&found->second)) features = *named;
  for (const char* name : {"topk_length", "attn_sink"})
    if (file_.find(name)) features.emplace_back(name);
  std::ranges::sort(features);
  features.erase(std::unique(features.begin(), features.end()), features.end());
  request.values["features"] = features;
  return {};
}

tl::expected<PagedCache, Diagnostic> TensorsJob::make_cache(JobRunners& runners,
                                                            JobReport& report) const {
  PhaseRunner& runner = runners.phases.front();
  const dsakit_config& config = runner.attention->config();
  const auto bytes = file_.read(*file_.find("kv"));
  if (!bytes) return tl::make_unexpected(bytes.error());
  const std::int64_t pages = (rows_ + config.page_size - 1) / config.page_size;
  auto cache = PagedCache::make(*runners.memory, config, pages);
  if (!cache) return cache;
  report = begin_report(runner, *cache);
  bool sent = true;
  if (const TensorFileEntry* scale = file_.find("kv_scale")) {
    const auto value = file_.read(*scale);
    if (!value) return tl::make_unexpected(value.error());
    float number = 1.0F;
    std::memcpy(&number, value->data(), sizeof(number));
    sent = cache->set_scale(number);
  } else if (packed_) {
    sent = cache->set_scale(1.0F);
  }
  if (packed_) {
    if (cache->layout().token_bytes != row_ ||
        cache->bytes() != static_cast<std::int64_t>(bytes->size()))
      return tl::make_unexpected(
          unusable("kv", fmt::format("layout {} needs {} bytes for {} pages of {}",
                                     config.kv_layout, cache->bytes(), pages, config.page_size)));
    sent = sent && cache->fill(*bytes);
  }
  if (!sent) {
    return tl::make_unexpected(
        Diagnostic(Code::E0805).with("reason", "the device's memory cannot be written"));
  }
  if (packed_) return cache;
  std::vector<std::uint16_t> rows(bytes->size() / 2);
  std::memcpy(rows.data(), bytes->data(), bytes->size());
  std::vector<std::int64_t> slots(static_cast<std::size_t>(rows_));
  std::iota(slots.begin(), slots.end(), 0);
  if (auto done = cache->append(runner, rows, slots); !done)
    return tl::make_unexpected(std::move(done.error()));
  report.appended = rows_;
  report.wrong_rows = cache->count_wrong_rows(config, rows, slots);
  return cache;
}

// Answers how many keys the lists select.
tl::expected<double, Diagnostic> TensorsJob::fill_call(AttentionCall& call,
                                                       const PagedCache& cache) const {
  const std::pair<const char*, Tensor*> copied[] = {
      {"q", &call.q}, {"topk_length", &call.length}, {"attn_sink", &call.sink}};
  for (const auto& [name, tensor] : copied) {
    const TensorFileEntry* entry = file_.find(name);
    if (!entry) continue;
    const auto bytes = file_.read(*entry);
    if (!bytes) return tl::make_unexpected(bytes.error());
    std::memcpy(tensor->bytes(), bytes->data(), std::min(bytes->size(), tensor->size()));
  }
  const auto bytes = file_.read(*file_.find("indices"));
  if (!bytes) return tl::make_unexpected(bytes.error());
  std::vector<std::int32_t> slots(static_cast<std::size_t>(tokens_ * topk_));
  double selected = 0;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    std::int64_t slot = 0;
    std::int32_t narrow = 0;
    if (wide_indices_)
      std::memcpy(&slot, bytes->data() + 8 * i, 8);
    else
      std::memcpy(&narrow, bytes->data() + 4 * i, 4);
    if (!wide_indices_) slot = narrow;
    const bool valid = slot >= 0 && slot < cache.slots();
    slots[i] = valid ? static_cast<std::int32_t>(slot) : -1;
    const auto token = static_cast<std::int64_t>(i) / topk_;
    const bool used = static_cast<std::int64_t>(i) % topk_ < call.length.as<std::int32_t>()[token];
    selected += valid && used ? 1 : 0;
  }
  call.set_indices(slots);
  return selected;
}

tl::expected<JobReport, Diagnostic> TensorsJob::run(JobRunners& runners,
                                                    std::optional<float> sm_scale, int threads,
                                                    const std::optional<std::string>& out_file,
                                                    Progress& progress) const {
  PhaseRunner& runner = runners.phases.front();
  JobReport report;
  auto cache = make_cache(runners, report);
  if (!cache) return tl::make_unexpected(std::move(cache.error()));
  report.workload = fmt::format("{} tokens of {}", tokens_, file_.file());
  AttentionCall call(*runners.memory, runner.attention->config(), tokens_);
  if (sm_scale) call.sm_scale = *sm_scale;
  const auto selected = fill_call(call, *cache);
  if (!selected) return tl::make_unexpected(selected.error());
  report.indices = fmt::format("as given; {:.0f} keys are selected", *selected);
  auto done = run_and_check(runner, call, *cache, *selected, threads, progress,
                            report.phases.emplace_back());
  if (done && out_file)
    done = write_tensor_file(*out_file, {{"out", call.out.host()}, {"lse", call.lse.host()}});
  if (!done) return tl::make_unexpected(std::move(done.error()));
  return report;
}

}  // namespace dsakit::cli
