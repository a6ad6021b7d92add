// Host side of the Hopper kernels over fp8 keys: plans, workspace, launches.
#include <cuda_runtime.h>

#include <algorithm>

#include "common/cuda/sparse_launch.cuh"
#include "flashmla_kv/sm90_attention.cuh"

namespace dsakit::sparse::fp8 {
namespace {

// Cost of a cut token in blocks: its partials, their merge, and loading Q once more.
constexpr int kMergeBlocks = 3;
using Kernel = void (*)(KernelArgs);

template <class S>
constexpr Kernel kKernels[] = {attention_kernel<S, false>, attention_kernel<S, true>};

template <class S>
cudaError_t enable() {
  for (const Kernel kernel : kKernels<S>) {
    const cudaError_t status =
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, S::kBytes);
    if (status != cudaSuccess) return status;
  }
  return cudaSuccess;
}

template <class S>
cudaError_t start(const KernelArgs& args, cudaStream_t stream) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(args.plan.groups * args.plan.head_tiles));
  config.blockDim = dim3(S::kThreads);
  config.dynamicSmemBytes = S::kBytes;
  config.stream = stream;
  return cudaLaunchKernelEx(&config, kKernels<S>[args.cuts ? 1 : 0], args);
}

}  // namespace

// A range of one block leaves one of the warpgroups idle, so two are hardly slower, and there are
// half as many partials; few ranges are better short.
Plan make_plan(int tokens, int heads, int topk, int max_ctas) {
  const Plan plan = plan_ranges(tokens, heads, topk, max_ctas, kMergeBlocks);
  const int ctas = plan.groups * plan.head_tiles;
  if (!plan.merge || plan.share > 1 || plan.longer > 0 || ctas <= max_ctas / 2) return plan;
  Plan half = plan_ranges(tokens, heads, topk, (ctas + 1) / 2, kMergeBlocks);
  half.most = plan.most;
  return half;
}

size_t workspace_bytes(int heads, int max_ctas) {
  return partial_bytes(heads, max_ctas);
}

int device_ctas(int sm_count, int* error) {
  cudaError_t status = enable<Shape<true, 64>>();
  if (status == cudaSuccess) status = enable<Shape<false, 64>>();
  if (status == cudaSuccess) status = enable_merge_spread();
  return multiprocessors(status, sm_count, error);
}

int launch(const Problem& problem, const Plan& plan, void* workspace, void* stream) {
  if (problem.tokens == 0) return cudaSuccess;
  KernelArgs args = make_args(problem, plan, workspace);
  if (problem.tensors.length && problem.tokens > 1 && !plan.fixed) cut_by_lengths(args, workspace);
  const auto on = static_cast<cudaStream_t>(stream);
  const cudaError_t status =
      problem.rope ? start<Shape<true, 64>>(args, on) : start<Shape<false, 64>>(args, on);
  if (status != cudaSuccess || !args.plan.merge) return status;
  return start_merge(args, on, true);
}

}  // namespace dsakit::sparse::fp8
