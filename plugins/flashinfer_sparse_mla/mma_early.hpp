// The merge that is launched while attention still runs, for GPUs from sm_90 on: it waits for
// attention to end where it would read the first partial, so that its launch costs no time. The
// file with the kernels is compiled for those GPUs alone.
#pragma once

#include <cuda_runtime_api.h>

namespace dsakit::sparse::mma {

struct Args;

// Enqueues it behind the attention kernel; `many` partials a token.
cudaError_t launch_early_merge(const Args& args, dim3 grid, bool many, cudaStream_t stream);

}  // namespace dsakit::sparse::mma
