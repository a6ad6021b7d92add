// Kernels of mma_native.hpp.
#include "flashinfer_sparse_mla/mma_native.hpp"

#include "flashinfer_sparse_mla/mma_native.cuh"

namespace dsakit::sparse::mma {
namespace {

// 32 heads leave room for one CTA in the 99 KB of sm_89 and sm_120.
template <class S>
__global__ void __launch_bounds__(kThreads, S::kTiles == 2 ? 1 : 2)
    native_kernel(const __grid_constant__ Args args) {
  extern __shared__ __align__(16) uint8_t smem[];
  NativeCta<S>(args, smem).run();
}

template <class S>
constexpr Variant kVariant{native_kernel<S>, S::kBytes};
constexpr Variant kVariants[2] = {kVariant<NativeShape<1>>, kVariant<NativeShape<2>>};

}  // namespace

const Variant* native_variants() {
  return kVariants;
}

}  // namespace dsakit::sparse::mma
