// How fast rows of 1152 bytes reach shared memory as tensor copies: nine boxes of 128 bytes a row,
// in the swizzle that matrix instructions read, alone or multicast within a cluster of two where
// each CTA fetches half of the rows for both. 64 rows a block, two blocks in shared memory;
// neighbouring CTAs have the same rows, as two tiles of heads would. The first word of each row is
// checked.
#include <cooperative_groups.h>
#include <cuda.h>

#include <random>

#include "common/cuda/sm90_async.cuh"
#include "kernel_span.hpp"

namespace {

using namespace dsakit::cuda;

constexpr int kRows = 64, kBoxes = 9, kStage = kRows * kBoxes * 128, kShared = 2 * kStage + 1024;
constexpr int kBlocks = 66 * 60;  // of all pairs of CTAs

template <bool kPair>
__device__ void load_box(uint32_t to, const CUtensorMap* map, int column, int row,
                         uint32_t barrier) {
  if constexpr (kPair) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes."
        "multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(to),
        "l"(map), "r"(column), "r"(row), "r"(barrier), "h"(uint16_t{3})
        : "memory");
  } else {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%2, %3}], [%4];" ::"r"(to),
        "l"(map), "r"(column), "r"(row), "r"(barrier)
        : "memory");
  }
}

// Arrives at the same barrier of CTA `rank` of the cluster.
__device__ void arrive_at(uint64_t* barrier, uint32_t rank) {
  asm volatile(
      "{\n.reg .b32 there;\nmapa.shared::cluster.u32 there, %0, %1;\n"
      "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [there];\n}\n" ::"r"(
          smem_address(barrier)),
      "r"(rank)
      : "memory");
}

// kWarps issue boxes, the last warp of eight looks at what has come.
template <int kWarps, bool kPair>
__global__ void __launch_bounds__(256, 1)
    boxes_kernel(const __grid_constant__ CUtensorMap map, const int* rows, unsigned* wrong) {
  extern __shared__ __align__(1024) uint8_t shared[];
  __shared__ __align__(8) uint64_t full[2], empty[2];
  const auto cluster = cooperative_groups::this_cluster();
  const uint32_t rank = kPair ? cluster.block_rank() : 0;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (threadIdx.x < 2) {
    ptx::mbarrier_init(&full[threadIdx.x], 1);
    ptx::mbarrier_init(&empty[threadIdx.x], kPair ? 2 : 1);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
  }
  __syncthreads();
  if (kPair) cluster.sync();
  uint32_t step = 0;
  for (int block = blockIdx.x / 2; block < kBlocks; block += gridDim.x / 2, ++step) {
    const uint32_t slot = step & 1, parity = (step >> 1) & 1;
    const uint32_t stage = smem_address(shared) + slot * kStage;
    if (warp < kWarps) {
      constexpr int kOwn = (kPair ? kRows / 2 : kRows) / kWarps;
      const int first = (kPair ? static_cast<int>(rank) * (kRows / 2) : 0) + warp * kOwn;
      int entries[(kOwn + 31) / 32];
#pragma unroll
      for (int i = 0; i < (kOwn + 31) / 32; ++i) {
        entries[i] = rows[block * kRows + first + (lane + 32 * i) % kOwn];
      }
      wait(&empty[slot], parity ^ 1);
      if (warp == 0 && lane == 0) {
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared,
                                       &full[slot], kStage);
      }
#pragma unroll 1
      for (int r = 0; r < kOwn; ++r) {
        const int row = __shfl_sync(~0u, r < 32 ? entries[0] : entries[(kOwn - 1) / 32], r % 32);
        if (lane == 0) {
#pragma unroll
          for (int c = 0; c < kBoxes; ++c) {
            load_box<kPair>(stage + c * kRows * 128 + (first + r) * 128, &map, c * 64, row,
                            smem_address(&full[slot]));
          }
        }
        __syncwarp();
      }
    } else if (warp == 7) {
      wait(&full[slot], parity);
      for (int r = lane; r < kRows; r += 32) {
        const uint8_t* at = shared + slot * kStage + r * 128 + (r & 7) * 16;  // chunk 0, swizzled
        const int got = *reinterpret_cast<const int*>(at);
        if (got != rows[block * kRows + r]) atomicAdd(wrong, 1);
      }
      __syncwarp();
      if (lane == 0) {
        for (uint32_t peer = 0; peer < (kPair ? 2 : 1); ++peer) arrive_at(&empty[slot], peer);
      }
    }
  }
  __syncthreads();
  if (kPair) cluster.sync();
}

__global__ void number_rows(int* pool, int count) {
  const int row = blockIdx.x * 256 + threadIdx.x;
  if (row < count) pool[int64_t{row} * kBoxes * 32] = row;
}

CUtensorMap tensor_map(void* pool, int count) {
  void* encode = nullptr;
  cudaDriverEntryPointQueryResult found;
  DSAKIT_MICRO_CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &encode, 12000,
                                                      cudaEnableDefault, &found));
  CUtensorMap map;
  const cuuint64_t sizes[2] = {kBoxes * 64, static_cast<cuuint64_t>(count)};
  const cuuint64_t strides[1] = {kBoxes * 128};
  const cuuint32_t box[2] = {64, 1}, steps[2] = {1, 1};
  DSAKIT_MICRO_CHECK(reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(encode)(
      &map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, pool, sizes, strides, box, steps,
      CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
  return map;
}

template <int kWarps, bool kPair>
void time(dsakit::micro::Spans& spans, const CUtensorMap& map, const int* rows, unsigned* wrong) {
  auto kernel = boxes_kernel<kWarps, kPair>;
  DSAKIT_MICRO_CHECK(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kShared));
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = 2;
  attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(132);
  config.blockDim = dim3(256);
  config.dynamicSmemBytes = kShared;
  config.attrs = &attribute;
  config.numAttrs = kPair ? 1 : 0;
  const auto call = [&] {
    DSAKIT_MICRO_CHECK(cudaLaunchKernelEx(&config, kernel, map, rows, wrong));
  };
  const double us = spans.median(call, 1, 9);
  unsigned bad = 0;
  DSAKIT_MICRO_CHECK(cudaMemcpy(&bad, wrong, 4, cudaMemcpyDeviceToHost));
  std::printf("  %d warps%s: %.3f us a block%s\n", kWarps, kPair ? ", multicast in a pair" : "",
              us / (kBlocks / 66), bad ? "  WRONG" : "");
}

}  // namespace

int main() {
  dsakit::micro::Spans spans;
  for (const int count : {8192, 131072}) {
    int *pool = nullptr, *rows = nullptr;
    unsigned* wrong = nullptr;
    DSAKIT_MICRO_CHECK(cudaMalloc(&pool, size_t{kBoxes} * 128 * static_cast<size_t>(count)));
    DSAKIT_MICRO_CHECK(cudaMalloc(&rows, kBlocks * kRows * 4));
    DSAKIT_MICRO_CHECK(cudaMalloc(&wrong, 4));
    DSAKIT_MICRO_CHECK(cudaMemset(wrong, 0, 4));
    number_rows<<<(count + 255) / 256, 256>>>(pool, count);
    std::mt19937 random(1);
    std::vector<int> host(kBlocks * kRows);
    for (int& row : host) row = static_cast<int>(random() % static_cast<unsigned>(count));
    DSAKIT_MICRO_CHECK(cudaMemcpy(rows, host.data(), host.size() * 4, cudaMemcpyHostToDevice));
    const CUtensorMap map = tensor_map(pool, count);
    std::printf("blocks of 64 rows out of %d\n", count);
    time<1, false>(spans, map, rows, wrong);
    time<4, false>(spans, map, rows, wrong);
    time<1, true>(spans, map, rows, wrong);
    time<4, true>(spans, map, rows, wrong);
    cudaFree(pool);
    cudaFree(rows);
    cudaFree(wrong);
  }
  return 0;
}
