// Rows of e4m3 with an fp32 scale for each 128 elements: a lane owns four neighbours of each group.
#include "common/cuda/kv_rows.cuh"

#include "dsakit/kv_layout.hpp"
#include "flashmla_kv/kv_rows.hpp"

namespace dsakit::sparse::fp8 {
namespace {

constexpr KvLayout kLayout = *find_kv_layout("fp8_656_g128");
constexpr KvLayout kNoRope = *find_kv_layout("fp8_528_g128");
constexpr int kGroup = kLayout.group, kGroups = kLayout.latent / kLayout.group;
constexpr int kLatent = kLayout.latent, kRope = kLayout.rope;
constexpr int kScales = kLayout.scale_offset, kRopeOffset = kLayout.rope_offset;
static_assert(kGroup == 32 * 4 && kRope == 32 * 2 && kLayout.element == KvElement::e4m3fn);
static_assert(kLayout.latent == kNoRope.latent && kLayout.scale_offset == kNoRope.scale_offset);

struct GroupsRow {
  static __device__ void append(const KvRows& rows, std::byte* stored, const std::byte* row,
                                int lane) {
    for (int group = 0; group < kGroups; ++group) {
      float values[4];
      uint32_t amax = 0;
      for (int i = 0; i < 4; ++i) {
        values[i] = cuda::read_value(rows, row, group * kGroup + 4 * lane + i);
        amax = max(amax, cuda::magnitude_bits(values[i]));
      }
      for (int step = 16; step > 0; step /= 2) amax = max(amax, __shfl_xor_sync(~0u, amax, step));
      const float scale = cuda::group_scale(amax, rows.pow2_scales);
      uint32_t codes = 0;
      for (int i = 0; i < 4; ++i) codes |= uint32_t{cuda::to_e4m3(values[i], scale)} << 8 * i;
      reinterpret_cast<uint32_t*>(stored)[group * 32 + lane] = codes;
      if (lane == group) reinterpret_cast<float*>(stored + kScales)[group] = scale;
    }
    if (rows.elements == kLatent) return;
    const int d = kLatent + 2 * lane;
    const uint32_t low = cuda::to_bf16(cuda::read_value(rows, row, d));
    const uint32_t high = cuda::to_bf16(cuda::read_value(rows, row, d + 1));
    reinterpret_cast<uint32_t*>(stored + kRopeOffset)[lane] = low | high << 16;
  }

  static __device__ void dequant(const KvRows& rows, const std::byte* stored, std::byte* row,
                                 int lane) {
    for (int group = 0; group < kGroups; ++group) {
      const uint32_t codes = reinterpret_cast<const uint32_t*>(stored)[group * 32 + lane];
      const float scale = reinterpret_cast<const float*>(stored + kScales)[group];
      for (int i = 0; i < 4; ++i) {
        const auto code = static_cast<uint8_t>(codes >> 8 * i);
        cuda::write_value(rows, row, group * kGroup + 4 * lane + i, cuda::from_e4m3(code, scale));
      }
    }
    if (rows.elements == kLatent) return;
    const uint32_t pair = reinterpret_cast<const uint32_t*>(stored + kRopeOffset)[lane];
    const int d = kLatent + 2 * lane;
    cuda::write_value(rows, row, d, cuda::from_bf16(static_cast<uint16_t>(pair)));
    cuda::write_value(rows, row, d + 1, cuda::from_bf16(static_cast<uint16_t>(pair >> 16)));
  }
};

}  // namespace

int move_kv_rows(const KvRows& rows, bool append, void* stream) {
  return cuda::launch_rows<GroupsRow>(rows, append, stream);
}

}  // namespace dsakit::sparse::fp8
