// What a test says about an attention call, short enough to print; problem.hpp makes the call from
// it. And the configuration that a plugin's create() sees for it.
//
// Invariants: plain values; the strings of an OwnedConfig live as long as it does. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "dsakit/plugin_abi.h"

namespace dsakit::conformance {

struct Description {
  std::string row;  // of the manifest; empty: none in particular
  std::string layout = "bf16_1152";
  std::string phase = "decode";
  std::string model_family = "deepseek_v32";
  std::int64_t batch = 1, s_q = 1;  // T = batch * s_q
  bool nested = false;              // tensors are [b, s, ...] instead of [T, ...]
  std::int64_t heads = 16, topk = 64, pages = 8, page_size = 16;
  std::int64_t topk2 = 0, pages2 = 0, page_size2 = 0;  // topk2 > 0: a second cache
  std::int64_t d_qk = 0, d_v = 0;                      // 0: the layout's
  std::int64_t index_kpool = 1;
  bool ragged = false, wide_indices = false, head_axis = false;
  bool flat_cache = false;        // a [rows, row] pool; page_size must be 1
  bool distinct = false;          // no index twice in a token's row; needs slots >= topk
  double invalid = 0.1;           // share of the entries that are invalid
  bool only_minus_one = false;    // invalid entries are -1; else also far out of range
  std::int64_t empty_token = -1;  // all entries of this token are invalid
  bool lengths = false;           // random topk_length, 0 and topk included
  bool length_per_batch = false;  // one length for s_q tokens
  bool sink = false;
  float sink_value = 0.0F;       // if not 0: every sink has this value, infinities included
  bool odd_strides = true;       // gaps between rows, pages and tokens
  std::int64_t base_offset = 0;  // bytes between the start of a tensor's memory and its data
  bool decoy_gaps = false;       // gaps between index rows hold valid slots instead of garbage
  bool unselected_nan = true;    // slots that no token selects are NaN; else values like the others
  std::int64_t page_gap = 0;     // more bytes between pages; large ones make a sparse pool
  bool max_logits = true, lse = true;
  std::string lse_base = "natural", lse_sink = "excluded", lse_empty = "plus_inf";
  std::string q_dtype = "bf16", out_dtype = "bf16", kv_scale = "any", compute = "exact";
  std::string invalid_index = "any_out_of_range";  // what the configuration says
  float q_amplitude = 1.0F, kv_amplitude = 1.0F;
  float sm_scale = 0.0F;  // 0: d_qk^-0.5
  float tensor_scale = 0.05F;
  std::vector<std::string> features;                      // on top of those that the rest implies
  std::vector<std::pair<std::string, std::string>> dims;  // extension dimensions
  DLDevice device{kDLCPU, 0};                             // that the plugin runs on
  std::int32_t threads = 0;                               // sm_count of the config
  unsigned seed = 1;

  std::int64_t tokens() const { return batch * s_q; }
  // `features` with those that lengths, sink, topk2 and max_logits need; each once.
  std::vector<std::string> all_features() const;
};

// "heads 24, topk 100, 3 tokens, 8 pages of 16, lengths": what a failing case was.
std::string describe(const Description& description);

// A dsakit_config for the description's device.
class OwnedConfig {
 public:
  explicit OwnedConfig(const Description& description);
  OwnedConfig(const OwnedConfig&) = delete;
  OwnedConfig& operator=(const OwnedConfig&) = delete;

  dsakit_config config{};

 private:
  Description text_;
  std::vector<std::string> features_;
  std::vector<const char*> feature_names_;
  std::vector<dsakit_dim> dims_;
};

}  // namespace dsakit::conformance
