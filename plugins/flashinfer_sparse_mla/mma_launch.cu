// Host side of the kernels: plans, workspace, launches.
#include <cuda_runtime.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "common/cuda/sparse_args.cuh"
#include "flashinfer_sparse_mla/mma_early.hpp"
#include "flashinfer_sparse_mla/mma_merge.cuh"
#include "flashinfer_sparse_mla/mma_native.hpp"

namespace dsakit::sparse::mma {
namespace {

// Cost of a cut token in steps: its partials, their merge, and loading Q once more.
constexpr int kMergeSteps = 6;
// Steps of the parts that a fixed cut makes of a token.
constexpr int kFixedSteps = 16;
// Partials of a token from which many threads share them out.
constexpr int kManyPartials = 8;

template <class S>
constexpr Variant kVariant{attention_kernel<S>, S::kBytes};

// By how rows are stored, by tiles of 16 heads.
template <Rows kRows>
constexpr Variant kOfRows[2] = {kVariant<Shape<kRows, 1>>, kVariant<Shape<kRows, 2>>};
constexpr const Variant* kVariants[] = {kOfRows<Rows::kBf16>, kOfRows<Rows::kGroups>,
                                        kOfRows<Rows::kFooter>};
Rows rows_of(const Problem& problem) {
  return problem.footer ? Rows::kFooter : problem.fp8 ? Rows::kGroups : Rows::kBf16;
}
const Variant& variant_for(const Problem& problem) {
  const Variant* const variants =
      problem.fp8_compute ? native_variants() : kVariants[static_cast<int>(rows_of(problem))];
  return variants[problem.heads > 16];
}

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

template <int kParts>
__global__ void __launch_bounds__(merge_threads(kParts))
    merge_kernel(const __grid_constant__ Args args) {
  merge<kParts>(args, [] {});
}

// Merges what `ranges` ranges have written. A fixed cut's tokens are all merged alike.
cudaError_t launch_merge(const Args& args, int ranges, cudaStream_t stream) {
  const Plan& plan = args.call.plan;
  const int tokens = args.call.problem.tokens;
  const int cut =
      plan.fixed ? ranges / (plan.blocks / plan.grain) : std::max(std::min(tokens, ranges - 1), 1);
  const bool many = !plan.fixed && ranges / tokens >= kManyPartials;
  const dim3 grid(
      static_cast<unsigned>(args.call.problem.heads * merge_ctas(many ? kManyParts : 1)),
      static_cast<unsigned>(cut));
  if (!plan.fixed) {
    int device = 0, major = 0;
    cudaError_t status = cudaGetDevice(&device);
    if (status == cudaSuccess)
      status = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
    if (status != cudaSuccess) return status;
    if (major >= 9) return launch_early_merge(args, grid, many, stream);
    if (many) {
      merge_kernel<kManyParts><<<grid, merge_threads(kManyParts), 0, stream>>>(args);
      return cudaGetLastError();
    }
  }
  merge_kernel<1><<<grid, merge_threads(1), 0, stream>>>(args);
  return cudaGetLastError();
}

// Enqueues the work of `ranges` ranges from args.first_range on.
cudaError_t launch_ranges(const Args& args, int ranges, cudaStream_t stream) {
  const Problem& problem = args.call.problem;
  const Variant& variant = variant_for(problem);
  variant.kernel<<<static_cast<unsigned>(ranges * args.call.plan.head_tiles), kThreads,
                   static_cast<size_t>(variant.bytes), stream>>>(args);
  const cudaError_t status = cudaGetLastError();
  return status != cudaSuccess || !args.call.plan.merge ? status
                                                        : launch_merge(args, ranges, stream);
}

int launch_all(Args& args, void* workspace, void* stream) {
  const Problem& problem = args.call.problem;
  const Plan& plan = args.call.plan;
  if (problem.tokens == 0) return cudaSuccess;
  const size_t rows = partial_rows(problem.heads, plan.most);
  args.partial = static_cast<float*>(workspace);
  args.partial_lse = args.partial + rows * kLatent;
  args.partial_max = args.partial_lse + rows;
  const auto on = static_cast<cudaStream_t>(stream);
  if (!plan.fixed || !plan.merge) return launch_ranges(args, plan.groups, on);
  const int parts = plan.blocks / plan.grain;  // of a token; each writes a partial
  const int tokens = plan.most * kPartialSlots / parts;
  for (int first = 0; first < problem.tokens; first += tokens) {
    args.first_token = first;
    args.first_range = first * parts;
    const int ranges = std::min(tokens, problem.tokens - first) * parts;
    if (const cudaError_t status = launch_ranges(args, ranges, on); status != cudaSuccess)
      return status;
  }
  return cudaSuccess;
}

// Whether the file has a kernel for the current device.
bool is_here(const Variant& variant) {
  cudaFuncAttributes attributes;
  const bool found = cudaFuncGetAttributes(&attributes, variant.kernel) == cudaSuccess;
  if (!found) cudaGetLastError();
  return found;
}

}  // namespace

Plan make_plan(int tokens, int heads, int topk, int max_ctas) {
  return plan_line(tokens, std::max(1, ceil_div(topk, kStep)), head_tiles(heads),
                   groups_for(heads, max_ctas), kMergeSteps);
}

Plan fixed_plan(int tokens, int heads, int topk, int max_ctas) {
  Plan plan;
  plan.head_tiles = head_tiles(heads);
  plan.most = groups_for(heads, max_ctas);
  const int steps = std::max(1, ceil_div(topk, kStep));
  const int parts = std::min(ceil_div(steps, kFixedSteps), plan.most * kPartialSlots);
  plan.fixed = true;
  plan.grain = ceil_div(steps, parts);
  plan.blocks = plan.grain * parts;
  plan.groups = tokens * parts;
  plan.share = 1;
  plan.merge = parts > 1;
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
  std::vector<const Variant*> all(std::begin(kVariants), std::end(kVariants));
  if (status == cudaSuccess && has_fp8_code()) all.push_back(native_variants());
  for (const Variant* variants : all) {
    for (const Variant& variant : {variants[0], variants[1]}) {
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
  return is_here(kVariants[0][0]);
}
bool has_fp8_code() {
  return is_here(native_variants()[0]);
}

int launch(const Problem& problem, const Plan& plan, void* workspace, void* stream) {
  Args args;
  args.call = make_call(problem, plan);
  return launch_all(args, workspace, stream);
}

int keys_of_lists(int topk, int topk2) {
  return ceil_div(topk, kStep) * kStep + topk2;
}

int launch_lists(const Problem& problem, const Problem& second, const Plan& plan, void* workspace,
                 void* stream) {
  Args args;
  args.call = make_call(problem, plan);
  args.second.tensors = second.tensors;
  args.second.page_size = divisor(second.tensors.page_size);
  args.second.topk = second.topk;
  args.second.from = keys_of_lists(problem.topk, 0);
  args.second.index64 = second.index64;
  return launch_all(args, workspace, stream);
}

}  // namespace dsakit::sparse::mma
