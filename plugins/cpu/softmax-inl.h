// Running softmax over a block of logits, combination of two partial results, and the final store.
// Included once per vector target.
// clang-format off
#if defined(DSAKIT_CPU_SOFTMAX_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef DSAKIT_CPU_SOFTMAX_INL
#undef DSAKIT_CPU_SOFTMAX_INL
#else
#define DSAKIT_CPU_SOFTMAX_INL
#endif
// clang-format on

#include <limits>

#include "hwy/highway.h"
#include "plugins/cpu/decode-inl.h"
#include "plugins/cpu/kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace dsakit::cpu {
namespace HWY_NAMESPACE {

// 2^x for x <= 0 by the terms ln2^n / n! on [-0.5, 0.5]; NaN stays NaN. Results under 2^-100 become
// 0: beside a largest term of 1 they change no fp32 sum, and their products would be subnormal and
// slow.
HWY_INLINE VF exp2_of(VF x) {
  const DF df;
  const hn::RebindToSigned<DF> di;
  const VF whole = hn::Round(x);
  const VF f = hn::Sub(x, whole);
  VF p = hn::Set(df, 1.5403530393381608e-4F);
  p = hn::MulAdd(p, f, hn::Set(df, 1.3333558146428443e-3F));
  p = hn::MulAdd(p, f, hn::Set(df, 9.618129107628477e-3F));
  p = hn::MulAdd(p, f, hn::Set(df, 5.550410866482158e-2F));
  p = hn::MulAdd(p, f, hn::Set(df, 2.402265069591007e-1F));
  p = hn::MulAdd(p, f, hn::Set(df, 6.931471805599453e-1F));
  p = hn::MulAdd(p, f, hn::Set(df, 1.0F));
  const auto exponent = hn::ShiftLeft<23>(hn::Add(hn::ConvertTo(di, whole), hn::Set(di, 127)));
  const VF value = hn::Mul(p, hn::BitCast(df, exponent));
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(df, -100.0F)), value);
}

// Turns logits [count, heads_pad] into probabilities relative to the new running maximum; alpha is
// what earlier results must be multiplied with.
inline void softmax_block(const HeadBlock& block, int count, float* logits, const Partial& partial,
                          float* alpha) {
  const DF df;
  const VF lowest = hn::Set(df, -std::numeric_limits<float>::infinity());
  for (int h = 0; h < block.heads_pad; h += kLanes) {
    const VF before = hn::Load(df, partial.max + h);
    VF max = before;
    for (int k = 0; k < count; ++k)
      max = hn::Max(max, hn::Load(df, logits + k * block.heads_pad + h));
    const VF reference = hn::IfThenZeroElse(hn::Eq(max, lowest), max);
    const VF keep = exp2_of(hn::Sub(before, reference));
    VF sum = hn::Mul(hn::Load(df, partial.sum + h), keep);
    for (int k = 0; k < count; ++k) {
      float* at = logits + k * block.heads_pad + h;
      const VF p = exp2_of(hn::Sub(hn::Load(df, at), reference));
      sum = hn::Add(sum, p);
      hn::Store(p, df, at);
    }
    hn::Store(max, df, partial.max + h);
    hn::Store(sum, df, partial.sum + h);
    hn::Store(keep, df, alpha + h);
  }
}

inline void fold_partial(const HeadBlock& block, const Partial& from, const Partial& into) {
  const DF df;
  constexpr float kLowest = -std::numeric_limits<float>::infinity();
  for (int h = 0; h < block.heads; ++h) {
    const float max = into.max[h] > from.max[h] ? into.max[h] : from.max[h];
    const float reference = max == kLowest ? 0.0F : max;
    const VF keep = exp2_of(hn::Set(df, into.max[h] - reference));
    const VF add = exp2_of(hn::Set(df, from.max[h] - reference));
    into.max[h] = max;
    into.sum[h] = into.sum[h] * hn::GetLane(keep) + from.sum[h] * hn::GetLane(add);
    float* to = into.values + static_cast<std::ptrdiff_t>(h) * block.d_v;
    const float* other = from.values + static_cast<std::ptrdiff_t>(h) * block.d_v;
    for (int c = 0; c < block.d_v; c += kLanes) {
      const VF added = hn::Mul(hn::Load(df, other + c), add);
      hn::Store(hn::MulAdd(hn::Load(df, to + c), keep, added), df, to + c);
    }
  }
}

// Rounds to nearest even; NaN stays a (quiet) NaN.
HWY_INLINE hn::Vec<hn::RebindToSigned<DF>> bf16_bits(VF value) {
  const hn::RebindToUnsigned<DF> du;
  const auto bits = hn::BitCast(du, value);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1));
  const auto rounded = hn::ShiftRight<16>(hn::Add(hn::Add(bits, odd), hn::Set(du, 0x7FFF)));
  const auto nan = hn::RebindMask(du, hn::Ne(value, value));
  const auto code = hn::IfThenElse(nan, hn::Set(du, 0x7FC0), rounded);
  return hn::BitCast(hn::RebindToSigned<DF>(), code);
}

// count is a multiple of kLanes; `out` is aligned to its elements only.
inline void store_values(const float* values, float factor, int count, Float type, std::byte* out) {
  const DF df;
  const hn::Rebind<std::uint16_t, DF> d16;
  const hn::Rebind<hwy::float16_t, DF> dh;
  const VF scale = hn::Set(df, factor);
  for (int c = 0; c < count; c += kLanes) {
    const VF value = hn::Mul(hn::Load(df, values + c), scale);
    if (type == Float::fp32)
      hn::StoreU(value, df, reinterpret_cast<float*>(out) + c);
    else if (type == Float::fp16)
      hn::StoreU(hn::DemoteTo(dh, value), dh, reinterpret_cast<hwy::float16_t*>(out) + c);
    else
      hn::StoreU(hn::DemoteTo(d16, bf16_bits(value)), d16,
                 reinterpret_cast<std::uint16_t*>(out) + c);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace dsakit::cpu
HWY_AFTER_NAMESPACE();

#endif
