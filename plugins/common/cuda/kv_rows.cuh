// The frame of kernels that store rows in a paged pool or read them back: a warp a row. What a row
// looks like is up to the kernel's `Row`. Plain CUDA for any architecture.
#pragma once

#include <cuda_runtime.h>

#include "common/cuda/kv_rows.hpp"
#include "common/cuda/kv_values.hpp"

namespace dsakit::cuda {

inline constexpr int kRowWarps = 4;

// The bytes of the slot of row i; null if there is no such slot.
__device__ inline std::byte* stored_row(const KvRows& rows, int64_t i) {
  const std::byte* entry = rows.slots + i * rows.slot_stride;
  const int64_t slot = rows.wide_slots ? *reinterpret_cast<const int64_t*>(entry)
                                       : *reinterpret_cast<const int32_t*>(entry);
  if (slot < 0 || slot >= rows.pages * rows.page_size) return nullptr;
  return rows.pool + slot / rows.page_size * rows.page_stride +
         slot % rows.page_size * rows.row_stride;
}

// Element d of a row of values; a bf16 one comes and goes as fp32, without loss.
__device__ inline float read_value(const KvRows& rows, const std::byte* row, int d) {
  if (rows.rows_fp32) return reinterpret_cast<const float*>(row)[d];
  return from_bf16(reinterpret_cast<const uint16_t*>(row)[d]);
}

__device__ inline void write_value(const KvRows& rows, std::byte* row, int d, float value) {
  if (rows.rows_fp32) {
    reinterpret_cast<float*>(row)[d] = value;
  } else {
    reinterpret_cast<uint16_t*>(row)[d] = to_bf16(value);
  }
}

// Row::append and Row::dequant(rows, the stored row, the row of values, lane) move one row.
template <class Row, bool kAppend>
__global__ void __launch_bounds__(32 * kRowWarps) move_rows_kernel(KvRows rows) {
  const int64_t i = int64_t{blockIdx.x} * kRowWarps + threadIdx.x / 32;
  if (i >= rows.count) return;
  std::byte* stored = stored_row(rows, i);
  if (stored == nullptr) return;
  std::byte* row = rows.rows + i * rows.row_bytes;
  const int lane = threadIdx.x % 32;
  if constexpr (kAppend) {
    Row::append(rows, stored, row, lane);
  } else {
    Row::dequant(rows, stored, row, lane);
  }
}

// Enqueues rows -> pool (append) or pool -> rows.
template <class Row>
cudaError_t launch_rows(const KvRows& rows, bool append, void* stream) {
  if (rows.count == 0) return cudaSuccess;
  const int64_t blocks = (rows.count + kRowWarps - 1) / kRowWarps;
  if (blocks > 0x7FFFFFFF) return cudaErrorInvalidValue;
  const auto kernel = append ? move_rows_kernel<Row, true> : move_rows_kernel<Row, false>;
  kernel<<<static_cast<unsigned>(blocks), 32 * kRowWarps, 0, static_cast<cudaStream_t>(stream)>>>(
      rows);
  return cudaGetLastError();
}

}  // namespace dsakit::cuda
