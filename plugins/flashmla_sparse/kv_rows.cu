// Rows of a bf16 pool.
#include "flashmla_sparse/kv_rows.hpp"

#include "common/cuda/kv_row_kinds.cuh"

namespace dsakit::sparse {

int move_kv_rows(const KvRows& rows, bool append, void* stream) {
  return cuda::launch_rows<cuda::Bf16Row>(rows, append, stream);
}

}  // namespace dsakit::sparse
