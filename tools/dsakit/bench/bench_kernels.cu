// Kernels of `dsakit bench`: fresh inputs before each call, the flush of the cache, and the
// ceilings that a session is judged by. They share nothing with any plugin.
#include <cuda_bf16.h>

#include "bench/kernel_args.hpp"

namespace dsakit::cli {
namespace {

__device__ std::uint32_t mix(std::uint64_t x) {
  x ^= x >> 33;
  x *= 0xFF51AFD7ED558CCDULL;
  x ^= x >> 33;
  x *= 0xC4CEB9FE1A85EC53ULL;
  return static_cast<std::uint32_t>(x ^ (x >> 33));
}

__device__ float normal(std::uint64_t seed, std::uint64_t at) {
  const std::uint64_t key = (seed << 40) ^ (at * 2);
  const float u = (static_cast<float>(mix(key) >> 8) + 1.0F) * 0x1p-24F;
  const float v = static_cast<float>(mix(key + 1) >> 8) * 0x1p-24F;
  return sqrtf(-2.0F * __logf(u)) * cospif(2.0F * v);
}

// Element j of a random permutation of [0, n): a Feistel network over 2 * bits bits, walked until
// it falls inside.
__device__ std::uint32_t permuted(std::uint32_t j, std::uint32_t n, std::uint64_t seed) {
  int bits = 1;
  while ((1ULL << (2 * bits)) < n) ++bits;
  const std::uint32_t low = (1U << bits) - 1;
  do {
    for (std::uint64_t round = 0; round < 4; ++round) {
      const std::uint32_t left = j >> bits, right = j & low;
      j = (right << bits) | (left ^ (mix(seed * 4 + round + (std::uint64_t{right} << 44)) & low));
    }
  } while (j >= n);
  return j;
}

__device__ std::int64_t first_item() {
  return std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
}

__device__ std::int64_t all_threads() {
  return std::int64_t{gridDim.x} * blockDim.x;
}

}  // namespace

extern "C" __global__ void dsakit_bench_queries(const QueryFill fill) {
  const std::int64_t all = fill.tokens * fill.heads * fill.width;
  for (std::int64_t i = first_item(); i < all; i += all_threads()) {
    const std::int64_t row = i / fill.width, d = i % fill.width;
    const float value = normal(fill.seed, static_cast<std::uint64_t>(i));
    fill.to[row / fill.heads * fill.token_stride + row % fill.heads * fill.head_stride + d] =
        __bfloat16_as_ushort(__float2bfloat16(value));
  }
}

extern "C" __global__ void dsakit_bench_indices(const IndexFill fill) {
  const auto pool = static_cast<std::uint32_t>(fill.pool);
  for (std::int64_t i = first_item(); i < fill.tokens * fill.topk; i += all_threads()) {
    const std::int64_t token = i / fill.topk, j = i % fill.topk;
    const std::int64_t base =
        fill.tokens_per_pool > 0 ? token / fill.tokens_per_pool * fill.pool : 0;
    const std::uint64_t call = fill.seed * 1000003;
    const std::int64_t slot =
        fill.shift > 0
            ? permuted(static_cast<std::uint32_t>((token * fill.shift + j) % fill.pool), pool, call)
            : permuted(static_cast<std::uint32_t>(j), pool,
                       call + static_cast<std::uint64_t>(token));
    const bool invalid =
        mix(fill.seed * 77 + static_cast<std::uint64_t>(i) * 13 + 5) < fill.invalid;
    fill.to[token * fill.row_stride + j] = invalid ? -1 : static_cast<std::int32_t>(base + slot);
  }
}

extern "C" __global__ void dsakit_bench_lengths(const LengthFill fill) {
  for (std::int64_t t = first_item(); t < fill.tokens; t += all_threads())
    fill.to[t] =
        static_cast<std::int32_t>(fill.full ? fill.topk
                                            : mix(fill.seed * 31 + static_cast<std::uint64_t>(t)) %
                                                  static_cast<std::uint32_t>(fill.topk + 1));
}

extern "C" __global__ void dsakit_bench_rows(const RowFill fill) {
  const std::int64_t warp = first_item() / 32, warps = all_threads() / 32;
  for (std::int64_t row = warp; row < fill.rows; row += warps) {
    const std::uint32_t sample = mix(fill.seed + static_cast<std::uint64_t>(row)) %
                                 static_cast<std::uint32_t>(fill.samples_count);
    const std::uint32_t* from = fill.samples + sample * fill.row_words;
    std::uint32_t* to = fill.to + row / fill.rows_per_page * fill.page_stride +
                        row % fill.rows_per_page * fill.row_stride;
    for (std::int64_t i = threadIdx.x % 32; i < fill.row_words; i += 32) to[i] = from[i];
  }
}

extern "C" __global__ void dsakit_bench_read(const BufferRead read) {
  uint4 seen = make_uint4(0, 0, 0, 0);
  for (std::int64_t i = first_item(); i < read.units; i += all_threads()) {
    const uint4 value = static_cast<const uint4*>(read.from)[i];
    seen.x ^= value.x;
    seen.y ^= value.y;
  }
  if (seen.x == 0x1234567U && seen.y == 77) *static_cast<uint4*>(read.never) = seen;
}

extern "C" __global__ void dsakit_bench_gather(const RowGather gather) {
  const std::int64_t warp = first_item() / 32, warps = all_threads() / 32;
  const int lane = static_cast<int>(threadIdx.x % 32);
  uint4 seen = make_uint4(0, 0, 0, 0);
  for (std::int64_t r = warp; r < gather.count; r += warps) {
    const uint4* row =
        static_cast<const uint4*>(gather.pool) + std::int64_t{gather.rows[r]} * gather.units;
#pragma unroll
    for (int k = 0; k < 3; ++k) {
      const int i = lane + 32 * k;
      if (i >= gather.units) continue;
      const uint4 value = __ldg(row + i);
      seen.x ^= value.x;
      seen.y ^= value.y;
      seen.z ^= value.z;
      seen.w ^= value.w;
    }
  }
  if (seen.x == 0x12345678U && seen.y == 77) *static_cast<uint4*>(gather.never) = seen;
}

extern "C" __global__ void dsakit_bench_empty() {}

}  // namespace dsakit::cli
