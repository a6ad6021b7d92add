// Host side of the Hopper kernels: plans, workspace, launches.
#include <cuda_runtime.h>

#include <algorithm>

#include "common/cuda/sparse_launch.cuh"
#include "flashmla_sparse/sm90_attention.cuh"

namespace dsakit::sparse {
namespace {

// Cost of a cut token in blocks: its partials, their merge, and loading Q once more.
constexpr int kMergeBlocks = 3;
// Ranges from which on it pays to fetch the code of the results at the start.
constexpr int kWarmBlocks = 16;

using Kernel = void (*)(KernelArgs);

template <class S>
constexpr Kernel kKernels[] = {attention_kernel<S, Kind::kShort>, attention_kernel<S, Kind::kAny>,
                               attention_kernel<S, Kind::kLong>,
                               attention_kernel<S, Kind::kByLength>};

template <class S>
cudaError_t enable() {
  for (const Kernel kernel : kKernels<S>) {
    const cudaError_t status =
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, S::kBytes);
    if (status != cudaSuccess) return status;
  }
  return cudaSuccess;
}

Kind kind_of(const KernelArgs& args) {
  if (args.cuts) return Kind::kByLength;
  const Plan& plan = args.plan;
  const int shortest = (plan.fixed ? 1 : plan.share) * plan.grain;
  if (shortest >= kWarmBlocks) return Kind::kLong;
  const int longest = (plan.share + (plan.longer > 0 ? 1 : 0)) * plan.grain;
  return longest <= 2 && longest < plan.blocks ? Kind::kShort : Kind::kAny;
}

template <class S>
cudaError_t start(const KernelArgs& args, cudaStream_t stream) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(args.plan.groups * args.plan.head_tiles));
  config.blockDim = dim3(S::kThreads);
  config.dynamicSmemBytes = S::kBytes;
  config.stream = stream;
  return cudaLaunchKernelEx(&config, kKernels<S>[static_cast<int>(kind_of(args))], args);
}

}  // namespace

Plan make_plan(int tokens, int heads, int topk, int max_ctas) {
  return plan_ranges(tokens, heads, topk, max_ctas, kMergeBlocks);
}

size_t workspace_bytes(int heads, int max_ctas) {
  return partial_bytes(heads, max_ctas);
}

int device_ctas(int sm_count, int* error) {
  cudaError_t status = enable<Shape<true>>();
  if (status == cudaSuccess) status = enable<Shape<false>>();
  if (status == cudaSuccess) status = enable_merge_spread();
  return multiprocessors(status, sm_count, error);
}

int launch(const Problem& problem, const Plan& plan, void* workspace, void* stream) {
  if (problem.tokens == 0) return cudaSuccess;
  KernelArgs args = make_args(problem, plan, workspace);
  args.quads = true;
  // Short ranges are even enough.
  const bool fits = !plan.fixed && kind_of(args) != Kind::kShort;
  if (problem.tensors.length && problem.tokens > 1 && fits) {
    cut_by_lengths(args, workspace);
  }
  const auto on = static_cast<cudaStream_t>(stream);
  const cudaError_t status =
      problem.rope ? start<Shape<true>>(args, on) : start<Shape<false>>(args, on);
  if (status != cudaSuccess || !args.plan.merge) return status;
  return start_merge(args, on, true);
}

}  // namespace dsakit::sparse
