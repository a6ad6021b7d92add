// How many layers of a model run an indexer of their own, and by which rule of its config.json.
// Reported to people; no request depends on it. Pure; any thread.
#pragma once

#include <optional>
#include <string>

#include "device/config_reader.hpp"
#include "device/family.hpp"

namespace dsakit {

struct IndexerLayers {
  std::optional<int> count;  // absent: not derivable, and `rule` says why
  std::string rule;          // "indexer_types", "no sharing keys: every layer"
};

// Wrong values are left in `config.error()`.
IndexerLayers indexer_layers(const ModelFamily& family, ConfigReader& config,
                             std::optional<int> layers);

}  // namespace dsakit
