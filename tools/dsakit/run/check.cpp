#include "run/check.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "run/parallel.hpp"
#include "sdk/conformance/reference.hpp"

namespace dsakit::cli {
namespace {

void add(conformance::Comparison& to, const conformance::Comparison& from) {
  if (to.worst < 0 && from.worst >= 0) {
    to.worst = to.elements + from.worst;
    to.expected = from.expected;
    to.found = from.found;
  }
  to.elements += from.elements;
  to.outside += from.outside;
  to.max_absolute = std::max(to.max_absolute, from.max_absolute);
  to.cosine = std::max(to.cosine, from.cosine);
}

// Root of the mean square of the values in the pool, from rows spread over it; rows that were never
// written are NaN and do not count.
double key_deviation(const dsakit_config& config, const dsakit_kv_cache& cache) {
  constexpr std::int64_t kRows = 512;
  const DLTensor& data = *cache.data;
  const std::int64_t slots = data.shape[0] * (data.ndim == 2 ? 1 : data.shape[1]);
  const std::int64_t rows = std::min(slots, kRows);
  double squares = 0.0;
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::vector<double> key =
        conformance::reference_key(config, cache, slots / rows * i + i % (slots / rows));
    double sum = 0.0;
    for (std::int64_t d = 0; d < config.d_v; ++d)
      sum += key[static_cast<std::size_t>(d)] * key[static_cast<std::size_t>(d)];
    if (!std::isfinite(sum)) continue;
    squares += sum;
    count += config.d_v;
  }
  return count == 0 ? 0.0 : std::sqrt(squares / static_cast<double>(count));
}

}  // namespace

void Checked::add(const Checked& other) {
  cli::add(out, other.out);
  cli::add(lse, other.lse);
  rows += other.rows;
  pass = pass && other.pass;
}

Checked check_rows(const dsakit_config& config, const dsakit_run_args& args, std::int64_t tokens,
                   int threads, Progress& progress) {
  const conformance::Tolerance tolerance = conformance::exact_out(key_deviation(config, *args.kv));
  std::vector<Checked> of_token(static_cast<std::size_t>(tokens));
  progress.begin("checking against float64", tokens, "tokens");
  parallel_for(tokens, threads, progress, [&](std::int64_t token) {
    const conformance::Expected expected =
        conformance::reference_attention(config, args, token, token + 1);
    Checked& one = of_token[static_cast<std::size_t>(token)];
    one.rows = config.heads;
    one.out = conformance::compare_out(expected, *args.out, tolerance);
    one.pass = one.out.pass(tolerance);
    if (args.lse == nullptr) return;
    one.lse = conformance::compare_lse(expected, *args.lse, conformance::kExactLse);
    one.pass = one.pass && one.lse.pass(conformance::kExactLse);
  });
  progress.finish();
  Checked all;
  for (const Checked& one : of_token) all.add(one);
  return all;
}

}  // namespace dsakit::cli
