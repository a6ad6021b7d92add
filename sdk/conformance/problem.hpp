// A complete attention call in host memory: configuration, tensors, run struct. What a test says is
// a short description; the rest is made hostile on purpose: pages are shuffled, strides odd, every
// byte of the pool that no token selects is NaN, every output byte starts as garbage.
//
// Invariants: the same description and seed give the same bytes. Not copyable (the structs point
// into it). One thread.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "dsakit/plugin_abi.h"
#include "kvcache/codec.hpp"

namespace dsakit::conformance {

struct Description {
  std::string layout = "bf16_1152";
  std::string phase = "decode";
  std::string model_family = "deepseek_v32";
  std::int64_t batch = 1, s_q = 1;  // T = batch * s_q
  bool nested = false;              // tensors are [b, s, ...] instead of [T, ...]
  std::int64_t heads = 16, topk = 64, pages = 8, page_size = 16;
  std::int64_t topk2 = 0, pages2 = 0, page_size2 = 0;  // topk2 > 0: a second cache
  bool ragged = false, wide_indices = false, head_axis = false;
  bool flat_cache = false;        // a [rows, row] pool; page_size must be 1
  double invalid = 0.1;           // share of the entries that are invalid
  bool only_minus_one = false;    // invalid entries are -1; else also far out of range
  std::int64_t empty_token = -1;  // all entries of this token are invalid
  bool lengths = false;           // random topk_length, 0 and topk included
  bool length_per_batch = false;  // one length for s_q tokens
  bool sink = false;
  float sink_value = 0.0F;  // if not 0: every sink has this value, infinities included
  bool odd_strides = true;
  bool max_logits = true, lse = true;
  std::string lse_base = "natural", lse_sink = "excluded", lse_empty = "plus_inf";
  std::string q_dtype = "bf16", out_dtype = "bf16", kv_scale = "any";
  float q_amplitude = 1.0F, kv_amplitude = 1.0F;
  float sm_scale = 0.0F;  // 0: d_qk^-0.5
  float tensor_scale = 0.05F;
  std::vector<std::string> features;  // on top of those that the rest implies
  std::int32_t threads = 0;           // sm_count of the config
  unsigned seed = 1;
};

// A tensor with its own memory and strides.
struct HostTensor {
  DLTensor view{};
  std::vector<std::int64_t> shape, strides;
  std::vector<std::byte> memory;

  // `strides` in elements; empty: compact. Memory is filled with `fill`.
  void make(DLDataType type, std::vector<std::int64_t> extents,
            std::vector<std::int64_t> element_strides, std::byte fill);
  std::byte* at(std::int64_t element_offset);
};

class Problem {
 public:
  explicit Problem(const Description& description);
  Problem(const Problem&) = delete;
  Problem& operator=(const Problem&) = delete;

  const Description& description() const { return text_; }
  std::int64_t tokens() const { return text_.batch * text_.s_q; }

  // Points args at a workspace of this size, aligned, with a canary behind it.
  void set_workspace(std::uint64_t bytes, std::uint32_t alignment);
  bool canary_alive() const;
  // Garbage in all outputs again.
  void spoil_outputs();
  // All bytes of the outputs, for bit comparisons.
  std::vector<std::byte> output_bytes() const;

  dsakit_config config{};
  dsakit_run_args args{};
  dsakit_kv_cache caches[2]{};
  HostTensor q, out, lse, max_logits, sink;
  HostTensor pool[2], scale[2], indices[2], indptr[2], length[2];

 private:
  struct Lists;
  void fill_config();
  void make_queries();
  void make_outputs();
  void make_cache(int which, Lists& lists);
  void make_indices(int which, Lists& lists);
  std::vector<std::int64_t> draw_lengths(std::mt19937& random, std::int64_t topk) const;
  std::vector<std::int64_t> token_shape(std::vector<std::int64_t> rest) const;
  std::vector<std::int64_t> token_strides(const std::vector<std::int64_t>& rest) const;

  Description text_;
  std::vector<const char*> feature_names_;
  std::vector<std::string> features_;
  std::vector<std::byte> workspace_;
  std::byte* canary_ = nullptr;
};

}  // namespace dsakit::conformance
