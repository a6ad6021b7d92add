// Rows of a bf16 pool: a warp a row, an element a lane. Plain CUDA for any architecture.
#include <cuda_runtime.h>

#include "flashmla_sparse/kv_rows.hpp"

namespace dsakit::sparse {
namespace {

constexpr int kWarps = 4;

// Round to nearest even; a NaN keeps its sign and upper payload.
__device__ uint16_t to_bf16(float value) {
  const uint32_t bits = __float_as_uint(value);
  if (isnan(value)) return static_cast<uint16_t>((bits >> 16) | 0x40u);
  return static_cast<uint16_t>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}

__device__ float from_bf16(uint16_t bits) {
  return __uint_as_float(uint32_t{bits} << 16);
}

__global__ void __launch_bounds__(32 * kWarps) move_rows_kernel(KvRows rows, bool append) {
  const int64_t i = int64_t{blockIdx.x} * kWarps + threadIdx.x / 32;
  if (i >= rows.count) return;
  const std::byte* entry = rows.slots + i * rows.slot_stride;
  const int64_t slot = rows.wide_slots ? *reinterpret_cast<const int64_t*>(entry)
                                       : *reinterpret_cast<const int32_t*>(entry);
  if (slot < 0 || slot >= rows.pages * rows.page_size) return;
  auto* stored = reinterpret_cast<uint16_t*>(rows.pool + slot / rows.page_size * rows.page_stride +
                                             slot % rows.page_size * rows.row_stride);
  std::byte* row = rows.rows + i * rows.row_bytes;
  for (int d = threadIdx.x % 32; d < rows.elements; d += 32) {
    uint16_t* half = reinterpret_cast<uint16_t*>(row) + d;
    float* single = reinterpret_cast<float*>(row) + d;
    if (append) {
      stored[d] = rows.rows_fp32 ? to_bf16(*single) : *half;
    } else if (rows.rows_fp32) {
      *single = from_bf16(stored[d]);
    } else {
      *half = stored[d];
    }
  }
}

}  // namespace

int move_kv_rows(const KvRows& rows, bool append, void* stream) {
  if (rows.count == 0) return cudaSuccess;
  const int64_t blocks = (rows.count + kWarps - 1) / kWarps;
  if (blocks > 0x7FFFFFFF) return cudaErrorInvalidValue;
  move_rows_kernel<<<static_cast<unsigned>(blocks), 32 * kWarps, 0,
                     static_cast<cudaStream_t>(stream)>>>(rows, append);
  return cudaGetLastError();
}

}  // namespace dsakit::sparse
