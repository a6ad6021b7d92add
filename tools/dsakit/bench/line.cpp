#include "bench/line.hpp"

#include "bench/statistics.hpp"

namespace dsakit::cli {

Bound bound_of(const BenchLine& line, const BenchReport& report) {
  const auto either = [&](auto of) {
    const double here = of(report.session.ceilings);
    return here > 0 || report.baseline == nullptr ? here : of(report.baseline->ceilings);
  };
  const double memory =
      either([&](const Ceilings& ceilings) { return ceilings.gather_of(line.key.bytes); });
  const double arithmetic = either([](const Ceilings& ceilings) { return ceilings.gemm_tflops; });
  if (memory <= 0 || arithmetic <= 0) return {};
  return bound_of(line.work, memory, arithmetic);
}

RuleResult rule_of(const BenchLine& line, const std::vector<BenchLine>& all) {
  const BenchShape& shape = line.shape;
  if (shape.beside.empty() || !line.on_gpu()) return {};
  const auto beside = std::ranges::find_if(all, [&](const BenchLine& other) {
    return other.on_gpu() && other.shape.suite == shape.suite &&
           other.shape.backend == shape.backend && other.shape.label == shape.beside;
  });
  if (beside == all.end()) return {};
  const auto a_key = [](const BenchLine& of) {
    return quantile(of.clean, 0.5) / static_cast<double>(of.shape.topk);
  };
  return {a_key(line) / a_key(*beside), shape.at_most};
}

}  // namespace dsakit::cli
