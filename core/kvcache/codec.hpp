// Reference codec of KV cache rows: where a token's bytes are in a paged pool, and how values
// become bytes and back. Every backend's kv_append and kv_dequant must agree with it bit for bit.
//
// Invariants: never reads or writes outside the addressed token; all offsets are 64 bits; all-zero
// and non-finite groups give defined bytes. Pure functions over caller-owned memory; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "dsakit/kv_layout.hpp"

namespace dsakit::kvcache {

// How group scales are chosen when rows are written.
enum class ScaleRule : std::uint8_t {
  arbitrary_fp32,  // max(amax / 448, FLT_MIN)
  pow2_fp32,       // 2^ceil(log2(max(amax / 448, 1e-4)))
};

// The scale of a group whose largest magnitude is `amax` (finite, >= 0).
float group_scale(ScaleRule rule, float amax);

// A pool as the ABI describes it. Strides are bytes. row_stride is ignored by layouts with a
// footer.
struct Pool {
  const KvLayout* layout = nullptr;
  std::byte* data = nullptr;
  std::int64_t pages = 0;
  std::int64_t page_size = 1;
  std::int64_t page_stride = 0;
  std::int64_t row_stride = 0;
  float tensor_scale = 1.0F;

  std::int64_t slots() const { return pages * page_size; }
  bool contains(std::int64_t slot) const { return slot >= 0 && slot < slots(); }
};

// A compact pool: pages follow each other at layout.page_bytes(page_size).
Pool compact_pool(const KvLayout& layout, std::byte* data, std::int64_t pages,
                  std::int64_t page_size);

// A token's bytes: `data` holds elements and rope; `scale` its group scales (null without groups).
struct RowAddress {
  std::byte* data = nullptr;
  std::byte* scale = nullptr;
};

// Requires pool.contains(slot).
RowAddress row_address(const Pool& pool, std::int64_t slot);

// Writes layout.d_qk() values. NaN stays NaN in its element and does not enter amax; infinities
// count as FLT_MAX in amax and saturate. Footer padding bytes become 0. bf16 parts round to nearest
// even.
void encode_row(const Pool& pool, std::int64_t slot, ScaleRule rule, std::span<const float> values);

// Reads layout.d_qk() values: code * scale, one fp32 multiplication.
void decode_row(const Pool& pool, std::int64_t slot, std::span<float> values);

}  // namespace dsakit::kvcache
