// Storing rows of values in a paged pool, and reading them back: a workgroup of one wave a row, the
// bytes those of the project's reference codec.
#pragma once

#include "common/hip/fp8.hpp"
#include "common/hip/sparse_call.hpp"
#include "common/hip/wave.hpp"

namespace dsakit::hip {

// Element d of a row of values; a bf16 one comes and goes as fp32, without loss.
DSAKIT_DEVICE float read_value(const KvRows& rows, const std::byte* row, int d) {
  if (rows.rows_fp32) return reinterpret_cast<const float*>(row)[d];
  return cuda::from_bf16(reinterpret_cast<const std::uint16_t*>(row)[d]);
}
DSAKIT_DEVICE void write_value(const KvRows& rows, std::byte* row, int d, float value) {
  if (rows.rows_fp32) {
    reinterpret_cast<float*>(row)[d] = value;
  } else {
    reinterpret_cast<std::uint16_t*>(row)[d] = cuda::to_bf16(value);
  }
}

// Elements [from, elements) that are stored as bf16 at `stored`.
DSAKIT_DEVICE void append_bf16(const KvRows& rows, std::byte* stored, const std::byte* row,
                               int from) {
  for (int d = from + thread_id(); d < rows.elements; d += kWave)
    reinterpret_cast<std::uint16_t*>(stored)[d - from] = cuda::to_bf16(read_value(rows, row, d));
}
DSAKIT_DEVICE void dequant_bf16(const KvRows& rows, const std::byte* stored, std::byte* row,
                                int from) {
  for (int d = from + thread_id(); d < rows.elements; d += kWave)
    write_value(rows, row, d,
                cuda::from_bf16(reinterpret_cast<const std::uint16_t*>(stored)[d - from]));
}

// Kinds of rows: append() and dequant() move one.
struct Bf16Rows {
  DSAKIT_DEVICE static void append(const RowArguments& a, std::byte* stored, const std::byte* row) {
    append_bf16(a.rows, stored, row, 0);
  }
  DSAKIT_DEVICE static void dequant(const RowArguments& a, const std::byte* stored,
                                    std::byte* row) {
    dequant_bf16(a.rows, stored, row, 0);
  }
};

template <Fp8 kKind>
struct TensorScaledRows {
  DSAKIT_DEVICE static float scale(const RowArguments& a) {
    return a.kv_scale == nullptr ? 1.0F : *a.kv_scale;
  }
  DSAKIT_DEVICE static void append(const RowArguments& a, std::byte* stored, const std::byte* row) {
    for (int d = thread_id(); d < a.rows.elements; d += kWave)
      stored[d] = std::byte{to_code(kKind, read_value(a.rows, row, d), scale(a))};
  }
  DSAKIT_DEVICE static void dequant(const RowArguments& a, const std::byte* stored,
                                    std::byte* row) {
    for (int d = thread_id(); d < a.rows.elements; d += kWave)
      write_value(a.rows, row, d, from_code(kKind, static_cast<std::uint8_t>(stored[d]), scale(a)));
  }
};

// 512 codes in groups of 128, their scales, and what follows as bf16.
struct GroupScaledRows {
  static constexpr int kGroup = 128, kGroups = kLatent / kGroup, kPart = kGroup / kWave;
  static constexpr int kRopeAt = kLatent + kGroups * 4;

  DSAKIT_DEVICE static void append(const RowArguments& a, std::byte* stored, const std::byte* row) {
    for (int group = 0; group < kGroups; ++group) {
      float values[kPart];
      std::uint32_t amax = 0;
      for (int i = 0; i < kPart; ++i) {
        values[i] = read_value(a.rows, row, group * kGroup + i * kWave + thread_id());
        const std::uint32_t bits = cuda::magnitude_bits(values[i]);
        amax = bits > amax ? bits : amax;
      }
      for (int mask = 1; mask < kWave; mask *= 2) {
        const auto other = cuda::bits_as<std::uint32_t>(wave_xor(cuda::bits_as<float>(amax), mask));
        amax = other > amax ? other : amax;
      }
      const float scale = cuda::group_scale(amax, a.rows.pow2_scales);
      for (int i = 0; i < kPart; ++i)
        stored[group * kGroup + i * kWave + thread_id()] =
            std::byte{to_code(Fp8::e4m3fn, values[i], scale)};
      if (thread_id() == 0) reinterpret_cast<float*>(stored + kLatent)[group] = scale;
    }
    append_bf16(a.rows, stored + kRopeAt, row, kLatent);
  }
  DSAKIT_DEVICE static void dequant(const RowArguments& a, const std::byte* stored,
                                    std::byte* row) {
    const auto* const scales = reinterpret_cast<const float*>(stored + kLatent);
    for (int d = thread_id(); d < kLatent; d += kWave)
      write_value(a.rows, row, d,
                  from_code(Fp8::e4m3fn, static_cast<std::uint8_t>(stored[d]), scales[d / kGroup]));
    dequant_bf16(a.rows, stored + kRopeAt, row, kLatent);
  }
};

template <class Rows, bool kAppend>
DSAKIT_DEVICE void move_row(const RowArguments& a) {
  const KvRows& rows = a.rows;
  const std::int64_t i = workgroup_id();
  const std::byte* const entry = rows.slots + i * rows.slot_stride;
  const std::int64_t slot = rows.wide_slots ? *reinterpret_cast<const std::int64_t*>(entry)
                                            : *reinterpret_cast<const std::int32_t*>(entry);
  if (slot < 0 || slot >= rows.pages * rows.page_size) return;
  std::byte* const stored = rows.pool + slot / rows.page_size * rows.page_stride +
                            slot % rows.page_size * rows.row_stride;
  std::byte* const row = rows.rows + i * rows.row_bytes;
  if constexpr (kAppend) {
    Rows::append(a, stored, row);
  } else {
    Rows::dequant(a, stored, row);
  }
}

}  // namespace dsakit::hip
