// Kernels and launches of mma_early.hpp.
#include "flashinfer_sparse_mla/mma_early.hpp"

#include "flashinfer_sparse_mla/mma_merge.cuh"

namespace dsakit::sparse::mma {
namespace {

template <int kParts>
__global__ void __launch_bounds__(merge_threads(kParts))
    early_merge_kernel(const __grid_constant__ Args args) {
  merge<kParts>(args, [] { asm volatile("griddepcontrol.wait;" ::: "memory"); });
}

}  // namespace

cudaError_t launch_early_merge(const Args& args, dim3 grid, bool many, cudaStream_t stream) {
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = dim3(merge_threads(many ? kManyParts : 1));
  config.stream = stream;
  config.attrs = &early;
  config.numAttrs = 1;
  return many ? cudaLaunchKernelEx(&config, early_merge_kernel<kManyParts>, args)
              : cudaLaunchKernelEx(&config, early_merge_kernel<1>, args);
}

}  // namespace dsakit::sparse::mma
