// A complete attention call in host memory (staged.hpp takes it to a device): configuration,
// tensors, run struct. What a test says is a short description; the rest is made hostile on
// purpose: pages are shuffled, strides odd, every byte of the pool that no token selects is NaN,
// every output byte starts as garbage.
//
// Invariants: the same description and seed give the same bytes. Not copyable (the structs point
// into it). One thread.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <random>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "dsakit/plugin_abi.h"
#include "kvcache/codec.hpp"
#include "sdk/conformance/description.hpp"
#include "sdk/conformance/host_tensor.hpp"

namespace dsakit::conformance {

class Problem {
  Description text_;
  OwnedConfig owned_;

 public:
  explicit Problem(const Description& description);
  Problem(const Problem&) = delete;
  Problem& operator=(const Problem&) = delete;

  const Description& description() const { return text_; }
  std::int64_t tokens() const { return text_.batch * text_.s_q; }

  // Points args at a workspace of this size, aligned, with a canary behind it. Its first zero_bytes
  // are zero, the rest is garbage; for a device, only the canary is more than address space.
  void set_workspace(std::uint64_t bytes, std::uint32_t alignment, std::uint64_t zero_bytes = 0);
  struct Workspace {
    std::byte* start = nullptr;  // the canary is behind `bytes` of it
    std::uint64_t bytes = 0, zero_bytes = 0;
    std::uint32_t alignment = 1;
  };
  const Workspace& workspace() const { return workspace_; }
  static constexpr std::size_t kCanaryBytes = 256;
  static constexpr std::byte kCanary{0xC7};
  bool canary_alive() const;
  // Garbage in all outputs again.
  void spoil_outputs();
  // Whether every byte of the outputs' memory that belongs to no element still is garbage; and
  // whether all bytes are.
  bool gaps_untouched() const;
  bool outputs_untouched() const;
  // All bytes of the outputs, for bit comparisons.
  std::vector<std::byte> output_bytes() const;

  // Entry j of a token's index row; physical lists only.
  std::int64_t index(int which, std::int64_t token, std::int64_t j);
  void set_index(int which, std::int64_t token, std::int64_t j, std::int64_t slot);
  // Writes the key in a slot in the pool's layout.
  void set_key(int which, std::int64_t slot, std::span<const float> values);
  void set_query(std::int64_t token, std::int64_t head, std::int64_t d, float value);
  // The pool as the codec sees it.
  kvcache::Pool codec_pool(int which);

  dsakit_config config{};
  dsakit_run_args args{};
  dsakit_kv_cache caches[2]{};
  HostTensor q, out, lse, max_logits, sink;
  HostTensor pool[2], scale[2], indices[2], indptr[2], length[2];
  std::vector<HostTensor*> tensors();

 private:
  // What the lists select, collected while they are written.
  struct Lists {
    std::mt19937 random;
    std::set<std::int64_t> selected[2];
  };
  std::int64_t token_offset(const HostTensor& tensor, std::int64_t token,
                            std::initializer_list<std::int64_t> rest) const;
  std::int64_t row_offset(const HostTensor& list, std::int64_t token, std::int64_t j) const;
  std::uint64_t lead() const { return static_cast<std::uint64_t>(text_.base_offset); }
  void make_queries();
  void fill_queries(std::mt19937& random);
  void make_outputs();
  void make_cache(int which, Lists& lists);
  void make_indices(int which, Lists& lists);
  void fill_pool(int which, Lists& lists);
  std::vector<std::int64_t> draw_row(int which, std::int64_t token, std::int64_t count,
                                     std::mt19937& random) const;
  std::int64_t slots(int which) const;
  std::vector<std::int64_t> draw_lengths(std::mt19937& random, std::int64_t topk) const;
  std::vector<std::int64_t> token_shape(std::vector<std::int64_t> rest) const;
  std::vector<std::int64_t> token_strides(const std::vector<std::int64_t>& rest) const;

  Workspace workspace_;
  std::shared_ptr<std::byte> workspace_memory_;
};

}  // namespace dsakit::conformance
