// What rows of the pools look like to launch_rows() (kv_rows.cuh): those of bf16, and packed ones
// of e4m3 codes, their scales and bf16 rope columns.
#pragma once

#include "common/cuda/kv_rows.cuh"
#include "dsakit/kv_layout.hpp"

namespace dsakit::cuda {

// bf16: an element a lane.
struct Bf16Row {
  static __device__ void append(const KvRows& rows, std::byte* stored, const std::byte* row,
                                int lane) {
    for (int d = lane; d < rows.elements; d += 32)
      reinterpret_cast<uint16_t*>(stored)[d] = to_bf16(read_value(rows, row, d));
  }
  static __device__ void dequant(const KvRows& rows, const std::byte* stored, std::byte* row,
                                 int lane) {
    for (int d = lane; d < rows.elements; d += 32)
      write_value(rows, row, d, from_bf16(reinterpret_cast<const uint16_t*>(stored)[d]));
  }
};

// e4m3 with an fp32 scale for each 128 elements: a lane owns four neighbours of each group.
struct GroupsRow {
  static constexpr KvLayout kLayout = *find_kv_layout("fp8_656_g128");
  static constexpr KvLayout kNoRope = *find_kv_layout("fp8_528_g128");
  static constexpr int kGroup = kLayout.group, kGroups = kLayout.latent / kLayout.group;
  static constexpr int kLatent = kLayout.latent, kRope = kLayout.rope;
  static constexpr int kScales = kLayout.scale_offset, kRopeOffset = kLayout.rope_offset;
  static_assert(kGroup == 32 * 4 && kRope == 32 * 2 && kLayout.element == KvElement::e4m3fn);
  static_assert(kLayout.latent == kNoRope.latent && kLayout.scale_offset == kNoRope.scale_offset);

  static __device__ void append(const KvRows& rows, std::byte* stored, const std::byte* row,
                                int lane) {
    for (int group = 0; group < kGroups; ++group) {
      float values[4];
      uint32_t amax = 0;
      for (int i = 0; i < 4; ++i) {
        values[i] = read_value(rows, row, group * kGroup + 4 * lane + i);
        amax = max(amax, magnitude_bits(values[i]));
      }
      for (int step = 16; step > 0; step /= 2) amax = max(amax, __shfl_xor_sync(~0u, amax, step));
      const float scale = group_scale(amax, rows.pow2_scales);
      uint32_t codes = 0;
      for (int i = 0; i < 4; ++i) codes |= uint32_t{to_e4m3(values[i], scale)} << 8 * i;
      reinterpret_cast<uint32_t*>(stored)[group * 32 + lane] = codes;
      if (lane == group) reinterpret_cast<float*>(stored + kScales)[group] = scale;
    }
    if (rows.elements == kLatent) return;
    const int d = kLatent + 2 * lane;
    const uint32_t low = to_bf16(read_value(rows, row, d));
    const uint32_t high = to_bf16(read_value(rows, row, d + 1));
    reinterpret_cast<uint32_t*>(stored + kRopeOffset)[lane] = low | high << 16;
  }

  static __device__ void dequant(const KvRows& rows, const std::byte* stored, std::byte* row,
                                 int lane) {
    for (int group = 0; group < kGroups; ++group) {
      const uint32_t codes = reinterpret_cast<const uint32_t*>(stored)[group * 32 + lane];
      const float scale = reinterpret_cast<const float*>(stored + kScales)[group];
      for (int i = 0; i < 4; ++i) {
        const auto code = static_cast<uint8_t>(codes >> 8 * i);
        write_value(rows, row, group * kGroup + 4 * lane + i, from_e4m3(code, scale));
      }
    }
    if (rows.elements == kLatent) return;
    const uint32_t pair = reinterpret_cast<const uint32_t*>(stored + kRopeOffset)[lane];
    const int d = kLatent + 2 * lane;
    write_value(rows, row, d, from_bf16(static_cast<uint16_t>(pair)));
    write_value(rows, row, d + 1, from_bf16(static_cast<uint16_t>(pair >> 16)));
  }
};

}  // namespace dsakit::cuda
