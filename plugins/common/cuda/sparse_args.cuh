// What attention kernels get of a call, made on the host. Any architecture.
#pragma once

#include <algorithm>

#include "common/cuda/sparse_work.cuh"

namespace dsakit::sparse {

inline int ceil_div(int64_t a, int64_t b) {
  return static_cast<int>((a + b - 1) / b);
}

inline bool aligned(const Problem& problem) {
  const Tensors& t = problem.tensors;
  const auto bits = reinterpret_cast<uintptr_t>(t.out) | static_cast<uintptr_t>(t.out_head) |
                    static_cast<uintptr_t>(t.out_token.outer) |
                    static_cast<uintptr_t>(t.out_token.inner);
  return bits % 16 == 0;
}

inline Divisor divisor(uint32_t by) {
  if (by == 1) return {uint64_t{1} << 32, 0};
  uint32_t bits = 0;
  while ((uint64_t{1} << bits) < by) ++bits;
  return {((uint64_t{1} << (31 + bits)) + by - 1) / by, bits - 1};
}

// All but the partials.
inline KernelArgs make_call(const Problem& problem, const Plan& plan) {
  KernelArgs args;
  args.problem = problem;
  args.plan = plan;
  args.out_aligned = aligned(problem);
  args.page_size = divisor(problem.tensors.page_size);
  args.blocks = divisor(static_cast<uint32_t>(plan.blocks));
  args.tokens_inner = divisor(static_cast<uint32_t>(problem.tensors.tokens_inner));
  return args;
}

// The plan for `tokens` tokens of `blocks` blocks each, on `groups` ranges at most, where a cut
// token costs as much as merge_blocks blocks.
inline Plan plan_line(int tokens, int blocks, int head_tiles, int groups, int merge_blocks) {
  Plan plan;
  plan.head_tiles = head_tiles;
  plan.blocks = blocks;
  plan.most = groups;
  const int64_t line = int64_t{tokens} * blocks;
  const int whole = ceil_div(tokens, groups) * blocks, cut = ceil_div(line, groups);
  if (tokens == 0 || whole <= cut + merge_blocks) {
    plan.groups = std::min(tokens, groups);
    plan.grain = blocks;
  } else {
    plan.groups = ceil_div(line, cut);
    plan.merge = plan.groups > 1;
  }
  const int grains = static_cast<int>(line / plan.grain);
  if (grains > 0) {
    plan.share = grains / plan.groups;
    plan.longer = grains % plan.groups;
  }
  return plan;
}

}  // namespace dsakit::sparse
