#include "sdk/conformance/space.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "dsakit/kv_layout.hpp"
#include "manifest/arch.hpp"
#include "sdk/conformance/compare.hpp"

namespace dsakit::conformance {
namespace {

// What the base takes where a row accepts anything.
constexpr std::pair<const char*, std::int32_t> kUsual[] = {
    {"heads", 16}, {"topk", 64}, {"page_size", 16}, {"index_kpool", 1}};

Solver compile(const std::shared_ptr<const Manifest>& manifest) {
  return Solver::compile({{manifest, "conformance"}}, "conformance");
}

std::shared_ptr<const Manifest> with_one_row(const Manifest& manifest, std::size_t row) {
  auto copy = std::make_shared<Manifest>(manifest);
  copy->rows = {manifest.rows[row]};
  return copy;
}

std::string token_of(const std::map<std::string, Value>& values, const std::string& dim) {
  const auto found = values.find(dim);
  const auto* token = found == values.end() ? nullptr : std::get_if<Token>(&found->second);
  return token == nullptr ? "" : *token;
}

std::int64_t int_of(const std::map<std::string, Value>& values, const std::string& dim) {
  const auto found = values.find(dim);
  const auto* number = found == values.end() ? nullptr : std::get_if<std::int32_t>(&found->second);
  return number == nullptr ? 0 : *number;
}

void only_phase(Request& request, const std::string& phase) {
  request.prefill = phase == "prefill";
  request.decode = phase == "decode";
  request.mtp = phase == "mtp";
}

Value narrow(std::int64_t value) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int32_t>::max();
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(value, 0, kMax));
}

}  // namespace

RowSpace::RowSpace(const std::shared_ptr<const Manifest>& manifest, std::size_t row)
    : manifest_(manifest),
      row_(row),
      whole_(compile(manifest)),
      single_(compile(with_one_row(*manifest, row))) {
  const auto provided = manifest_->rows[row].provides.find("kv_layout");
  if (provided != manifest_->rows[row].provides.end())
    if (const auto* name = std::get_if<Token>(&provided->second)) layout_ = *name;
  find_base();
}

std::vector<const Predicate*> RowSpace::predicates(const std::string& dim) const {
  std::vector<const Predicate*> found;
  for (const Where* where : {&row().where, &manifest_->common})
    if (const auto at = where->find(dim); at != where->end()) found.push_back(&at->second);
  return found;
}

std::vector<std::string> RowSpace::platforms() const {
  std::vector<std::string> accepted;
  for (const KnownDevice& device : known_devices()) {
    const std::string platform(device.platform);
    if (std::ranges::find(accepted, platform) == accepted.end() &&
        accepts_device(platform, std::string(device.name)))
      accepted.push_back(platform);
  }
  return accepted;
}

bool RowSpace::accepts_device(const std::string& platform, const std::string& arch) const {
  return alone("platform", Token(platform)) && alone("arch", Token(arch));
}

void RowSpace::settle(const std::string& platform, const std::string& arch, DLDevice device) {
  platform_ = platform;
  arch_ = arch;
  device_ = device;
}

// Whether the row accepts a value, everything else unknown.
bool RowSpace::alone(const std::string& dim, const Value& value) const {
  Request request;
  const DimensionTable& dims = single_.dimensions();
  for (int i = 0; i < dims.size(); ++i)
    if (dims.at(i).name != "phase") request.values[dims.at(i).name] = Unknown{};
  request.values[dim] = value;
  return single_.count_accepting_rows(request) > 0;
}

std::optional<Value> RowSpace::choose(const Dimension& dim) const {
  std::vector<Value> candidates;
  if (dim.neutral) candidates.push_back(*dim.neutral);
  for (const auto& [name, value] : kUsual)
    if (dim.name == name) candidates.emplace_back(value);
  const KvLayout* layout = find_kv_layout(layout_);
  if (layout != nullptr && dim.name == "d_qk") candidates.emplace_back(layout->d_qk());
  if (layout != nullptr && dim.name == "d_v") candidates.emplace_back(layout->d_v);
  if (dim.name == "model_family")
    for (const char* family : {"deepseek_v32", "glm_moe_dsa"})
      candidates.emplace_back(Token(family));
  if (dim.name == "kv_dtype")
    candidates.emplace_back(
        Token(layout != nullptr && layout->element != KvElement::bf16 ? "fp8_e4m3" : "bf16"));
  for (const Value& value : inner_candidates(dim)) candidates.push_back(value);
  for (const Value& value : candidates)
    if (alone(dim.name, value)) return value;
  return std::nullopt;
}

void RowSpace::find_base() {
  for (const KnownDevice& device : known_devices()) {
    const std::string platform(device.platform);
    const std::string arch(device.name);
    if (!platform_.empty() || !accepts_device(platform, arch)) continue;
    platform_ = platform;
    arch_ = arch;
  }
  const DimensionTable& dims = single_.dimensions();
  for (int i = 0; i < dims.size(); ++i) {
    const Dimension& dim = dims.at(i);
    if (dim.name == "phase" || dim.name == "platform" || dim.name == "arch" ||
        dim.type == DimType::version)
      continue;
    const std::optional<Value> value = choose(dim);
    if (!value) return;
    base_[dim.name] = *value;
  }
  kv_dtype_ = token_of(base_, "kv_dtype");
  for (const Phase phase : {Phase::decode, Phase::prefill, Phase::mtp}) {
    const std::string name(phase_name(phase));
    phases_.push_back(name);
    if (platform_.empty() || !accepts(base(name))) phases_.pop_back();
  }
}

Description RowSpace::base(const std::string& phase) const {
  Description d;
  d.row = row().name;
  d.device = device_;
  d.layout = layout_;
  d.phase = phase;
  d.model_family = token_of(base_, "model_family");
  d.heads = int_of(base_, "heads");
  d.topk = int_of(base_, "topk");
  d.page_size = int_of(base_, "page_size");
  d.d_qk = int_of(base_, "d_qk");
  d.d_v = int_of(base_, "d_v");
  d.index_kpool = int_of(base_, "index_kpool");
  d.kv_scale = token_of(base_, "kv_scale");
  d.ragged = token_of(base_, "index_mode") == "ragged";
  d.invalid_index = token_of(base_, "invalid_index");
  d.only_minus_one = d.invalid_index == "minus1_only";
  d.q_dtype = token_of(base_, "q_dtype");
  d.out_dtype = token_of(base_, "out_dtype");
  d.lse_base = token_of(base_, "lse");
  d.lse_sink = token_of(base_, "lse_sink");
  d.lse_empty = token_of(base_, "lse_empty");
  d.compute = token_of(base_, "compute");
  d.features = std::get<Set>(base_.at("features"));
  for (const Dimension& dim : manifest_->dims)
    if (const auto at = base_.find(dim.name); at != base_.end())
      d.dims.emplace_back(dim.name, value_text(at->second));
  d.batch = 3;
  d.pages = (2 * d.topk + d.page_size - 1) / d.page_size + 1;
  d.invalid = 0;
  d.distinct = true;
  d.odd_strides = false;
  d.unselected_nan = false;
  d.max_logits = d.lse = false;
  d.q_amplitude = 1.0F / kKeyAmplitude;
  d.kv_amplitude = kKeyAmplitude;
  return d;
}

Request RowSpace::request(const Description& d) const {
  Request request;
  request.values = base_;
  only_phase(request, d.phase);
  request.kv_layout = d.layout;
  const KvLayout* layout = find_kv_layout(d.layout);
  const auto number = [&](const char* dim, std::int64_t value) {
    request.values[dim] = narrow(value);
  };
  request.values["platform"] = platform_;
  request.values["arch"] = arch_;
  request.values["model_family"] = d.model_family;
  number("heads", d.heads);
  number("topk", d.topk);
  number("page_size", d.page_size);
  number("index_kpool", d.index_kpool);
  number("d_qk", d.d_qk != 0 || layout == nullptr ? d.d_qk : layout->d_qk());
  number("d_v", d.d_v != 0 || layout == nullptr ? d.d_v : layout->d_v);
  // A call has no kv_dtype: its layout implies one.
  if (d.layout != layout_) request.values["kv_dtype"] = Unknown{};
  request.values["kv_scale"] = d.kv_scale;
  request.values["index_mode"] = Token(d.ragged ? "ragged" : "physical");
  request.values["invalid_index"] = d.invalid_index;
  request.values["q_dtype"] = d.q_dtype;
  request.values["out_dtype"] = d.out_dtype;
  request.values["lse"] = d.lse_base;
  request.values["lse_sink"] = d.lse_sink;
  request.values["lse_empty"] = d.lse_empty;
  request.values["compute"] = d.compute;
  Set features = d.all_features();
  std::ranges::sort(features);
  features.erase(std::unique(features.begin(), features.end()), features.end());
  request.values["features"] = features;
  return request;
}

bool RowSpace::accepts(const Description& d) const {
  // A second cache obeys the row as the first one does.
  if (d.topk2 > 0) {
    Description second = d;
    second.topk = d.topk2;
    second.page_size = d.page_size2;
    second.topk2 = 0;
    second.features.emplace_back("second_cache");
    if (single_.allowed_set(request(second)).empty()) return false;
  }
  return !single_.allowed_set(request(d)).empty();
}

bool RowSpace::served(const Description& d) const {
  return !whole_.allowed_set(request(d)).empty();
}

bool RowSpace::accepts_feature(const std::string& name) const {
  return alone("features", Set{name});
}

std::vector<std::int64_t> RowSpace::accepted(const std::string& dim,
                                             const std::vector<std::int64_t>& wanted) const {
  std::vector<std::int64_t> kept;
  for (const std::int64_t value : wanted)
    if (alone(dim, narrow(value))) kept.push_back(value);
  return kept;
}

}  // namespace dsakit::conformance
