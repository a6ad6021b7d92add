// Storing rows into a bf16 pool, and reading them back: what kv_append and kv_dequant enqueue.
#pragma once

#include "common/cuda/kv_rows.hpp"

namespace dsakit::sparse {

using cuda::KvRows;

// Enqueues rows -> pool (append) or pool -> rows. Returns a cudaError_t.
int move_kv_rows(const KvRows& rows, bool append, void* stream);

}  // namespace dsakit::sparse
