#include "run/check.hpp"

#include <algorithm>
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

}  // namespace

void Checked::add(const Checked& other) {
  cli::add(out, other.out);
  cli::add(lse, other.lse);
  rows += other.rows;
  pass = pass && other.pass;
}

Checked check_rows(const dsakit_config& config, const dsakit_run_args& args, std::int64_t tokens,
                   int threads, Progress& progress) {
  const conformance::Tolerance& tolerance = conformance::kExactOut;
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
