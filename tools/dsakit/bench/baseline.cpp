#include "bench/baseline.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "embedded.hpp"

namespace dsakit::cli {
namespace {

using nlohmann::json;

constexpr std::size_t kColumns = 7;

std::optional<double> time_of(const json& cell) {
  return cell.is_null() ? std::nullopt : std::optional(cell.get<double>());
}

BaselineRow read_baseline_row(const json& cells) {
  if (cells.size() != kColumns) throw std::runtime_error("a row has 7 numbers");
  BaselineRow row;
  row.requests = cells[0];
  row.s_q = cells[1];
  row.heads = cells[2];
  row.topk = cells[3];
  row.pool = cells[4];
  row.us_clean = time_of(cells[5]);
  row.us_dirty = time_of(cells[6]);
  return row;
}

BaselineKind read_kind(const json& from) {
  BaselineKind kind;
  kind.name = from.at("name");
  kind.kv_layout = from.at("kv_layout");
  kind.kv_dtype = from.at("kv_dtype");
  kind.page_size = from.at("page_size");
  kind.disjoint = from.at("disjoint");
  kind.features = from.at("features").get<std::vector<std::string>>();
  for (const json& row : from.at("rows")) kind.rows.push_back(read_baseline_row(row));
  return kind;
}

Baseline read_baseline(const json& from) {
  Baseline baseline;
  baseline.device = from.at("device");
  baseline.what = from.at("what");
  baseline.date = from.at("date");
  const json& ceilings = from.at("ceilings");
  baseline.ceilings.gemm_tflops = ceilings.at("bf16_gemm_tflops");
  for (const json& gather : ceilings.at("gather_tb_per_s"))
    baseline.ceilings.gather.push_back(
        {gather.at("row_bytes"), gather.at("rows"), gather.at("value")});
  for (const json& kind : from.at("kinds")) baseline.kinds.push_back(read_kind(kind));
  return baseline;
}

std::vector<Baseline> read_all() {
  std::vector<Baseline> all;
  for (const EmbeddedFile& file : embedded_baselines())
    if (auto baseline = parse_baseline(file.text)) all.push_back(std::move(*baseline));
  return all;
}

}  // namespace

double Ceilings::gather_of(std::int64_t row_bytes) const {
  const GatherCeiling* longest = nullptr;
  for (const GatherCeiling& each : gather)
    if (each.row_bytes == row_bytes && (longest == nullptr || each.rows > longest->rows))
      longest = &each;
  return longest == nullptr ? 0 : longest->tb_per_s;
}

tl::expected<Baseline, std::string> parse_baseline(std::string_view text) {
  try {
    return read_baseline(json::parse(text));
  } catch (const std::exception& why) {
    return tl::make_unexpected(std::string(why.what()));
  }
}

std::span<const Baseline> known_baselines() {
  static const std::vector<Baseline> kAll = read_all();
  return kAll;
}

const Baseline* find_baseline(std::string_view device) {
  const auto all = known_baselines();
  const auto found = std::ranges::find(all, device, &Baseline::device);
  return found == all.end() ? nullptr : &*found;
}

const BaselineKind* find_kind(std::string_view name) {
  for (const Baseline& baseline : known_baselines())
    for (const BaselineKind& kind : baseline.kinds)
      if (kind.name == name) return &kind;
  return nullptr;
}

std::vector<std::string> kind_names() {
  std::vector<std::string> names;
  for (const Baseline& baseline : known_baselines())
    for (const BaselineKind& kind : baseline.kinds)
      if (std::ranges::find(names, kind.name) == names.end()) names.push_back(kind.name);
  return names;
}

}  // namespace dsakit::cli
