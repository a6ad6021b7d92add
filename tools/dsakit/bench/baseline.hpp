// Times of other kernels on a device, with the method of `dsakit bench`, and the ceilings of that
// device when they were taken: what a measured row stands beside. Written down in bench/baseline,
// one file a device, and built in; there is no second copy of these numbers.
//
// Invariants: an absolute time is compared only on the device that the file names. Value types; any
// thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

namespace dsakit::cli {

// Useful TB/s of rows of row_bytes, read in random order.
struct GatherCeiling {
  std::int64_t row_bytes = 0, rows = 0;
  double tb_per_s = 0;
};

struct Ceilings {
  double gemm_tflops = 0;  // bf16, 8192 x 8192 x 8192; 0: not measured
  std::vector<GatherCeiling> gather;

  // Of the longest list of such rows; 0: not measured.
  double gather_of(std::int64_t row_bytes) const;
};

struct BaselineRow {
  std::int64_t requests = 0, s_q = 1, heads = 0, topk = 0;
  std::int64_t pool = 0;                     // rows that a token selects from
  std::optional<double> us_clean, us_dirty;  // by the kind of flush (gpu_lab.hpp)
};

// Rows that are alike in all but sizes.
struct BaselineKind {
  std::string name;  // a suite of `dsakit bench`
  std::string kv_layout, kv_dtype;
  std::int64_t page_size = 1;
  bool disjoint = false;  // every request has a pool of its own
  std::vector<std::string> features;
  std::vector<BaselineRow> rows;
};

struct Baseline {
  std::string device, what, date;
  Ceilings ceilings;
  std::vector<BaselineKind> kinds;
};

// Or what is wrong with the text.
tl::expected<Baseline, std::string> parse_baseline(std::string_view json);

// All that are built in.
std::span<const Baseline> known_baselines();
// That of a device by its name; null: there is none.
const Baseline* find_baseline(std::string_view device);
// The first kind of this name in any of them; null: there is none.
const BaselineKind* find_kind(std::string_view name);
std::vector<std::string> kind_names();

}  // namespace dsakit::cli
