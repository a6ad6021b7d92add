// Rows of both kinds of pool.
#include "common/cuda/kv_row_kinds.cuh"
#include "flashinfer_sparse_mla/sparse_mla_mma.hpp"

namespace dsakit::sparse::mma {

int move_kv_rows(const cuda::KvRows& rows, bool append, void* stream) {
  return rows.fp8 ? cuda::launch_rows<cuda::GroupsRow>(rows, append, stream)
                  : cuda::launch_rows<cuda::Bf16Row>(rows, append, stream);
}

}  // namespace dsakit::sparse::mma
