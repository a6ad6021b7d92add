// What `dsakit bench` times: shapes, the suites that are lists of them, and the least work that a
// shape is. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "bench/baseline.hpp"
#include "diag/diagnostic.hpp"
#include "options.hpp"
#include "solver/request.hpp"

namespace dsakit::cli {

struct BenchShape {
  std::string backend;  // empty: the resolver's choice
  Phase phase = Phase::decode;
  std::int64_t requests = 1, s_q = 1;  // query tokens: their product
  std::int64_t heads = 0, topk = 0;
  std::int64_t pool = 0;       // rows that a token selects from
  bool disjoint = false;       // each request has a pool of its own
  std::int64_t page_size = 0;  // 0: whatever the session takes
  std::string kv_dtype;        // empty: as the user says
  std::vector<std::string> features;
  double overlap = 0;          // share of a token's list that the next one has too
  double invalid = 0;          // share of entries that are -1
  bool random_length = false;  // topk_length evenly spread over 0 … topk
  bool padded = false;         // gaps between heads, tokens, rows and pages

  std::string suite;  // empty: options alone
  std::string label;  // what sets it apart in its suite: "page 64"
  std::optional<BaselineRow> baseline;
  // A rule of the suite: time a key, beside the shape of that label, at most so many times as long.
  std::string beside;
  double at_most = 0;

  std::int64_t tokens() const { return requests * s_q; }
  std::int64_t pools() const { return disjoint ? requests : 1; }
  // Keys of a token, on average.
  double keys() const {
    return static_cast<double>(topk) * (1.0 - invalid) * (random_length ? 0.5 : 1.0);
  }
};

// Names for --suite: the kinds of the baselines, then "rules" and "sweep".
std::vector<std::string> suite_names();

// The shapes that the options ask for, backend by backend. E0407: --suite with an unknown name,
// options that contradict each other, or sizes that cannot be: more keys than the pool has.
tl::expected<std::vector<BenchShape>, Diagnostic> shapes_of(const Options& options);

// The least that a call has to move and to compute, given what is stored for a key.
struct Work {
  double keys = 0, flops = 0, bytes = 0;
};
struct KeySize {
  std::int64_t bytes = 0, d_qk = 0, d_v = 0;
};
// Each selected row is counted once, however many tokens select it; expected values for random
// lists. Queries, outputs, LSE, indices and lengths once.
Work work_of(const BenchShape& shape, const KeySize& key);

// The time that no kernel can be under, by ceilings that were measured.
struct Bound {
  double us = 0;
  bool memory = false;  // which of both it is
};
Bound bound_of(const Work& work, double tb_per_s, double tflops);

}  // namespace dsakit::cli
