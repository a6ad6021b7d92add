// Rows of all kinds of pool.
#include "common/cuda/kv_row_kinds.cuh"
#include "flashinfer_sparse_mla/sparse_mla_mma.hpp"

namespace dsakit::sparse::mma {
namespace {

using cuda::KvRows;

// e4m3 with a power of two for each 64 elements behind the rows of the page, and bf16 behind the
// codes: a lane owns two neighbours of each group.
struct FooterRow {
  static constexpr KvLayout kLayout = *find_kv_layout("v4_584");
  static constexpr int kGroup = kLayout.group, kGroups = kLayout.latent / kLayout.group;
  static_assert(kGroup == 32 * 2 && kLayout.rope == 32 * 2 && kGroups < kLayout.footer_bytes);
  static_assert(kLayout.element == KvElement::e4m3fn && kLayout.scale == KvScale::group_ue8m0);

  // The scales of a stored row.
  static __device__ uint8_t* footer(const KvRows& rows, const std::byte* stored) {
    const int64_t offset = stored - rows.pool;
    const int64_t page = rows.page_stride > 0 ? offset / rows.page_stride : 0;
    const int64_t row = (offset - page * rows.page_stride) / kLayout.row_bytes;
    return reinterpret_cast<uint8_t*>(rows.pool + page * rows.page_stride +
                                      rows.page_size * kLayout.row_bytes +
                                      row * kLayout.footer_bytes);
  }

  static __device__ void append(const KvRows& rows, std::byte* stored, const std::byte* row,
                                int lane) {
    uint8_t* const scales = footer(rows, stored);
    for (int group = 0; group < kGroups; ++group) {
      const int d = group * kGroup + 2 * lane;
      const float low = cuda::read_value(rows, row, d), high = cuda::read_value(rows, row, d + 1);
      uint32_t amax = max(cuda::magnitude_bits(low), cuda::magnitude_bits(high));
      for (int step = 16; step > 0; step /= 2) amax = max(amax, __shfl_xor_sync(~0u, amax, step));
      const float scale = cuda::group_scale(amax, true);
      const uint32_t codes = cuda::to_e4m3(low, scale) | uint32_t{cuda::to_e4m3(high, scale)} << 8;
      reinterpret_cast<uint16_t*>(stored)[group * 32 + lane] = static_cast<uint16_t>(codes);
      if (lane == group) scales[group] = static_cast<uint8_t>(cuda::bits_as<uint32_t>(scale) >> 23);
    }
    if (lane >= kGroups && lane < kLayout.footer_bytes) scales[lane] = 0;
    const int d = kLayout.latent + 2 * lane;
    const uint32_t low = cuda::to_bf16(cuda::read_value(rows, row, d));
    const uint32_t high = cuda::to_bf16(cuda::read_value(rows, row, d + 1));
    reinterpret_cast<uint32_t*>(stored + kLayout.rope_offset)[lane] = low | high << 16;
  }

  // 2^(exponent - 127); 255 is a NaN.
  static __device__ float scale_of(uint8_t exponent) {
    if (exponent == 0xFF) return cuda::bits_as<float>(0x7FC00000u);
    return cuda::bits_as<float>(exponent == 0 ? 0x00400000u : uint32_t{exponent} << 23);
  }

  static __device__ void dequant(const KvRows& rows, const std::byte* stored, std::byte* row,
                                 int lane) {
    const uint8_t* const scales = footer(rows, stored);
    for (int group = 0; group < kGroups; ++group) {
      const uint32_t codes = reinterpret_cast<const uint16_t*>(stored)[group * 32 + lane];
      const float scale = scale_of(scales[group]);
      const int d = group * kGroup + 2 * lane;
      cuda::write_value(rows, row, d, cuda::from_e4m3(static_cast<uint8_t>(codes), scale));
      cuda::write_value(rows, row, d + 1, cuda::from_e4m3(static_cast<uint8_t>(codes >> 8), scale));
    }
    const uint32_t pair = reinterpret_cast<const uint32_t*>(stored + kLayout.rope_offset)[lane];
    const int d = kLayout.latent + 2 * lane;
    cuda::write_value(rows, row, d, cuda::from_bf16(static_cast<uint16_t>(pair)));
    cuda::write_value(rows, row, d + 1, cuda::from_bf16(static_cast<uint16_t>(pair >> 16)));
  }
};

}  // namespace

int move_kv_rows(const KvRows& rows, bool append, void* stream) {
  if (rows.footer) return cuda::launch_rows<FooterRow>(rows, append, stream);
  return rows.fp8 ? cuda::launch_rows<cuda::GroupsRow>(rows, append, stream)
                  : cuda::launch_rows<cuda::Bf16Row>(rows, append, stream);
}

}  // namespace dsakit::sparse::mma
