// The truth that backends are compared with: attention in float64 over the same bytes and the same
// run struct, written as naively as the formulas of plugin_abi.h and sharing no code, and no table
// of layouts, with any backend.
//
// Invariants: reads only what the contract lets a backend read. Arguments must be valid and in host
// memory. Pure; any thread (split a large call by token ranges).
#pragma once

#include <cstdint>
#include <vector>

#include "dsakit/plugin_abi.h"

namespace dsakit::conformance {

// Results of tokens first ... first + tokens - 1, compact.
struct Expected {
  std::int64_t first = 0, tokens = 0, heads = 0, d_v = 0;
  std::vector<double> out;         // [tokens, heads, d_v]
  std::vector<double> lse;         // [tokens, heads], in the config's convention
  std::vector<double> max_logits;  // [tokens, heads]
};

// Whether the reference knows how to read this layout.
bool reference_knows(const char* kv_layout);

// Requires reference_knows(config.kv_layout).
Expected reference_attention(const dsakit_config& config, const dsakit_run_args& args,
                             std::int64_t first, std::int64_t last);

// The key in a slot, dequantised: d_qk values.
std::vector<double> reference_key(const dsakit_config& config, const dsakit_kv_cache& cache,
                                  std::int64_t slot);

}  // namespace dsakit::conformance
