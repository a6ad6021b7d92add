// The merge kernel: partials of one token and head become its results, in the order of the splits.
// A workgroup is one wave; a lane has eight columns.
#pragma once

#include "common/hip/results.hpp"

namespace dsakit::hip {

DSAKIT_DEVICE void merge_partials(const MergeArguments& arguments) {
  const Problem& problem = arguments.call.problem;
  const auto heads = static_cast<std::uint32_t>(problem.heads);
  const std::uint32_t token = workgroup_id() / heads;
  const int head = static_cast<int>(workgroup_id() % heads);
  const auto row_of = [&](int split) {
    return (std::int64_t{token} * arguments.plan.splits + split) * problem.heads + head;
  };
  Summary summary;
  float top = -kInfinity;
  for (int split = 0; split < arguments.plan.splits; ++split) {
    const float lse = arguments.partial_lse[row_of(split)];
    const float largest = arguments.partial_max[row_of(split)];
    summary.seen |= lse != -kInfinity;  // NaN is a key's doing, too
    top = lse > top ? lse : top;
    summary.largest = largest > summary.largest ? largest : summary.largest;
  }
  if (top == -kInfinity) top = 0.0F;
  float total = 0.0F;
  f32x4 sums[2] = {};
  for (int split = 0; split < arguments.plan.splits; ++split) {
    const std::int64_t row = row_of(split);
    const float weight = exp2_of(arguments.partial_lse[row] - top);
    const float* const out = arguments.partial_out + row * kLatent + thread_id() * 8;
    total += weight;
    if (weight == 0.0F) continue;  // a split without keys has written no outputs
    for (int i = 0; i < 8; ++i) sums[i / 4][i % 4] += weight * out[i];
  }
  summary.lse = top + log2_of(total);
  const float sink = sink_of(problem.tensors, head);
  const float factor = summary.seen ? sink_factor(summary.lse, sink) / total : 0.0F;
  for (int i = 0; i < 2; ++i) {
    const f32x4 value = summary.seen ? sums[i] * factor : f32x4{};
    write_out(problem, token, head, thread_id() * 8 + i * 4, value);
  }
  if (thread_id() == 0) write_summary(problem, token, head, summary, sink);
}

}  // namespace dsakit::hip
