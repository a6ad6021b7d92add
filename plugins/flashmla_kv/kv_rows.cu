// Rows of e4m3 with an fp32 scale for each 128 elements.
#include "flashmla_kv/kv_rows.hpp"

#include "common/cuda/kv_row_kinds.cuh"

namespace dsakit::sparse::fp8 {

int move_kv_rows(const KvRows& rows, bool append, void* stream) {
  return cuda::launch_rows<cuda::GroupsRow>(rows, append, stream);
}

}  // namespace dsakit::sparse::fp8
