// DSAKIT_HOST_DEVICE marks functions that the host's compiler and the CUDA compiler both build.
#pragma once

#ifdef __CUDACC__
#define DSAKIT_HOST_DEVICE __host__ __device__
#else
#define DSAKIT_HOST_DEVICE
#endif
