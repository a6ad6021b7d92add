// L3: the manifest tells the truth. What a row accepts works; one step outside is refused by create
// with a code, unless another row serves it.
#include <algorithm>

#include <fmt/format.h>

#include "dsakit/kv_layout.hpp"
#include "sdk/conformance/check.hpp"

namespace dsakit::conformance {
namespace {

std::string describe_step(const Step& step) {
  return fmt::format("{} = {}", step.dim, value_text(step.value));
}

// Larger corners are created and asked for their workspace, but not run.
bool small(const Description& d) {
  return d.heads * d.topk * d.batch <= 1 << 17 && d.page_size <= 4096;
}

void check_corner(Trial& trial, Description d, const std::string& what) {
  if (!trial.row().accepts(d)) return;
  d.pages = (2 * d.topk + d.page_size - 1) / d.page_size + 1;
  // A feature alone changes nothing in the call; those with arguments are exercised by L4.
  d.max_logits = false;
  const bool runs = small(d);
  if (!runs) d.batch = 1;
  const OwnedConfig owned(d);
  if (!runs) {
    const Instance instance(trial.subject(), owned.config);
    dsakit_workspace answer{};
    const Outcome outcome =
        instance.created().ok() ? instance.workspace(1, answer) : instance.created();
    trial.expect(outcome.ok(),
                 fmt::format("{} is accepted by the manifest, but: {}", what, describe(outcome)));
    return;
  }
  Problem problem(d);
  const Outcome outcome = run_once(trial.subject(), problem);
  trial.expect(outcome.ok(),
               fmt::format("{} is accepted by the manifest, but: {}", what, describe(outcome)));
}

void accepts(Trial& trial) {
  if (!trial.ready()) return;
  for (const std::string& phase : trial.row().phases())
    check_corner(trial, trial.row().base(phase), "phase = " + phase);
  for (const Step& step : trial.row().corners()) {
    Description d = trial.row().base(trial.row().phases().front());
    if (!trial.row().apply(step, d)) continue;
    if (d.ragged && step.dim == "index_mode") d.distinct = true;
    if (step.dim == "features" &&
        std::ranges::find(d.features, "second_cache") != d.features.end()) {
      d.topk2 = d.topk;
      d.pages2 = d.pages;
      d.page_size2 = d.page_size;
    }
    check_corner(trial, d, describe_step(step));
  }
}

void refuse(Trial& trial, const Description& d, const std::string& what) {
  if (trial.row().served(d)) return;
  const OwnedConfig owned(d);
  const Instance instance(trial.subject(), owned.config);
  trial.expect(instance.created().refused(),
               fmt::format("no row of the manifest serves {}, but create answers {}", what,
                           describe(instance.created())));
}

void refuses(Trial& trial) {
  if (!trial.ready()) return;
  const Description base = trial.row().base(trial.row().phases().front());
  for (const Step& step : trial.row().outside()) {
    Description d = base;
    if (trial.row().apply(step, d)) refuse(trial, d, describe_step(step));
  }
  for (const char* phase : {"prefill", "decode", "mtp"}) {
    Description d = base;
    d.phase = phase;
    refuse(trial, d, fmt::format("phase = {}", phase));
  }
  // Every layout of the table in place of the row's own.
  for (const KvLayout& layout : kKvLayouts) {
    Description d = base;
    d.layout = layout.name;
    refuse(trial, d, fmt::format("kv_layout = {} with d_qk = {}", layout.name, d.d_qk));
  }
  Description d = base;
  d.dims.emplace_back("conformance.unknown", "1");
  const OwnedConfig owned(d);
  const Instance instance(trial.subject(), owned.config);
  trial.expect(instance.created().refused(), "create takes a dimension that it cannot know");
}

constexpr Check kTruthChecks[] = {{"truth.accepts", 3, Scope::row, accepts},
                                  {"truth.refuses", 3, Scope::row, refuses}};

}  // namespace

std::span<const Check> truth_checks() {
  return kTruthChecks;
}

}  // namespace dsakit::conformance
