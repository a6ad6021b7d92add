// Storing rows into a pool of fp8_656_g128 or fp8_528_g128, and reading them back: what kv_append
// and kv_dequant enqueue. The bytes and values are those of the reference codec, core/kvcache.
#pragma once

#include "common/cuda/kv_rows.hpp"

namespace dsakit::sparse::fp8 {

using cuda::KvRows;

// Enqueues rows -> pool (append) or pool -> rows. The pool and its strides are multiples of 4
// bytes; elements is 576 or 512. Returns a cudaError_t.
int move_kv_rows(const KvRows& rows, bool append, void* stream);

}  // namespace dsakit::sparse::fp8
