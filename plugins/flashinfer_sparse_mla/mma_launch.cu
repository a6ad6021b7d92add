// Host side of the kernels: plans, workspace, launches.
#include <cuda_runtime.h>

#include <algorithm>

#include "common/cuda/sparse_args.cuh"
#include "flashinfer_sparse_mla/mma_merge.cuh"

namespace dsakit::sparse::mma {
namespace {

// Cost of a cut token in blocks: its partials, their merge, and loading Q once more.
constexpr int kMergeBlocks = 3;

using Kernel = void (*)(Args);
struct Variant {
  Kernel kernel;
  int bytes;  // of shared memory
};

template <class S>
constexpr Variant kVariant{attention_kernel<S>, S::kBytes};

// By fp8, by tiles of 16 heads.
constexpr Variant kVariants[2][2] = {{kVariant<Shape<false, 1>>, kVariant<Shape<false, 2>>},
                                     {kVariant<Shape<true, 1>>, kVariant<Shape<true, 2>>}};

int head_tiles(int heads) {
  return ceil_div(heads, tile_heads(heads));
}

int groups_for(int heads, int max_ctas) {
  return std::max(max_ctas / head_tiles(heads), 1);
}

size_t partial_rows(int heads, int groups) {
  return static_cast<size_t>(groups) * kPartialSlots *
         static_cast<size_t>(head_tiles(heads) * tile_heads(heads));
}

}  // namespace

Plan make_plan(int tokens, int heads, int topk, int max_ctas) {
  Plan plan;
  plan.head_tiles = head_tiles(heads);
  plan.blocks = std::max(1, ceil_div(topk, kBlock));
  const int64_t line = int64_t{tokens} * plan.blocks;
  const int groups = groups_for(heads, max_ctas);
  const int whole = ceil_div(tokens, groups) * plan.blocks;
  const int cut = ceil_div(line, groups);
  if (tokens == 0 || whole <= cut + kMergeBlocks) {
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

size_t workspace_bytes(int heads, int max_ctas) {
  return partial_rows(heads, groups_for(heads, max_ctas)) * (kLatent + 2) * sizeof(float);
}

int device_ctas(int sm_count, int* error) {
  int device = 0, count = 0, at_once = 0;
  cudaError_t status = cudaGetDevice(&device);
  if (status == cudaSuccess)
    status = cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device);
  for (const auto& variants : kVariants) {
    for (const Variant& variant : variants) {
      int blocks = 0;
      if (status == cudaSuccess)
        status = cudaFuncSetAttribute(variant.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                      variant.bytes);
      if (status == cudaSuccess)
        status = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, variant.kernel, kThreads,
                                                               static_cast<size_t>(variant.bytes));
      at_once = std::max(at_once, blocks);
    }
  }
  *error = status;
  if (status != cudaSuccess) return 0;
  return (sm_count > 0 ? std::min(count, sm_count) : count) * at_once;
}

bool has_code() {
  cudaFuncAttributes attributes;
  const bool found = cudaFuncGetAttributes(&attributes, kVariants[0][0].kernel) == cudaSuccess;
  if (!found) cudaGetLastError();
  return found;
}

int launch(const Problem& problem, const Plan& plan, void* workspace, void* stream) {
  if (problem.tokens == 0) return cudaSuccess;
  Args args;
  args.call = make_call(problem, plan);
  const size_t rows = partial_rows(problem.heads, plan.groups);
  args.partial = static_cast<float*>(workspace);
  args.partial_lse = args.partial + rows * kLatent;
  args.partial_max = args.partial_lse + rows;
  const auto on = static_cast<cudaStream_t>(stream);
  const Variant& variant = kVariants[problem.fp8][problem.heads > 16];
  variant.kernel<<<static_cast<unsigned>(plan.groups * plan.head_tiles), kThreads,
                   static_cast<size_t>(variant.bytes), on>>>(args);
  if (const cudaError_t status = cudaGetLastError(); status != cudaSuccess || !plan.merge)
    return status;
  const int cut = std::max(std::min(problem.tokens, plan.groups - 1), 1);
  merge_kernel<<<dim3(static_cast<unsigned>(problem.heads), static_cast<unsigned>(cut)),
                 kMergeThreads, 0, on>>>(args);
  return cudaGetLastError();
}

}  // namespace dsakit::sparse::mma
