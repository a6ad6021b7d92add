// Rows of a bf16 pool: an element a lane.
#include "common/cuda/kv_rows.cuh"

#include "flashmla_sparse/kv_rows.hpp"

namespace dsakit::sparse {
namespace {

struct Bf16Row {
  static __device__ void append(const KvRows& rows, std::byte* stored, const std::byte* row,
                                int lane) {
    for (int d = lane; d < rows.elements; d += 32)
      reinterpret_cast<uint16_t*>(stored)[d] = cuda::to_bf16(cuda::read_value(rows, row, d));
  }
  static __device__ void dequant(const KvRows& rows, const std::byte* stored, std::byte* row,
                                 int lane) {
    for (int d = lane; d < rows.elements; d += 32)
      cuda::write_value(rows, row, d,
                        cuda::from_bf16(reinterpret_cast<const uint16_t*>(stored)[d]));
  }
};

}  // namespace

int move_kv_rows(const KvRows& rows, bool append, void* stream) {
  return cuda::launch_rows<Bf16Row>(rows, append, stream);
}

}  // namespace dsakit::sparse
