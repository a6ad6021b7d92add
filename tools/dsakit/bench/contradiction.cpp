#include "bench/contradiction.hpp"

#include <algorithm>
#include <array>
#include <sstream>

#include <fmt/format.h>

#include "bench/baseline.hpp"
#include "solver/request.hpp"

namespace dsakit::cli {
namespace {

std::optional<Diagnostic> wrong_phases(const Options& options) {
  if (options.mtp) return bench_refusal("--mtp", "a bench takes `--phases mtp`");
  if (!options.phases) return std::nullopt;
  const std::string typed = "--phases " + *options.phases;
  std::istringstream list(*options.phases);
  for (std::string name; std::getline(list, name, ',');)
    if (!parse_phase(name)) return bench_refusal(typed, fmt::format("`{}` is not a phase", name));
  return std::nullopt;
}

std::optional<Diagnostic> two_choices(const Options& options) {
  if (options.targets.empty()) return std::nullopt;
  if (std::ranges::find(options.targets, "") != options.targets.end())
    return bench_refusal("backend \"\"", "a backend has a name");
  const std::array choices{std::pair{"--prefill-backend", &options.prefill},
                           std::pair{"--decode-backend", &options.decode},
                           std::pair{"--mtp-backend", &options.mtp_backend}};
  for (const auto& [option, value] : choices)
    if (value->has_value())
      return bench_refusal(fmt::format("{} {}", option, **value),
                           fmt::format("`{}` is to be timed", options.targets.front()));
  return std::nullopt;
}

// What the shapes themselves say.
std::optional<Diagnostic> set_sizes(const Options& options) {
  for (const std::string& each : options.set)
    for (const std::string name : {"heads", "topk"})
      if (each.starts_with(name + "="))
        return bench_refusal("--set " + each, fmt::format("a bench takes --{}", name));
  return std::nullopt;
}

// What every suite says itself.
std::optional<Diagnostic> changed_suite(const Options& options) {
  const BenchOptions& bench = options.bench;
  const std::array changes{std::pair{"--s-q", bench.s_q != 1},
                           std::pair{"--own-pools", bench.own_pools},
                           std::pair{"--random-length", bench.random_length},
                           std::pair{"--padded", bench.padded},
                           std::pair{"--overlap", bench.overlap > 0},
                           std::pair{"--invalid", bench.invalid > 0},
                           std::pair{"--phases", options.phases.has_value()},
                           std::pair{"--page-size", options.page_size.has_value()}};
  for (const auto& [option, typed] : changes)
    if (typed)
      return bench_refusal(option, fmt::format("the shapes of suite `{}` say that themselves",
                                               bench.suites.front()));
  return std::nullopt;
}

// What this suite cannot take: rows of a baseline are what they are, other suites begin with one.
std::optional<Diagnostic> unfit_for(const std::string& suite, const Options& options) {
  const BenchOptions& bench = options.bench;
  if (const BaselineKind* kind = find_kind(suite)) {
    const std::string dtype = options.kv_dtype.value_or("auto");
    if (dtype != "auto" && dtype != kind->kv_dtype)
      return bench_refusal("--kv-cache-dtype " + dtype,
                           fmt::format("suite `{}` is of {}", suite, kind->kv_dtype));
    return std::nullopt;
  }
  if (suite != kRulesSuite && suite != kSweepSuite) return std::nullopt;
  const std::array lists{std::pair{"--heads", &bench.heads}, std::pair{"--topk", &bench.topk},
                         std::pair{"--tokens", &bench.tokens}};
  for (const auto& [option, list] : lists)
    if (list->size() > 1)
      return bench_refusal(option, fmt::format("suite `{}` takes one value of it", suite));
  return std::nullopt;
}

}  // namespace

Diagnostic bench_refusal(const std::string& option, std::string reason) {
  return Diagnostic(Code::E0407).with("reason", std::move(reason)).from({option, "command line"});
}

std::optional<Diagnostic> bench_contradiction(const Options& options) {
  if (auto why = wrong_phases(options)) return why;
  if (auto why = two_choices(options)) return why;
  if (auto why = set_sizes(options)) return why;
  const auto& suites = options.bench.suites;
  if (suites.empty()) return std::nullopt;
  if (auto why = changed_suite(options)) return why;
  for (const std::string& suite : suites)
    if (auto why = unfit_for(suite, options)) return why;
  if (options.bench.pool &&
      std::ranges::all_of(suites, [](const auto& each) { return find_kind(each) != nullptr; }))
    return bench_refusal(fmt::format("--pool {}", *options.bench.pool),
                         fmt::format("the rows of suite `{}` have theirs", suites.front()));
  return std::nullopt;
}

}  // namespace dsakit::cli
