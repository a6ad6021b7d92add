// The kernels for `compute` fp8, compiled for the GPUs of the manifest's rows alone (sm_89 and
// sm_120 have e4m3 matrix instructions, sm_90 emulates them).
#pragma once

#include "flashinfer_sparse_mla/mma_attention.cuh"

namespace dsakit::sparse::mma {

struct Variant {
  void (*kernel)(Args);
  int bytes;  // of shared memory
};

// By tiles of 16 heads, 1 and 2.
const Variant* native_variants();

}  // namespace dsakit::sparse::mma
