// One attention call in a GPU's memory, for timing: tensors of a shape, without copies on the host,
// that are written anew on the device before every run.
//
// Invariants: prepare() of the backend sees shapes and no values; every index, query and length is
// rewritten before each run, keys once, all after prepare(). Keys are rows that the reference codec
// packed from normal values, so every layout is served alike. Ends before its lab. One thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "bench/gpu_lab.hpp"
#include "bench/shape.hpp"
#include "dsakit/kv_layout.hpp"
#include "run/engine.hpp"

namespace dsakit::cli {

// Packed rows (pages, where the layout has a footer) in device memory, by layout and scale rule.
class SampleRows {
 public:
  struct Samples {
    GpuLab::Buffer memory;
    std::int64_t count = 0, words = 0;  // words of 4 bytes in each
  };
  // Throws std::bad_alloc; null: a copy failed.
  const Samples* of(GpuLab& lab, const dsakit_config& config);

 private:
  std::map<std::string, Samples> made_;
};

class GpuCall {
 public:
  // Tensors and workspace, and the backend's prepare(). E0804, E0805; throws std::bad_alloc.
  static tl::expected<std::unique_ptr<GpuCall>, Diagnostic> make(GpuLab& lab, PhaseRunner& runner,
                                                                 const BenchShape& shape,
                                                                 SampleRows& samples,
                                                                 std::uint64_t seed);
  GpuCall(const GpuCall&) = delete;
  GpuCall& operator=(const GpuCall&) = delete;

  // Fresh data, the flush, and the marked call. False: failed(), and error() says why.
  bool enqueue(Flush how);
  bool failed() const { return error_.has_value(); }
  const Diagnostic& error() const { return *error_; }

  // Outputs as garbage, and whether a run since then wrote numbers: a backend that leaves its work
  // undone is not fast. E0804.
  bool spoil_outputs();
  tl::expected<void, Diagnostic> check_outputs();

  const KvLayout& layout() const { return *layout_; }
  std::uint64_t workspace_bytes() const { return workspace_bytes_; }

 private:
  struct Tensor {
    GpuLab::Buffer memory;
    std::array<std::int64_t, 3> shape{}, strides{};
    DLTensor view{};
  };
  GpuCall(GpuLab& lab, PhaseRunner& runner, const BenchShape& shape, std::uint64_t seed);

  void make_tensor(Tensor& tensor, DLDataType type, std::vector<std::int64_t> shape,
                   std::vector<std::int64_t> pads);
  void make_tensors();
  void make_pool();
  tl::expected<void, Diagnostic> make_workspace();
  tl::expected<void, Diagnostic> start(SampleRows& samples);
  bool write_keys(const SampleRows::Samples& rows);
  bool rewrite();
  bool fail(Diagnostic why);

  GpuLab& lab_;
  PhaseRunner& runner_;
  const dsakit_config& config_;
  BenchShape shape_;
  std::uint64_t seed_;
  const KvLayout* layout_;
  Tensor q_, indices_, length_, sink_, out_, lse_, pool_, scale_;
  GpuLab::Buffer workspace_;
  std::uint64_t workspace_bytes_ = 0;
  dsakit_kv_cache cache_{};
  dsakit_run_args args_{};
  std::optional<Diagnostic> error_;
};

}  // namespace dsakit::cli
