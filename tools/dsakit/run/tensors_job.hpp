// `dsakit run --tensors`: attention over the user's own tensors. What the file says about sizes
// goes into the request, so that the solver judges what will really run.
//
// Tensors of the file: q [T, h, d_qk] (BF16, F16, F32); kv, either BF16 [n, d_qk] or
// [pages, page, d_qk], which the backend packs, or U8 [n, row] or [pages, page, row], which is
// packed already; indices [T, topk] or [T, 1, topk] (I32, I64) of slots; optional: topk_length I32
// [T], attn_sink F32 [h], kv_scale F32 [1] for layouts with one scale. One thread.
#pragma once

#include <optional>
#include <string>

#include <tl/expected.hpp>

#include "diag/diagnostic.hpp"
#include "run/job.hpp"
#include "run/safetensors.hpp"
#include "solver/request.hpp"

namespace dsakit::cli {

class TensorsJob {
 public:
  // E0101, E0801, E0802.
  static tl::expected<TensorsJob, Diagnostic> open(const std::string& file);

  // Adds what the file says to a request about one phase. E0802 where the request says otherwise.
  tl::expected<void, Diagnostic> describe(Request& request) const;

  std::int64_t tokens() const { return tokens_; }

  // Runs the one phase of `runners`, checks it, and writes out and lse to `out_file` if it is
  // given. E0101, E0802, E0803, E0804, E0805.
  tl::expected<JobReport, Diagnostic> run(JobRunners& runners, std::optional<float> sm_scale,
                                          int threads, const std::optional<std::string>& out_file,
                                          Progress& progress) const;

 private:
  explicit TensorsJob(TensorFile file) : file_(std::move(file)) {}
  tl::expected<void, Diagnostic> read_shapes();
  tl::expected<void, Diagnostic> read_cache_shape(const TensorFileEntry& kv);
  tl::expected<PagedCache, Diagnostic> make_cache(JobRunners& runners, JobReport& report) const;
  tl::expected<double, Diagnostic> fill_call(AttentionCall& call, const PagedCache& cache) const;
  Diagnostic unusable(const std::string& tensor, std::string reason) const;

  TensorFile file_;
  std::int64_t tokens_ = 0, heads_ = 0, d_qk_ = 0, topk_ = 0;
  std::int64_t rows_ = 0, page_size_ = 0, row_ = 0;  // page_size_ 0: kv is [n, …]
  bool packed_ = false, wide_indices_ = false;
};

}  // namespace dsakit::cli
