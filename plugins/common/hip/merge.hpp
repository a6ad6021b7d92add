// The merge kernel: partials of one token and head become its results, in their order. A workgroup
// is one wave; a lane has eight columns.
#pragma once

#include "common/hip/ranges.hpp"

namespace dsakit::hip {

DSAKIT_DEVICE void merge_partials(const MergeArguments& arguments) {
  const Problem& problem = arguments.call.problem;
  const auto heads = static_cast<std::uint32_t>(problem.heads);
  const std::uint32_t token = workgroup_id() / heads;
  const int head = static_cast<int>(workgroup_id() % heads);
  const Plan& plan = arguments.plan;
  const Partials& partials = arguments.partials;
  const bool even = plan.cut == Cut::even;
  const Ranges ranges(plan,
                      even ? even_length(plan, problem.tokens) : partials.lines[problem.tokens]);
  const std::int32_t line =
      even ? even_line(plan, static_cast<std::int32_t>(token)) : partials.lines[token];
  const std::int32_t first = ranges.of(line);
  const std::int32_t last = ranges.of(line + blocks_of(key_list(arguments.call, token).count) - 1);
  if (first == last) return;
  const auto row_of = [&](std::int32_t range) {
    return std::int64_t{range * kRangeSlots + (range == first ? 1 : 0)} * problem.heads + head;
  };
  Summary summary;
  float top = -kInfinity;
  for (std::int32_t range = first; range <= last; ++range) {
    const float lse = partials.lse[row_of(range)];
    const float largest = partials.largest[row_of(range)];
    summary.seen |= lse != -kInfinity;  // NaN is a key's doing, too
    top = lse > top ? lse : top;
    summary.largest = largest > summary.largest ? largest : summary.largest;
  }
  if (top == -kInfinity) top = 0.0F;
  float total = 0.0F;
  f32x4 sums[2] = {};
  for (std::int32_t range = first; range <= last; ++range) {
    const std::int64_t row = row_of(range);
    const float weight = exp2_of(partials.lse[row] - top);
    const float* const out = partials.out + row * kLatent + thread_id() * 8;
    total += weight;
    if (weight == 0.0F) continue;  // a part without keys has written no outputs
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
