// How the warps of a Hopper attention CTA walk its range: token by token, all to the same places.
#pragma once

#include "common/cuda/sm90_async.cuh"
#include "common/cuda/sparse_lengths.cuh"

namespace dsakit::sparse {

// The named barriers at which the consumers, and (the next one) the producers, learn where their
// range starts, if that needs finding.
inline constexpr int kOpened = 5;

// The units of a CTA's range. Warps 0-7 are consumers, the last four producers. Where ranges are
// cut by lengths each warp keeps its place in shared memory; all its lanes call each function
// together. Shared has walk(warp), a Walk, and room(), kMaxPlaces numbers that nobody uses at the
// start.
template <class Shared, int kWarps, bool kByLength>
struct Units {
  const KernelArgs& args;
  const Shared& shared;

  // The range's first token; every warp calls this once. By lengths the first producer warp finds
  // it, and writes what the merge kernel has to know.
  template <bool kProducer>
  __device__ __forceinline__ int start() const {
    const int range = range_of(args);
    if constexpr (!kByLength) return first_token(args, range);
    const bool opens = kProducer && threadIdx.x / 32 == kWarps - 4;
    if (opens) {
      const int lane = static_cast<int>(threadIdx.x & 31);
      Walk walk;
      const Cut cut = open_range(args, range, shared.room(), walk);
      if (lane < kWarps) shared.walk(lane) = walk;
      if (lane == 0 && tile_of(args) == 0) args.cuts[range] = cut;
      __syncwarp();
    }
    if constexpr (kProducer) {
      if (opens) cuda::named_arrive(kOpened, 256 + 32);
      cuda::named_barrier(kOpened + 1, 128);
    } else {
      cuda::named_barrier(kOpened, 256 + 32);
    }
    return shared.walk(threadIdx.x / 32).token;
  }
  __device__ __forceinline__ Share share(int token) const {
    if constexpr (!kByLength) return share_of(args, range_of(args), token);
    return share_by_length(args, range_of(args), token, shared.walk(threadIdx.x / 32));
  }
  __device__ __forceinline__ void next(int& token) const {
    if constexpr (kByLength) {
      Walk& walk = shared.walk(threadIdx.x / 32);
      __syncwarp();
      if ((threadIdx.x & 31) == 0) next_token(args, token, walk);
      __syncwarp();
      token = walk.token;
    } else {
      ++token;
    }
  }
};

// Keeps the compiler from carrying over what it knows about x, in registers that are wanted.
__device__ __forceinline__ void forget(int& x) {
  asm volatile("" : "+r"(x));
}

// Writes 16 bytes of a row of results. A loop for the rare unaligned rows, since code is fetched
// cold.
__device__ __forceinline__ void store_chunk(uint8_t* at, uint32_t (&v)[4], bool aligned) {
  if (aligned) {
    *reinterpret_cast<uint4*>(at) = make_uint4(v[0], v[1], v[2], v[3]);
    return;
  }
#pragma unroll 1
  for (int i = 0; i < 8; ++i) {
    reinterpret_cast<uint16_t*>(at)[i] = static_cast<uint16_t>(v[0]);
    v[0] = __funnelshift_r(v[0], v[1], 16);
    v[1] = __funnelshift_r(v[1], v[2], 16);
    v[2] = __funnelshift_r(v[2], v[3], 16);
    v[3] >>= 16;
  }
}

}  // namespace dsakit::sparse
