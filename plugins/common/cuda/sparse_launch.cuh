// Host side that sparse attention kernels share: plans, partials in the workspace, the merge
// launch.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>

#include "common/cuda/sparse_merge.cuh"

namespace dsakit::sparse {

inline int ceil_div(int64_t a, int64_t b) {
  return static_cast<int>((a + b - 1) / b);
}

template <int kSplit, int kAhead>
inline cudaError_t start_merge(const KernelArgs& args, cudaStream_t stream) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  const int cut = std::min(args.problem.tokens, args.plan.groups - 1);
  config.gridDim =
      dim3(static_cast<unsigned>(ceil_div(args.problem.heads * 2 * kSplit, kMergeWarps)),
           static_cast<unsigned>(std::max(cut, 1)));
  config.blockDim = dim3(kMergeWarps * 32);
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, merge_kernel<kSplit, kAhead>, args);
}

inline cudaError_t start_merge(const KernelArgs& args, cudaStream_t stream) {
  // No token has more partials than the ranges that its blocks can meet.
  const int most = ceil_div(args.plan.blocks, args.plan.share) + 1;
  if (most <= 6) return start_merge<1, 4>(args, stream);
  if (most <= 20) return start_merge<1, 16>(args, stream);
  return start_merge<2, 16>(args, stream);
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

inline void set_partials(KernelArgs& args, void* workspace) {
  const size_t slots = static_cast<size_t>(args.plan.groups) * kPartialSlots;
  const size_t rows = slots * 64 * static_cast<size_t>(args.plan.head_tiles);
  args.partial = static_cast<__half*>(workspace);
  args.partial_lse = reinterpret_cast<float*>(args.partial + rows * kLatent);
  args.partial_max = args.partial_lse + rows;
  args.partial_scale = args.partial_max + rows;
}

// What both kernels of a call get.
inline KernelArgs make_args(const Problem& problem, const Plan& plan, void* workspace) {
  KernelArgs args;
  args.problem = problem;
  args.plan = plan;
  args.out_aligned = aligned(problem);
  args.page_size = divisor(problem.tensors.page_size);
  args.blocks = divisor(static_cast<uint32_t>(plan.blocks));
  args.tokens_inner = divisor(static_cast<uint32_t>(problem.tensors.tokens_inner));
  set_partials(args, workspace);
  return args;
}

// The plan for `tokens` tokens on `max_ctas` CTAs that run at once; merge_blocks is the cost of a
// cut token in blocks.
inline Plan plan_ranges(int tokens, int heads, int topk, int max_ctas, int merge_blocks) {
  Plan plan;
  plan.head_tiles = heads > 64 ? 2 : 1;
  plan.blocks = std::max(1, ceil_div(topk, kBlock));
  const int64_t line = int64_t{tokens} * plan.blocks;
  const int groups = std::clamp(max_ctas / plan.head_tiles, 1, kMaxGroups);
  const int whole = ceil_div(tokens, groups) * plan.blocks;
  const int cut = ceil_div(line, groups);
  if (tokens == 0 || whole <= cut + merge_blocks) {
    plan.groups = std::min(tokens, groups);
    plan.grain = plan.blocks;
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

// Device memory of the partials of any plan for up to `max_ctas`.
inline size_t partial_bytes(int heads, int max_ctas) {
  const int tiles = heads > 64 ? 2 : 1;
  const int groups = std::clamp(max_ctas / tiles, 1, kMaxGroups);
  return static_cast<size_t>(groups) * kPartialSlots * static_cast<size_t>(tiles) * 64 *
         (kLatent * sizeof(__half) + 4 * sizeof(float));
}

}  // namespace dsakit::sparse
