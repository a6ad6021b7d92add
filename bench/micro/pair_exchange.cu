// What a cluster of two can exchange by `st.async` (remote stores that complete on the receiver's
// mbarrier): 37 KB a step each way, alone and beside matrix products of another warpgroup. Each
// step waits for the other's bytes of the step before. What arrived is checked.
#include <cooperative_groups.h>

#include "common/cuda/sm90_async.cuh"
#include "common/cuda/sm90_wgmma.cuh"
#include "kernel_span.hpp"

namespace {

using namespace dsakit::cuda;

constexpr int kStep = 36864, kSteps = 64;  // bytes: 32 rows of 1152
constexpr int kProducts = 32;              // of 64 x 256 x 16 a step: 1.1 us of them
constexpr int kTiles = 2 * kStep, kShared = kTiles + 8 * 8192 + 1024;

__device__ void store_async(uint32_t to, uint4 x, uint32_t barrier) {
  asm volatile(
      "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, "
      "[%5];" ::"r"(to),
      "r"(x.x), "r"(x.y), "r"(x.z), "r"(x.w), "r"(barrier)
      : "memory");
}
__device__ uint32_t in_peer(uint32_t address, uint32_t peer) {
  uint32_t there;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(peer));
  return there;
}

// kExchange, kMultiply: which of the two warpgroups' work is done.
template <bool kExchange, bool kMultiply>
__global__ void __cluster_dims__(2) __launch_bounds__(256, 1) pair_kernel(unsigned* wrong) {
  extern __shared__ __align__(1024) uint8_t shared[];
  __shared__ __align__(8) uint64_t full[2], empty[2];
  const auto cluster = cooperative_groups::this_cluster();
  const uint32_t peer = cluster.block_rank() ^ 1;
  const int t = threadIdx.x & 127;
  if (threadIdx.x < 2) {
    ptx::mbarrier_init(&full[threadIdx.x], 1);
    ptx::mbarrier_init(&empty[threadIdx.x], 1);
  }
  for (int i = threadIdx.x; i < 8192 * 8 / 4; i += 256) {
    reinterpret_cast<uint32_t*>(shared + kTiles)[i] = 0x3C003C00u + i;
  }
  ptx::fence_proxy_async(ptx::space_shared);
  cluster.sync();
  if (threadIdx.x < 128) {
    if constexpr (kExchange) {
      const uint32_t to = in_peer(smem_address(shared), peer);
      const uint32_t barrier = in_peer(smem_address(full), peer);
      const uint32_t peer_empty = in_peer(smem_address(empty), peer);
      unsigned bad = 0;
      for (uint32_t step = 0; step < kSteps; ++step) {
        const uint32_t slot = step & 1;
        if (t == 0) {
          ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared,
                                         &full[slot], kStep);
        }
        if (step > 1) wait(&empty[slot], ((step >> 1) & 1) ^ 1);
        for (int i = t; i < kStep / 16; i += 128) {
          store_async(to + slot * kStep + i * 16, make_uint4(step, i, peer, 7), barrier + slot * 8);
        }
        wait(&full[slot], (step >> 1) & 1);
        const auto* got = reinterpret_cast<const uint4*>(shared + slot * kStep);
        for (int i = t; i < kStep / 16; i += 128 * 9) {
          bad += got[i].x != step || got[i].y != static_cast<uint32_t>(i);
        }
        // Nobody stores into a slot that its owner has not looked at.
        named_barrier(1, 128);
        if (t == 0) {
          asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(
                           peer_empty + slot * 8)
                       : "memory");
        }
      }
      if (bad != 0) atomicAdd(wrong, bad);
    }
  } else {
    if constexpr (kMultiply) {
      float d[128] = {};
      const uint32_t a = uniform(smem_address(shared + kTiles));
      const uint64_t p = wgmma_descriptor(a, 16, 1024, Swizzle::k128);
      const uint64_t v = wgmma_descriptor(a + 8192, 8192, 1024, Swizzle::k128);
      for (uint32_t step = 0; step < kSteps; ++step) {
        wgmma_fence();
#pragma unroll
        for (int i = 0; i < kProducts; ++i) {
          wgmma_ss_tn(d, p + 2 * (i & 3), v + (i & 3) * (2048 >> 4));
        }
        wgmma_commit();
        wgmma_wait<0>();
      }
      wgmma_pin(d);
      if (d[0] == 12345.0f) *wrong = 1;
    }
  }
  cluster.sync();
}

template <bool kExchange, bool kMultiply>
void time(dsakit::micro::Spans& spans, const char* name, unsigned* wrong) {
  auto kernel = pair_kernel<kExchange, kMultiply>;
  DSAKIT_MICRO_CHECK(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kShared));
  const double us = spans.median(
      [&] {
        kernel<<<132, 256, kShared>>>(wrong);
        DSAKIT_MICRO_CHECK(cudaGetLastError());
      },
      1);
  unsigned bad = 0;
  DSAKIT_MICRO_CHECK(cudaMemcpy(&bad, wrong, 4, cudaMemcpyDeviceToHost));
  std::printf("%-32s %7.2f us, %.3f us a step%s\n", name, us, us / kSteps, bad ? "  WRONG" : "");
}

}  // namespace

int main() {
  dsakit::micro::Spans spans;
  unsigned* wrong = nullptr;
  DSAKIT_MICRO_CHECK(cudaMalloc(&wrong, 4));
  DSAKIT_MICRO_CHECK(cudaMemset(wrong, 0, 4));
  std::printf("%d steps: %d KB each way, %d products of 64 x 256 x 16\n", kSteps, kStep / 1024,
              kProducts);
  time<false, false>(spans, "neither", wrong);
  time<false, true>(spans, "products alone", wrong);
  time<true, false>(spans, "exchange alone", wrong);
  time<true, true>(spans, "both", wrong);
  return 0;
}
