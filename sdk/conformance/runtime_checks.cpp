// L5: how run behaves as a function: repeatable, without allocation, from several threads, inside
// its workspace. What only a GPU has is in device_checks.cpp.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <thread>

#include <fmt/format.h>

#include "sdk/conformance/allocations.hpp"
#include "sdk/conformance/check.hpp"

namespace dsakit::conformance {
namespace {

// Lists of different lengths with gaps, so that work is uneven.
Description uneven(const RowSpace& row) {
  Description d = row.base(row.phases().front());
  Description with = d;
  with.batch = 6;
  with.lengths = true;
  with.odd_strides = with.unselected_nan = true;
  with.lse = with.lse_base != "none";
  return row.accepts(with) ? with : d;
}

void repeatable(Trial& trial) {
  if (!trial.ready()) return;
  Problem problem(uneven(trial.row()));
  const Instance instance(trial.subject(), problem.config);
  if (!trial.expect(instance.created().ok(), "create: " + describe(instance.created()))) return;
  if (!instance.prepare_workspace(problem).ok()) return trial.fail("workspace fails");
  std::vector<std::byte> first;
  for (int repeat = 0; repeat < (trial.full() ? 20 : 3); ++repeat) {
    problem.spoil_outputs();
    const Outcome outcome = instance.run(problem);
    if (!trial.expect(outcome.ok(), describe(outcome))) return;
    if (repeat == 0) first = problem.output_bytes();
    trial.expect(problem.output_bytes() == first,
                 fmt::format("run {} gives other bits", repeat + 1));
  }
}

// Feature deterministic: a token's bits depend on its own inputs alone.
void batch_invariant(Trial& trial) {
  if (!trial.ready()) return;
  if (!trial.row().accepts_feature("deterministic"))
    return trial.skip("the row does not accept feature deterministic");
  Description d = trial.row().base(trial.row().phases().front());
  if (d.ragged) return trial.skip("the row takes ragged lists only");
  d.features.emplace_back("deterministic");
  d.batch = trial.full() ? 256 : 9;
  d.distinct = false;
  const std::vector<std::int64_t> widths = trial.row().accepted("topk", {1200});
  if (!widths.empty()) d.topk = widths.front();
  Problem whole(d);
  if (!trial.run(whole)) return;
  const std::int64_t out_row = d.heads * whole.config.d_v * whole.out.view.dtype.bits / 8;
  for (const std::int64_t batch : {1, 7}) {
    Description part = d;
    part.batch = batch;
    Problem some(part);
    // The same pool and the last tokens of the whole.
    const std::int64_t first = d.batch - batch;
    some.pool[0].memory = whole.pool[0].memory;
    some.pool[0].view.data = some.pool[0].memory.data();
    const std::int64_t q_row = d.heads * whole.config.d_qk;
    std::memcpy(some.q.at(0), whole.q.at(first * q_row),
                static_cast<std::size_t>(batch * q_row * whole.q.view.dtype.bits / 8));
    for (std::int64_t token = 0; token < batch; ++token)
      for (std::int64_t j = 0; j < d.topk; ++j)
        some.set_index(0, token, j, whole.index(0, first + token, j));
    if (!trial.run(some)) return;
    const std::int64_t skipped = first * d.heads * whole.config.d_v;
    trial.expect(std::memcmp(some.out.at(0), whole.out.at(skipped),
                             static_cast<std::size_t>(batch * out_row)) == 0,
                 fmt::format("{} of {} tokens give other bits alone", batch, d.batch));
  }
}

void workspace(Trial& trial) {
  if (!trial.ready()) return;
  Description d = trial.row().base(trial.row().phases().front());
  d.batch = 40;
  Problem problem(d);
  const Instance instance(trial.subject(), problem.config);
  if (!trial.expect(instance.created().ok(), "create: " + describe(instance.created()))) return;
  std::uint64_t last = 0;
  for (std::int64_t tokens = 0; tokens <= 40; ++tokens) {
    dsakit_workspace answer{};
    const Outcome outcome = instance.workspace(tokens, answer);
    if (!trial.expect(outcome.ok(), fmt::format("{} tokens: {}", tokens, describe(outcome))))
      return;
    trial.expect(answer.bytes >= last, fmt::format("{} tokens need {} bytes, fewer than {} tokens",
                                                   tokens, answer.bytes, tokens - 1));
    last = answer.bytes;
  }
  d.batch = 8;
  trial.exact(d);  // with the canary behind exactly that much
}

void no_allocation(Trial& trial) {
  if (!trial.ready()) return;
  if (!can_count_allocations()) return trial.skip("this build cannot stand in front of malloc");
  for (const std::int64_t batch : {1, 6}) {
    Description d = uneven(trial.row());
    d.batch = batch;
    Problem problem(d);
    const Instance instance(trial.subject(), problem.config);
    if (!trial.expect(instance.created().ok(), "create: " + describe(instance.created()))) return;
    if (!instance.prepare_workspace(problem).ok()) return trial.fail("workspace fails");
    // A driver may allocate in the first launches; a plugin that allocates does so every time.
    const bool gpu = trial.gpu() != nullptr;
    std::int64_t judged = gpu ? std::numeric_limits<std::int64_t>::max() : 0;
    for (int repeat = 0; repeat < (gpu ? 6 : 2); ++repeat) {
      std::int64_t count = 0;
      const Outcome outcome =
          instance.stage(problem, Instance::Fetch::outputs, {}, [&](Staged& staged) {
            const dsakit_run_args& args = staged.args();
            Outcome answer;
            start_counting_allocations();
            answer.rc = trial.subject().table->run(instance.get(), &args, nullptr);
            count = stop_counting_allocations();
            return answer;
          });
      if (!trial.expect(outcome.ok(), describe(outcome))) return;
      judged = gpu ? std::min(judged, count) : std::max(judged, count);
    }
    trial.expect(judged == 0, fmt::format("run allocates {} times for {} tokens", judged, batch));
  }
}

void threads(Trial& trial) {
  if (!trial.ready()) return;
  const Description d = uneven(trial.row());
  Problem expected(d);
  if (!trial.run(expected)) return;
  const std::vector<std::byte> bits = expected.output_bytes();
  std::atomic<int> wrong{0};
  std::vector<std::thread> workers;
  for (int i = 0; i < 8; ++i)
    workers.emplace_back([&] {
      for (int repeat = 0; repeat < (trial.full() ? 10 : 2); ++repeat) {
        Problem mine(d);
        if (!run_once(trial.subject(), mine).ok() || mine.output_bytes() != bits) ++wrong;
      }
    });
  for (std::thread& worker : workers) worker.join();
  trial.expect(wrong == 0, fmt::format("{} runs from eight threads differ or fail", wrong.load()));
}

// Inputs are borrowed: not a byte of them changes.
void inputs_untouched(Trial& trial) {
  if (!trial.ready()) return;
  Problem problem(uneven(trial.row()));
  const auto inputs = [&] {
    std::vector<std::byte> all;
    for (const HostTensor* tensor :
         {&problem.q, &problem.pool[0], &problem.indices[0], &problem.length[0], &problem.scale[0]})
      all.insert(all.end(), tensor->memory.begin(), tensor->memory.end());
    return all;
  };
  const std::vector<std::byte> before = inputs();
  const Instance instance(trial.subject(), problem.config);
  if (!trial.expect(instance.created().ok(), "create: " + describe(instance.created()))) return;
  if (!instance.prepare_workspace(problem).ok()) return trial.fail("workspace fails");
  const Outcome outcome = instance.run(problem, Instance::Fetch::all);
  if (trial.expect(outcome.ok(), describe(outcome)))
    trial.expect(inputs() == before, "run changed its inputs");
}

constexpr Check kRuntimeChecks[] = {{"runtime.repeatable", 5, Scope::row, repeatable},
                                    {"runtime.batch_invariant", 5, Scope::row, batch_invariant},
                                    {"runtime.workspace", 5, Scope::row, workspace},
                                    {"runtime.inputs_untouched", 5, Scope::row, inputs_untouched},
                                    {"runtime.no_allocation", 5, Scope::row, no_allocation},
                                    {"runtime.threads", 5, Scope::row, threads}};

}  // namespace

std::span<const Check> runtime_checks() {
  return kRuntimeChecks;
}

}  // namespace dsakit::conformance
