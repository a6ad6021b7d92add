// The one table of model architectures and of the attention families they belong to: what differs
// between families when a config.json is read. A new model is a new line in family.cpp and nothing
// else.
//
// Invariants: every family that an architecture names is in the family table. Constant data; any
// thread.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace dsakit {

enum class SinkRule : std::uint8_t {
  flag,    // config.json says so: learnable_sink
  always,  // every model of the family has sink weights, and no key says so
};

// Which layers run an indexer of their own.
enum class IndexerRule : std::uint8_t {
  schedule,  // indexer_types, else index_topk_freq and index_skip_topk_offset, else every layer
  ratio_4,   // the layers whose compress_ratios entry is 4
  source_layers,  // those that index_source_layer_ids lists
  unexplained,    // not derivable from config.json
};

struct ModelFamily {
  std::string_view name;  // the model_family token
  SinkRule sinks;
  IndexerRule indexer;
  bool counts_compressed;  // index_topk counts compressed entries, not tokens
  bool rope_inside;        // the rope part lies inside the latent row: d_qk = kv_lora_rank
  int latent;              // kv_lora_rank where config.json does not state it; 0: it must
  std::string_view
      sparse_layers;  // the layer_types entry of layers that have an indexer; empty: all do
};

struct Architecture {
  std::string_view name;     // an entry of `architectures`
  std::string_view family;   // empty: never sparse attention in the sense of DSA
  std::string_view why_not;  // why it is not DSA, where there is no index_topk
};

std::span<const ModelFamily> model_families();
std::span<const Architecture> model_architectures();

// Exact name; null if the table has none.
const ModelFamily* find_family(std::string_view name);
const Architecture* find_architecture(std::string_view name);

}  // namespace dsakit
