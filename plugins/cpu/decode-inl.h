// Dequantises one key row to fp32, for each layout of the table. Included once per vector target.
// clang-format off
#if defined(DSAKIT_CPU_DECODE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef DSAKIT_CPU_DECODE_INL
#undef DSAKIT_CPU_DECODE_INL
#else
#define DSAKIT_CPU_DECODE_INL
#endif
// clang-format on

#include <cstring>

#include "hwy/highway.h"
#include "kvcache/float8.hpp"
#include "plugins/cpu/kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace dsakit::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::ScalableTag<float>;
using VF = hn::Vec<DF>;
constexpr int kLanes = static_cast<int>(hn::MaxLanes(DF()));

template <class T>
HWY_INLINE T load_as(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

// count is a multiple of kLanes.
HWY_INLINE void decode_bf16(const std::byte* from, int count, float* to) {
  const DF df;
  const hn::Rebind<std::uint16_t, DF> d16;
  const hn::RebindToUnsigned<DF> d32;
  const auto* codes = reinterpret_cast<const std::uint16_t*>(from);
  for (int i = 0; i < count; i += kLanes) {
    const auto bits = hn::ShiftLeft<16>(hn::PromoteTo(d32, hn::LoadU(d16, codes + i)));
    hn::Store(hn::BitCast(df, bits), df, to + i);
  }
}

// Exact for every code but NaN: the code's bits, moved, are those of an fp16 that is 2^-8 (fn) or
// 2^-7 (fnuz) of the value, so `factor` is the scale times 2^8 or 2^7. Answers whether a NaN code
// was met.
template <bool kFnuz>
HWY_INLINE bool decode_e4m3_group(const std::byte* from, int count, float factor, float* to) {
  const DF df;
  const hn::Rebind<std::int8_t, DF> d8;
  const hn::Rebind<std::int16_t, DF> d16;
  const hn::Rebind<hwy::float16_t, DF> dh;
  const auto scale = hn::Set(df, factor);
  const auto keep = hn::Set(d16, static_cast<std::int16_t>(0xBFFF));
  const auto* codes = reinterpret_cast<const std::int8_t*>(from);
  auto worst = hn::Zero(d8);
  for (int i = 0; i < count; i += kLanes) {
    const auto code = hn::LoadU(d8, codes + i);
    // The largest magnitude is the NaN of fn, the smallest signed number that of fnuz.
    if constexpr (kFnuz)
      worst = hn::Min(worst, code);
    else
      worst = hn::Max(worst, hn::And(code, hn::Set(d8, 0x7F)));
    const auto half = hn::And(hn::ShiftLeft<7>(hn::PromoteTo(d16, code)), keep);
    hn::Store(hn::Mul(hn::PromoteTo(df, hn::BitCast(dh, half)), scale), df, to + i);
  }
  const auto nan_code = hn::Set(d8, kFnuz ? std::int8_t{-128} : std::int8_t{0x7F});
  return !hn::AllFalse(d8, hn::Eq(worst, nan_code));
}

// Any code and any scale, element by element.
HWY_INLINE void decode_e4m3_slow(KvElement element, const std::byte* from, int count, float scale,
                                 float* to) {
  for (int i = 0; i < count; ++i) {
    const auto code = std::to_integer<std::uint8_t>(from[i]);
    const float value = element == KvElement::e4m3fnuz ? kvcache::e4m3fnuz_decode(code)
                                                       : kvcache::e4m3fn_decode(code);
    to[i] = value * scale;
  }
}

HWY_INLINE void decode_e4m3(KvElement element, const std::byte* from, int count, float scale,
                            float* to) {
  const bool fnuz = element == KvElement::e4m3fnuz;
  const float factor = scale * (fnuz ? 128.0F : 256.0F);
  const bool special = fnuz ? decode_e4m3_group<true>(from, count, factor, to)
                            : decode_e4m3_group<false>(from, count, factor, to);
  const bool overflow = !(factor >= -3e38F && factor <= 3e38F);
  if (HWY_UNLIKELY(special || overflow)) decode_e4m3_slow(element, from, count, scale, to);
}

HWY_INLINE float group_scale(const KvLayout& layout, const KeyRow& row, int group) {
  if (layout.scale == KvScale::group_fp32) return load_as<float>(row.scale + 4 * group);
  if (layout.scale == KvScale::group_ue8m0)
    return kvcache::e8m0_decode(std::to_integer<std::uint8_t>(row.scale[group]));
  return row.scale == nullptr ? 1.0F : load_as<float>(row.scale);
}

HWY_INLINE void decode_row(const KvLayout& layout, const KeyRow& row, float* to) {
  if (layout.scale == KvScale::none) {
    decode_bf16(row.data, layout.latent, to);
  } else {
    const int group = layout.group == 0 ? layout.latent : layout.group;
    for (int first = 0; first < layout.latent; first += group)
      decode_e4m3(layout.element, row.data + first, group, group_scale(layout, row, first / group),
                  to + first);
  }
  if (layout.rope != 0) decode_bf16(row.data + layout.rope_offset, layout.rope, to + layout.latent);
}

// Brings the rows of the next block into the second-level cache, a few at a time between pieces of
// arithmetic: all at once they would wait for each other.
class Prefetcher {
 public:
  Prefetcher(const KvLayout& layout, const KeyRow* rows, int count)
      : layout_(layout), row_(rows), end_(rows + count) {}

  HWY_INLINE void step(int rows) {
    for (; rows > 0 && row_ != end_; --rows, ++row_) fetch(*row_);
  }
  int left() const { return static_cast<int>(end_ - row_); }

 private:
  HWY_INLINE void fetch(const KeyRow& row) const {
    for (int at = 0; at < layout_.row_bytes; at += 64) __builtin_prefetch(row.data + at, 0, 2);
    __builtin_prefetch(row.data + layout_.row_bytes - 1, 0, 2);
    if (layout_.footer()) __builtin_prefetch(row.scale, 0, 2);
  }
  const KvLayout& layout_;
  const KeyRow* row_;
  const KeyRow* end_;
};

}  // namespace HWY_NAMESPACE
}  // namespace dsakit::cpu
HWY_AFTER_NAMESPACE();

#endif
