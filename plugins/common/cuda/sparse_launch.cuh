// Host side that sparse attention kernels share: plans, partials in the workspace, the merge
// launch.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>

#include "common/cuda/sparse_args.cuh"
#include "common/cuda/sparse_merge.cuh"

namespace dsakit::sparse {

// Most shared memory that a merge CTA asks for beside its own.
inline constexpr int kMergeBytes = 200 * 1024;

// Once a device, before start_merge with `spread`.
inline cudaError_t enable_merge_spread() {
  cudaError_t status = cudaSuccess;
  for (const auto kernel : {merge_kernel<1, 2>, merge_kernel<1, 4>, merge_kernel<1, 16>}) {
    if (status != cudaSuccess) break;
    status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kMergeBytes);
  }
  return status;
}

// Shared memory that makes merge CTAs spread evenly, if they are few. They start while attention
// still runs, and would crowd on the multiprocessors that it leaves first.
inline size_t spreading_bytes(int ctas, const Plan& plan) {
  constexpr int kAll = 228 * 1024, kOwn = 9 * 1024;  // of a CTA, at most
  const int each = ceil_div(ctas, plan.groups * plan.head_tiles);
  return each > 4 ? 0 : static_cast<size_t>(std::min(kAll / each - kOwn, kMergeBytes) / 128 * 128);
}

template <int kSplit, int kAhead>
inline cudaError_t start_merge(const KernelArgs& args, cudaStream_t stream, bool spread) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  const int columns = ceil_div(args.problem.heads * 2 * kSplit, kMergeWarps);
  const int boundaries = std::max(args.plan.groups - 1, 1);
  const int cut = args.cuts ? boundaries : std::min(args.problem.tokens, boundaries);
  config.gridDim = dim3(static_cast<unsigned>(columns), static_cast<unsigned>(cut));
  config.blockDim = dim3(kMergeWarps * 32);
  if (spread) config.dynamicSmemBytes = spreading_bytes(columns * cut, args.plan);
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, merge_kernel<kSplit, kAhead>, args);
}

inline cudaError_t start_merge(const KernelArgs& args, cudaStream_t stream, bool spread = false) {
  if (args.cuts) return start_merge<1, 4>(args, stream, spread);
  // No token has more partials than the ranges that its blocks can meet. With many, attention has
  // few CTAs, and the merge's have multiprocessors of their own.
  const int most = ceil_div(args.plan.blocks, args.plan.share) + 1;
  if (most <= 3) return start_merge<1, 2>(args, stream, spread);
  if (most <= 6) return start_merge<1, 4>(args, stream, spread);
  if (most <= 20) return start_merge<1, 16>(args, stream, spread);
  return start_merge<2, 16>(args, stream, false);
}

// Multiprocessors of the current device, of which a caller counts on sm_count (0: all); 0 with
// *error if a kernel could not be enabled before, or now the device does not answer.
inline int multiprocessors(cudaError_t enabled, int sm_count, int* error) {
  int device = 0, count = 0;
  if (enabled == cudaSuccess) enabled = cudaGetDevice(&device);
  if (enabled == cudaSuccess) {
    enabled = cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device);
  }
  *error = enabled;
  if (enabled != cudaSuccess) return 0;
  return sm_count > 0 ? std::min(count, sm_count) : count;
}

inline void set_partials(KernelArgs& args, void* workspace) {
  const size_t slots = static_cast<size_t>(args.plan.groups) * kPartialSlots;
  const size_t rows = slots * 64 * static_cast<size_t>(args.plan.head_tiles);
  args.partial = static_cast<__half*>(workspace);
  args.partial_lse = reinterpret_cast<float*>(args.partial + rows * kLatent);
  args.partial_max = args.partial_lse + rows;
  args.partial_scale = args.partial_max + rows;
}

// Has the ranges cut on the device by the lengths of the call; the attention kernel must know how.
inline void cut_by_lengths(KernelArgs& args, void* workspace) {
  const int64_t line = int64_t{args.problem.tokens} * args.plan.blocks;
  args.plan.groups = static_cast<int>(std::min<int64_t>(args.plan.most, line));
  args.plan.grain = 1;
  args.plan.merge = args.plan.groups > 1;
  set_partials(args, workspace);
  const size_t rows = static_cast<size_t>(args.plan.groups) * kPartialSlots * 64 *
                      static_cast<size_t>(args.plan.head_tiles);
  args.cuts = reinterpret_cast<Cut*>(args.partial_scale + 2 * rows);
}

// What both kernels of a call get.
inline KernelArgs make_args(const Problem& problem, const Plan& plan, void* workspace) {
  KernelArgs args = make_call(problem, plan);
  set_partials(args, workspace);
  return args;
}

// The plan for `tokens` tokens on `max_ctas` CTAs that run at once; merge_blocks is the cost of a
// cut token in blocks.
inline Plan plan_ranges(int tokens, int heads, int topk, int max_ctas, int merge_blocks) {
  const int tiles = heads > 64 ? 2 : 1;
  return plan_line(tokens, std::max(1, ceil_div(topk, kBlock)), tiles,
                   std::clamp(max_ctas / tiles, 1, kMaxGroups), merge_blocks);
}

// Device memory of the partials of any plan for up to `max_ctas`.
inline size_t partial_bytes(int heads, int max_ctas) {
  const int tiles = heads > 64 ? 2 : 1;
  const int groups = std::clamp(max_ctas / tiles, 1, kMaxGroups);
  return static_cast<size_t>(groups) * kPartialSlots * static_cast<size_t>(tiles) * 64 *
             (kLatent * sizeof(__half) + 4 * sizeof(float)) +
         kMaxGroups * sizeof(Cut);
}

}  // namespace dsakit::sparse
