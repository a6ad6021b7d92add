// How long one question takes over 64 backends × 8 rows. evaluate is the pass over all rows, with
// every reason kept; resolve adds the sessions and their order; a rejection adds the reasons in
// words and the search for suggestions, which evaluates once for each change that it tries.
#include <benchmark/benchmark.h>

#include "manifest/schema.hpp"
#include "solver/solver.hpp"
#include "typical.hpp"

namespace dsakit::bench {
namespace {

std::vector<SolverInput> typical_inputs() {
  std::vector<SolverInput> inputs;
  for (int number = 0; number < kBackends; ++number) {
    const std::string file = "typical/" + std::to_string(number);
    auto parsed = parse_manifest(typical_manifest(number), file);
    inputs.push_back({std::make_shared<Manifest>(std::move(parsed.value().manifest)), file});
  }
  return inputs;
}

const Solver& typical_solver() {
  static const Solver solver = Solver::compile(typical_inputs(), "typical");
  return solver;
}

Request request_on(std::string_view device) {
  return parse_request(typical_request(device), typical_solver().dimensions(), "typical").value();
}

void evaluate(benchmark::State& state) {
  const Request request = request_on("sm_90");
  int accepting = 0;
  for (auto _ : state)
    benchmark::DoNotOptimize(accepting = typical_solver().count_accepting_rows(request));
  state.counters["accepting_rows"] = accepting;
}
BENCHMARK(evaluate)->Unit(benchmark::kMicrosecond);

void resolve_accepted(benchmark::State& state) {
  const Request request = request_on("sm_90");
  Answer answer;
  for (auto _ : state) benchmark::DoNotOptimize(answer = typical_solver().resolve(request));
  if (!answer.ok()) state.SkipWithError("expected an accepted request");
}
BENCHMARK(resolve_accepted)->Unit(benchmark::kMicrosecond);

void resolve_rejected(benchmark::State& state) {
  Request request = request_on("sm_90");
  request.values["index_kpool"] = std::int32_t{4};
  Answer answer;
  for (auto _ : state) benchmark::DoNotOptimize(answer = typical_solver().resolve(request));
  if (answer.verdict != Answer::Verdict::rejected)
    state.SkipWithError("expected a rejected request");
}
BENCHMARK(resolve_rejected)->Unit(benchmark::kMillisecond);

void explain(benchmark::State& state) {
  const Request request = request_on("sm_90");
  for (auto _ : state) benchmark::DoNotOptimize(typical_solver().explain(request));
}
BENCHMARK(explain)->Unit(benchmark::kMillisecond);

void compile(benchmark::State& state) {
  const auto inputs = typical_inputs();
  for (auto _ : state) benchmark::DoNotOptimize(Solver::compile(inputs, "typical"));
}
BENCHMARK(compile)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace dsakit::bench
