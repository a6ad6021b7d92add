// A paged, packed KV cache and the attention calls over it, driven through a loaded session as a
// host engine does it: shuffled pages, appended rows, physical or ragged indices.
//
// Invariants: slots that were never written hold bytes that decode to NaN; every tensor that a
// plugin sees is compact. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "diag/diagnostic.hpp"
#include "dsakit/kv_layout.hpp"
#include "host/runtime.hpp"
#include "run/memory.hpp"

namespace dsakit::cli {

// A phase of a session, ready to run up to max_tokens tokens.
struct PhaseRunner {
  Phase phase = Phase::prefill;
  std::string backend, row;
  std::unique_ptr<Attention> attention;
};

// The instance of a phase. Errors: those of LoadedSession::create().
tl::expected<PhaseRunner, Diagnostic> make_runner(const LoadedSession& session, Phase phase,
                                                  const InstanceOptions& options);

// E0804: what a call of a backend answered, in its own words.
Diagnostic failed_call(const PhaseRunner& runner, const char* call, dsakit_rc rc,
                       const dsakit_error& error);

// The pool that all phases share.
class PagedCache {
 public:
  // `pages` physical pages in the layout that `config` names. E0805 for a layout that dsakit's
  // table does not have.
  static tl::expected<PagedCache, Diagnostic> make(Memory& memory, const dsakit_config& config,
                                                   std::int64_t pages);

  const KvLayout& layout() const { return *layout_; }
  std::int64_t slots() const { return pages_ * page_size_; }
  std::int64_t bytes() const { return static_cast<std::int64_t>(data_.size()); }
  // Replaces the pages' bytes; `pages` are compact, as many as there are. False: a copy failed.
  bool fill(std::span<const std::byte> pages);
  // The scale of layouts with one scale.
  bool set_scale(float scale);

  // For the backend's memory, and for the host's copy of it.
  const dsakit_kv_cache& device() const { return *device_; }
  const dsakit_kv_cache& host() const { return *host_; }

  // Writes bf16 rows [n, d_qk] into slots through the backend's kv_append or, where it has none,
  // with the reference codec. E0804.
  tl::expected<void, Diagnostic> append(PhaseRunner& runner, std::span<const std::uint16_t> rows,
                                        std::span<const std::int64_t> slots);

  // Rows of the host's copy that differ from what the reference codec makes of these values.
  std::int64_t count_wrong_rows(const dsakit_config& config, std::span<const std::uint16_t> rows,
                                std::span<const std::int64_t> slots) const;

 private:
  PagedCache() = default;
  void encode(const dsakit_config& config, std::byte* pool, std::span<const std::uint16_t> rows,
              std::span<const std::int64_t> slots) const;

  Memory* memory_ = nullptr;
  const KvLayout* layout_ = nullptr;
  std::int64_t pages_ = 0, page_size_ = 0, d_qk_ = 0;
  Tensor data_, scale_;
  std::unique_ptr<dsakit_kv_cache> device_, host_;
};

// Tensors of one run of T tokens, and the run.
class AttentionCall {
 public:
  AttentionCall(Memory& memory, const dsakit_config& config, std::int64_t tokens);

  std::int64_t tokens() const { return tokens_; }
  Tensor q, out, lse;
  Tensor sink;    // feature attn_sink
  Tensor length;  // feature topk_length
  float sm_scale;

  // The query of one token, [heads, d_qk], rounded to the query's dtype.
  void set_query(std::int64_t token, std::span<const float> values);

  // [T, topk] slots, -1 for none; turned into lists where the index mode is ragged.
  void set_indices(std::span<const std::int32_t> slots);

  // Runs once and answers the seconds it took, outputs on the host. E0804.
  tl::expected<double, Diagnostic> run(PhaseRunner& runner, const PagedCache& cache);

  // The arguments over host memory, for a check.
  dsakit_run_args host_args(const PagedCache& cache) const { return args(cache, true); }

 private:
  dsakit_run_args args(const PagedCache& cache, bool host) const;
  tl::expected<void, Diagnostic> prepare_workspace(PhaseRunner& runner);

  Memory* memory_;
  std::int64_t tokens_;
  bool ragged_ = false, has_sink_ = false, has_length_ = false, has_lse_ = true;
  std::int64_t topk_;
  Tensor indices_, indptr_, workspace_;
  std::vector<std::int64_t> list_length_;
  DLTensor ragged_device_{}, ragged_host_{};
};

// The dtype that a config names, of bits 0 if dsakit does not know it.
DLDataType dtype_named(const char* name);

}  // namespace dsakit::cli
