#include <algorithm>

#include <fmt/format.h>

#include "sdk/conformance/check.hpp"
#include "sdk/conformance/compare.hpp"
#include "sdk/conformance/reference.hpp"

namespace dsakit::conformance {

std::string_view result_name(Result result) {
  switch (result) {
    case Result::pass:
      return "pass";
    case Result::fail:
      return "fail";
    case Result::skip:
      return "skip";
    case Result::broken:
      return "broken";
  }
  return "";
}

std::vector<Check> all_checks() {
  std::vector<Check> all;
  for (const auto part : {static_checks(), negotiation_checks(), negative_checks(), truth_checks(),
                          value_checks(), convention_checks(), list_checks(), shape_checks(),
                          stored_key_checks(), runtime_checks(), device_checks()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

void Trial::fail(const std::string& reason) {
  if (result_ == Result::fail) return;
  result_ = Result::fail;
  reason_ = reason;
}

void Trial::skip(const std::string& reason) {
  if (result_ != Result::pass) return;
  result_ = Result::skip;
  reason_ = reason;
}

void Trial::broken(const std::string& reason) {
  if (failed()) return;
  result_ = Result::broken;
  reason_ = reason;
}

bool Trial::expect(bool condition, const std::string& reason) {
  ++cases_;
  if (!condition) fail(reason);
  return condition;
}

std::vector<std::string> Trial::phases() const {
  std::vector<std::string> phases = row().phases();
  if (!full() && phases.size() > 1) phases.resize(1);
  return phases;
}

bool Trial::ready() {
  if (row().phases().empty()) {
    skip("the kit can form no call that the row serves");
  } else if (!subject().place.missing.empty()) {
    lacks_device_ = true;
    skip(subject().place.missing);
  } else if (!reference_knows(row().layout().c_str())) {
    skip(fmt::format("the kit does not know the bytes of kv_layout `{}`", row().layout()));
  }
  return result_ == Result::pass;
}

bool Trial::run(Problem& problem) {
  ++cases_;
  const std::string what = describe(problem.description());
  const Outcome outcome = run_once(subject(), problem);
  if (!outcome.ok())
    fail(fmt::format("{}: run answers {}", what, describe(outcome)));
  else if (!problem.canary_alive())
    fail(fmt::format("{}: run wrote behind its workspace", what));
  else if (!problem.gaps_untouched())
    fail(fmt::format("{}: run wrote outside its outputs", what));
  return !failed();
}

Expected Trial::truth(Problem& problem) const {
  if (full() && subject().place.reference) {
    Staged staged(*gpu(), problem);
    if (staged.upload())
      if (auto expected = subject().place.reference->attention(problem.config, staged.args()))
        return std::move(*expected);
  }
  return reference_attention(problem.config, problem.args, 0, problem.tokens());
}

void Trial::compare(Problem& problem) {
  const Description& d = problem.description();
  const bool fp8 = d.compute == "fp8";
  const Expected expected = truth(problem);
  const auto judge = [&](const char* what, const Comparison& found, const Tolerance& tolerance) {
    if (!found.pass(tolerance)) fail(fmt::format("{}: {}: {}", describe(d), what, describe(found)));
  };
  const Tolerance out = fp8 ? kFp8Out : exact_out(static_cast<double>(d.kv_amplitude));
  const Comparison found = compare_out(expected, problem.out.view, out);
  worst_out_.add(found);
  judge("out", found, out);
  if (problem.args.lse != nullptr) {
    const Tolerance& lse = fp8 ? kFp8Lse : kExactLse;
    const Comparison found_lse = compare_lse(expected, problem.lse.view, lse);
    worst_lse_.add(found_lse);
    judge("lse", found_lse, lse);
  }
  if (problem.args.max_logits != nullptr) {
    const Tolerance& max = fp8 ? kFp8Lse : kExactMax;
    judge("max_logits", compare_max(expected, problem.max_logits.view, max), max);
  }
}

bool Trial::exact(const Description& description, const Change& change) {
  if (failed() || result_ == Result::skip) return false;
  if (!row().accepts(description)) return false;
  Problem problem(description);
  if (change) change(problem);
  if (run(problem)) compare(problem);
  return true;
}

void Trial::each_phase(const std::function<void(Description&)>& edit, const Change& change) {
  for (const std::string& phase : phases()) {
    Description d = row().base(phase);
    edit(d);
    exact(d, change);
  }
}

void Trial::make_small(Description& d) const {
  if (full()) return;
  const std::vector<std::int64_t> few = row().accepted("heads", {4, 8});
  if (!few.empty() && d.heads > few.front()) d.heads = few.front();
}

void Trial::finish() {
  if (cases_ == 0 && result_ == Result::pass) skip("the row accepts none of its cases");
}

}  // namespace dsakit::conformance
