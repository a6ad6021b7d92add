// L4, conventions: LSE, maximum, sinks, scales of the softmax, dtypes.
#include <cstring>
#include <limits>

#include "sdk/conformance/check.hpp"

namespace dsakit::conformance {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

void lse(Trial& trial) {
  if (!trial.ready()) return;
  for (const char* base : {"natural", "log2"})
    trial.each_phase([&](Description& d) {
      d.lse_base = base;
      d.lse = true;
    });
}

void max_logits(Trial& trial) {
  if (!trial.ready()) return;
  if (!trial.row().accepts_feature("max_logits"))
    return trial.skip("the row does not accept feature max_logits");
  trial.each_phase([](Description& d) { d.max_logits = true; });
}

void sinks(Trial& trial, const char* included) {
  if (!trial.ready()) return;
  if (!trial.row().accepts_feature("attn_sink"))
    return trial.skip("the row does not accept feature attn_sink");
  for (const char* base : {"natural", "log2", "none"})
    for (const float value : {0.0F, kInf, -kInf, 80.0F, -80.0F})
      trial.each_phase([&](Description& d) {
        d.lse_base = base;
        d.lse = d.lse_base != "none";
        d.lse_sink = included;
        d.sink = true;
        d.sink_value = value;
      });
}

void sink(Trial& trial) {
  sinks(trial, "excluded");
}
void sink_in_lse(Trial& trial) {
  sinks(trial, "included");
}

void sm_scale(Trial& trial) {
  if (!trial.ready()) return;
  for (const float scale : {0.5F, 1.0F, 1e-6F})
    trial.each_phase([&](Description& d) { d.sm_scale = scale; });
  // A scale that means nothing to a kernel may be refused, but not computed wrongly.
  for (const float scale : {0.0F, -0.25F}) {
    Description d = trial.row().base(trial.row().phases().front());
    Problem problem(d);
    problem.args.sm_scale = scale;
    const Outcome outcome = run_once(trial.subject(), problem);
    trial.count();
    if (outcome.ok())
      trial.compare(problem);
    else
      trial.expect(outcome.refused() && problem.outputs_untouched(),
                   "sm_scale <= 0: " + describe(outcome));
  }
}

void dtypes(Trial& trial) {
  if (!trial.ready()) return;
  for (const char* q : {"bf16", "fp16", "fp32"})
    for (const char* out : {"bf16", "fp16", "fp32"})
      trial.each_phase([&](Description& d) {
        d.q_dtype = q;
        d.out_dtype = out;
      });
}

// Asking for less does not change the rest.
void outputs(Trial& trial) {
  if (!trial.ready()) return;
  for (const std::string& phase : trial.phases()) {
    Description d = trial.row().base(phase);
    d.lse = d.lse_base != "none";
    d.max_logits = trial.row().accepts_feature("max_logits");
    if (!trial.row().accepts(d)) d.max_logits = false;
    Problem all(d);
    Problem only_out(d);
    only_out.args.lse = only_out.args.max_logits = nullptr;
    if (!trial.run(all) || !trial.run(only_out)) return;
    trial.expect(all.out.memory == only_out.out.memory,
                 describe(d) + ": out differs when lse and max_logits are not asked for");
  }
  trial.each_phase([](Description& d) {
    d.lse_base = "none";
    d.lse = false;
  });
}

constexpr Check kConventionChecks[] = {{"numerics.lse", 4, Scope::row, lse},
                                       {"numerics.max_logits", 4, Scope::row, max_logits},
                                       {"numerics.sink", 4, Scope::row, sink},
                                       {"numerics.sink_in_lse", 4, Scope::row, sink_in_lse},
                                       {"numerics.sm_scale", 4, Scope::row, sm_scale},
                                       {"numerics.dtypes", 4, Scope::row, dtypes},
                                       {"numerics.outputs", 4, Scope::row, outputs}};

}  // namespace

std::span<const Check> convention_checks() {
  return kConventionChecks;
}

}  // namespace dsakit::conformance
