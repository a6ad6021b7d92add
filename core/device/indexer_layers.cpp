#include "device/indexer_layers.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace dsakit {
namespace {

constexpr ConfigReader::Range kLayerId{0, 1 << 20};
constexpr std::string_view kFullIndexer = "full";
constexpr int kDefaultSkipOffset = 2;  // where index_skip_topk_offset is not stated

IndexerLayers not_derivable(std::string why) {
  return {std::nullopt, fmt::format("indexer_layers not derivable: {}", why)};
}

template <typename T>
std::optional<std::string> too_short(std::string_view key, const std::vector<T>& list, int layers) {
  if (list.size() >= static_cast<std::size_t>(layers)) return std::nullopt;
  return fmt::format("{} has {} entries for {} layers", key, list.size(), layers);
}

IndexerLayers from_ratios(ConfigReader& config, int layers) {
  const auto ratios = config.integers("compress_ratios", {0, 1 << 20});
  if (!ratios) return not_derivable("compress_ratios is missing");
  if (auto why = too_short("compress_ratios", *ratios, layers)) return not_derivable(*why);
  // Entries beyond the layers belong to the next-token-prediction layers.
  const auto count = std::count(ratios->begin(), ratios->begin() + layers, 4);
  return {static_cast<int>(count), "top-k on ratio-4 layers"};
}

IndexerLayers from_sources(ConfigReader& config) {
  auto sources = config.integers("index_source_layer_ids", kLayerId);
  if (!sources) return not_derivable("index_source_layer_ids is missing");
  std::ranges::sort(*sources);
  const auto count = std::unique(sources->begin(), sources->end()) - sources->begin();
  return {static_cast<int>(count), "top-k on index_source_layer_ids"};
}

// index_topk_freq: a layer computes its own index every `freq` layers, after `offset` first ones.
IndexerLayers from_frequency(ConfigReader& config, int layers) {
  const auto freq = config.integer({"index_topk_freq"}, {1, 1 << 20});
  const int offset =
      config.integer({"index_skip_topk_offset"}, {0, 1 << 20}).value_or(kDefaultSkipOffset);
  if (!freq) return {layers, "no sharing keys: every layer"};
  int count = 0;
  for (int layer = 0; layer < layers; ++layer) {
    if (std::max(layer - offset + 1, 0) % *freq == 0) ++count;
  }
  return {count, fmt::format("index_topk_freq {}, index_skip_topk_offset {}", *freq, offset)};
}

IndexerLayers from_schedule(const ModelFamily& family, ConfigReader& config, int layers) {
  const auto types = config.strings("indexer_types");
  const auto kinds = family.sparse_layers.empty() ? std::nullopt : config.strings("layer_types");
  if (!types && !kinds) {
    if (config.has("index_topk_pattern")) {
      return not_derivable("index_topk_pattern is unexplained");
    }
    return from_frequency(config, layers);
  }
  if (types) {
    if (auto why = too_short("indexer_types", *types, layers)) return not_derivable(*why);
  }
  if (kinds) {
    if (auto why = too_short("layer_types", *kinds, layers)) return not_derivable(*why);
  }
  int sparse = 0, full = 0;
  for (std::size_t layer = 0; layer < static_cast<std::size_t>(layers); ++layer) {
    if (kinds && (*kinds)[layer] != family.sparse_layers) continue;
    ++sparse;
    if (!types || (*types)[layer] == kFullIndexer) ++full;
  }
  std::string rule;
  if (sparse < layers) rule = fmt::format("top-k on the {} layers only", family.sparse_layers);
  if (full < sparse || rule.empty()) {
    rule += fmt::format("{}{}", rule.empty() ? "" : "; ",
                        types ? "indexer_types" : "no sharing keys: every layer");
  }
  return {full, rule};
}

}  // namespace

IndexerLayers indexer_layers(const ModelFamily& family, ConfigReader& config,
                             std::optional<int> layers) {
  if (family.indexer == IndexerRule::source_layers) return from_sources(config);
  if (family.indexer == IndexerRule::unexplained) {
    return not_derivable(config.has("cli_factor")
                             ? "cli_factor is unexplained"
                             : fmt::format("the sharing rule of {} is not known", family.name));
  }
  if (!layers) return not_derivable("the number of layers is missing");
  return family.indexer == IndexerRule::ratio_4 ? from_ratios(config, *layers)
                                                : from_schedule(family, config, *layers);
}

}  // namespace dsakit
