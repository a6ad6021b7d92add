#include "bench/shape.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/contradiction.hpp"
#include "diag/nearest.hpp"

namespace dsakit::cli {
namespace {

constexpr std::int64_t kSweepTokens = 300, kRuleTokens = 64, kRuleHeads = 64, kRuleTopk = 2048;
constexpr std::int64_t kFlatPool = 131072;
constexpr std::int64_t kMostDecodeTokens = 256;  // of a shared pool; more is taken for prefill

// Of --phases; prefill and decode without it.
std::vector<Phase> phases_of(const Options& options) {
  std::vector<Phase> phases;
  std::istringstream list(options.phases.value_or("prefill,decode"));
  for (std::string name; std::getline(list, name, ',');)
    if (const auto phase = parse_phase(name)) phases.push_back(*phase);
  return phases;
}

bool asked_for(const std::vector<int>& list, std::int64_t value) {
  return list.empty() || std::ranges::find(list, value) != list.end();
}

BenchShape shape_of(const BaselineKind& kind, const BaselineRow& row) {
  BenchShape shape;
  shape.requests = row.requests;
  shape.s_q = row.s_q;
  shape.heads = row.heads;
  shape.topk = row.topk;
  shape.pool = row.pool;
  shape.disjoint = kind.disjoint;
  shape.page_size = kind.page_size;
  shape.kv_dtype = kind.kv_dtype;
  shape.features = kind.features;
  shape.phase = row.s_q > 1                                          ? Phase::mtp
                : !kind.disjoint && row.requests > kMostDecodeTokens ? Phase::prefill
                                                                     : Phase::decode;
  shape.suite = kind.name;
  return shape;
}

// Rows of a baseline, those of the sizes that were asked for.
std::vector<BenchShape> baseline_suite(const BaselineKind& kind, const BenchOptions& options) {
  std::vector<BenchShape> shapes;
  for (const BaselineRow& row : kind.rows) {
    if (!asked_for(options.heads, row.heads) || !asked_for(options.topk, row.topk) ||
        !asked_for(options.tokens, row.requests * row.s_q))
      continue;
    shapes.push_back(shape_of(kind, row));
    shapes.back().baseline = row;
  }
  return shapes;
}

// What suites that are no list of rows begin with: a decode call as the baseline of that KV dtype
// has it.
BenchShape start_of(const Options& options, const char* suite) {
  BaselineRow row{kRuleTokens, 1, kRuleHeads, kRuleTopk, kFlatPool, {}, {}};
  const std::string dtype = options.kv_dtype.value_or("bf16");
  BenchShape shape;
  for (const Baseline& baseline : known_baselines())
    for (const BaselineKind& kind : baseline.kinds) {
      if (kind.kv_dtype != dtype || shape.topk != 0) continue;
      if (kind.disjoint) row.pool = kind.rows.front().pool;
      shape = shape_of(kind, row);
    }
  if (shape.topk == 0) {
    BaselineKind unknown;
    unknown.kv_dtype = dtype;
    shape = shape_of(unknown, row);
  }
  const BenchOptions& bench = options.bench;
  if (!bench.heads.empty()) shape.heads = bench.heads.front();
  if (!bench.topk.empty()) shape.topk = bench.topk.front();
  if (!bench.tokens.empty()) shape.requests = bench.tokens.front();
  if (bench.pool) shape.pool = *bench.pool;
  shape.suite = suite;
  return shape;
}

// What must cost little: each case beside the nearest one that a kernel is tuned for.
std::vector<BenchShape> rules_suite(const Options& options) {
  const BenchShape base = start_of(options, kRulesSuite);
  const std::string base_label = fmt::format("{} heads", base.heads);
  std::vector<BenchShape> shapes;
  const auto add = [&](const std::string& label, const std::string& beside, double at_most,
                       auto change) {
    BenchShape& shape = shapes.emplace_back(base);
    shape.label = label;
    shape.beside = beside;
    shape.at_most = at_most;
    change(shape);
  };
  const auto heads = [](std::int64_t count) {
    return [count](BenchShape& shape) { shape.heads = count; };
  };
  const auto topk = [](std::int64_t count) {
    return [count](BenchShape& shape) { shape.topk = count; };
  };
  add(base_label, "", 0, [](BenchShape&) {});
  add(fmt::format("topk {}", base.topk - 49), base_label, 1.10, topk(base.topk - 49));
  add(fmt::format("topk {}", base.topk + 64), base_label, 1.10, topk(base.topk + 64));
  for (const std::int64_t page : {1, 64})
    if (page != base.page_size)
      add(fmt::format("page {}", page), base_label, 1.10,
          [page](BenchShape& shape) { shape.page_size = page; });
  add("padded strides", base_label, 1.10, [](BenchShape& shape) { shape.padded = true; });
  if (base.heads != 32) add("32 heads", "", 0, heads(32));
  add("24 heads", "32 heads", 1.10, heads(24));
  if (base.heads != 64) add("64 heads", "", 0, heads(64));
  add("48 heads", "64 heads", 1.10, heads(48));
  add("1 % invalid", base_label, 1.10, [](BenchShape& shape) { shape.invalid = 0.01; });
  add("random topk_length", base_label, 0.65, [](BenchShape& shape) {
    shape.random_length = true;
    shape.features.emplace_back("topk_length");
  });
  add("deterministic", base_label, 1.15,
      [](BenchShape& shape) { shape.features.emplace_back("deterministic"); });
  return shapes;
}

// Every number of tokens, none slower than the next larger one.
std::vector<BenchShape> sweep_suite(const Options& options) {
  std::vector<BenchShape> shapes;
  const BenchShape base = start_of(options, kSweepSuite);
  const std::int64_t most = options.bench.tokens.empty() ? kSweepTokens : base.requests;
  for (std::int64_t tokens = 1; tokens <= most; ++tokens) {
    BenchShape& shape = shapes.emplace_back(base);
    shape.requests = tokens;
    shape.label = fmt::format("T {}", tokens);
    if (tokens == most) continue;
    shape.beside = fmt::format("T {}", tokens + 1);
    shape.at_most = 1.05;
  }
  return shapes;
}

// Every combination of the options' lists.
std::vector<BenchShape> combinations(const Options& options) {
  const BenchOptions& bench = options.bench;
  const auto or_default = [](const std::vector<int>& list, std::vector<int> other) {
    return list.empty() ? other : list;
  };
  std::vector<BenchShape> shapes;
  for (const Phase phase : phases_of(options))
    for (const int heads : or_default(bench.heads, {8, 16, 32, 64, 128}))
      for (const int topk : or_default(bench.topk, {2048}))
        for (const int tokens : or_default(bench.tokens, {bench.s_q, 8 * bench.s_q})) {
          BenchShape& shape = shapes.emplace_back();
          shape.phase = phase;
          shape.heads = heads;
          shape.topk = topk;
          shape.s_q = bench.s_q;
          shape.requests = tokens / bench.s_q;
          shape.pool = bench.pool.value_or(65536);
          shape.disjoint = bench.own_pools;
          shape.overlap = bench.overlap;
          shape.invalid = bench.invalid;
          shape.padded = bench.padded;
          shape.random_length = bench.random_length;
          if (shape.random_length) shape.features.emplace_back("topk_length");
        }
  return shapes;
}

tl::expected<std::vector<BenchShape>, Diagnostic> suite(const Options& options,
                                                        const std::string& name) {
  if (name == kRulesSuite) return rules_suite(options);
  if (name == kSweepSuite) return sweep_suite(options);
  if (const BaselineKind* kind = find_kind(name)) {
    auto shapes = baseline_suite(*kind, options.bench);
    if (!shapes.empty()) return shapes;
    return tl::make_unexpected(bench_refusal(
        "--suite " + name, fmt::format("no row of `{}` has these heads, topk and tokens", name)));
  }
  Diagnostic unknown = bench_refusal("--suite " + name, fmt::format("`{}` is not a suite", name))
                           .note(fmt::format("suites: {}", fmt::join(suite_names(), ", ")));
  if (const auto near = nearest_name(name, suite_names()))
    unknown.notes.push_back(fmt::format("the nearest is `{}`", *near));
  return tl::make_unexpected(std::move(unknown));
}

std::optional<Diagnostic> impossible(const BenchShape& shape, const Options& options) {
  if (shape.topk < 1)
    return bench_refusal("--suite " + shape.suite,
                         fmt::format("{} has no keys: --topk is too small", shape.label));
  if (shape.topk > shape.pool)
    return bench_refusal(
        fmt::format("--topk {}", shape.topk),
        fmt::format("a list of {} keys without repeats needs a larger pool than {}", shape.topk,
                    shape.pool));
  const auto& tokens = options.bench.tokens;
  const auto odd =
      std::ranges::find_if(tokens, [&](int each) { return each % options.bench.s_q != 0; });
  if (shape.suite.empty() && odd != tokens.end())
    return bench_refusal(fmt::format("--s-q {}", options.bench.s_q),
                         fmt::format("{} tokens are no whole number of requests", *odd));
  return std::nullopt;
}

}  // namespace

std::vector<std::string> suite_names() {
  std::vector<std::string> names = kind_names();
  names.insert(names.end(), {kRulesSuite, kSweepSuite});
  return names;
}

tl::expected<std::vector<BenchShape>, Diagnostic> shapes_of(const Options& options) {
  if (auto why = bench_contradiction(options)) return tl::make_unexpected(std::move(*why));
  std::vector<BenchShape> all;
  if (options.bench.suites.empty()) all = combinations(options);
  for (const std::string& name : options.bench.suites) {
    auto shapes = suite(options, name);
    if (!shapes) return shapes;
    all.insert(all.end(), shapes->begin(), shapes->end());
  }
  for (const BenchShape& shape : all)
    if (auto why = impossible(shape, options)) return tl::make_unexpected(std::move(*why));
  std::vector<std::string> backends = options.targets;
  if (backends.empty()) backends.emplace_back();
  std::vector<BenchShape> shapes;
  for (const std::string& backend : backends)
    for (BenchShape shape : all) {
      shape.backend = backend;
      shapes.push_back(std::move(shape));
    }
  return shapes;
}

Work work_of(const BenchShape& shape, const KeySize& key) {
  const auto tokens = static_cast<double>(shape.tokens());
  const auto heads = static_cast<double>(shape.heads);
  const auto pool = static_cast<double>(shape.pool);
  const double keys = shape.keys();
  const double tokens_a_pool = tokens / static_cast<double>(shape.pools());
  double rows = pool * (1.0 - std::pow(1.0 - keys / pool, tokens_a_pool));
  if (shape.overlap > 0)
    rows = std::min(pool, keys * (1.0 + (1.0 - shape.overlap) * (tokens_a_pool - 1.0)));
  const auto widths = static_cast<double>(key.d_qk + key.d_v);
  const double entries = static_cast<double>(shape.topk) * (shape.random_length ? 0.5 : 1.0);
  Work work;
  work.keys = keys * tokens;
  work.flops = 2.0 * heads * widths * work.keys;
  work.bytes =
      rows * static_cast<double>(shape.pools() * key.bytes) +
      tokens * (heads * (2.0 * widths + 4.0) + 4.0 * entries + (shape.random_length ? 4.0 : 0.0));
  return work;
}

Bound bound_of(const Work& work, double tb_per_s, double tflops) {
  const double memory = work.bytes / tb_per_s * 1e-6;
  const double arithmetic = work.flops / tflops * 1e-6;
  return {std::max(memory, arithmetic), memory >= arithmetic};
}

}  // namespace dsakit::cli
