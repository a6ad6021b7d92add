// Storing rows of values in a paged pool, and reading them back: what kv_append and kv_dequant
// enqueue.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dsakit::cuda {

// Device memory; strides in bytes. A slot outside the pool is skipped.
struct KvRows {
  std::byte* pool = nullptr;
  std::int64_t pages = 0, page_size = 1, page_stride = 0, row_stride = 0;
  std::int64_t count = 0;
  const std::byte* slots = nullptr;
  bool wide_slots = false;  // int64
  std::int64_t slot_stride = 0;
  std::byte* rows = nullptr;
  bool rows_fp32 = false;  // else bf16
  std::int64_t row_bytes = 0;
  std::int32_t elements = 0;  // of a row: d_qk
  bool fp8 = false;           // the pool's latent columns are e4m3 codes, else bf16
  bool footer = false;        // as v4_584: codes whose scales are behind the rows of a page
  bool pow2_scales = false;   // scales that append writes, if the layout has scales
};

}  // namespace dsakit::cuda
