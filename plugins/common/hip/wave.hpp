// Thin wrappers of what a wave of 64 lanes can do, so that one kernel source has several back ends:
// the compiler's builtins here, and an emulator of waves on the CPU, which a build of the tests
// puts in place by defining DSAKIT_SIMT_BACKEND to its header.
//
// The GPU that is compiled for is asked for here and in sparse.hip alone. Every function named
// wave_… must be reached by all 64 lanes of a wave together, workgroup_barrier() by all waves of a
// workgroup. LDS is touched through Lds alone.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dsakit::hip {

using f32x4 = float __attribute__((vector_size(16)));
using i16x4 = std::int16_t __attribute__((vector_size(8)));
using i16x8 = std::int16_t __attribute__((vector_size(16)));
using u32x4 = std::uint32_t __attribute__((vector_size(16)));

}  // namespace dsakit::hip

#ifdef DSAKIT_SIMT_BACKEND
#define DSAKIT_UNROLL
#define DSAKIT_CONSTANT
#include DSAKIT_SIMT_BACKEND
#else

// Before a loop over what must stay in registers.
#define DSAKIT_UNROLL _Pragma("unroll")

// Before a constant in global memory.
#define DSAKIT_CONSTANT __attribute__((constant))
#define DSAKIT_DEVICE __attribute__((device)) inline __attribute__((always_inline))
// Before the name of a kernel, whose one parameter is a struct; workgroups have `threads` threads.
#define DSAKIT_KERNEL(threads) \
  extern "C" __attribute__((global, amdgpu_flat_work_group_size(threads, threads))) void
// `bytes` bytes of LDS, the only ones of a kernel, uninitialised; for Lds(name).
#define DSAKIT_LDS(bytes, name) \
  static __attribute__((shared, aligned(16))) unsigned char name[bytes]

namespace dsakit::hip {

DSAKIT_DEVICE int thread_id() {
  return static_cast<int>(__builtin_amdgcn_workitem_id_x());
}
DSAKIT_DEVICE std::uint32_t workgroup_id() {
  return __builtin_amdgcn_workgroup_id_x();
}

// The one argument of the kernel, of which nothing that was read before is remembered: values that
// are needed now and then are cheaper to read again than to keep.
template <class T>
DSAKIT_DEVICE const T& argument_again(const T&) {
  using Constant = const __attribute__((address_space(4))) T;
  auto* argument = (Constant*)__builtin_amdgcn_kernarg_segment_ptr();  // of another address space
  asm volatile("" : "+s"(argument));
  return *(const T*)argument;
}

// Behind it, what any wave of the workgroup wrote to LDS before is seen by all.
DSAKIT_DEVICE void workgroup_barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

// The value of lane ^ mask.
DSAKIT_DEVICE float wave_xor(float value, int mask) {
  const int from = (static_cast<int>(__builtin_amdgcn_workitem_id_x()) ^ mask) & 63;
  return __builtin_bit_cast(float,
                            __builtin_amdgcn_ds_bpermute(from * 4, __builtin_bit_cast(int, value)));
}

// The value of lane 0, which the compiler may keep as one for the wave.
DSAKIT_DEVICE std::int32_t wave_first(std::int32_t value) {
  return __builtin_amdgcn_readfirstlane(value);
}

// c + a * b of 16x16x16 in bf16, fp32 sums. Lane l has, of a, row l % 16 and columns 4 * (l / 16)
// to + 3; of b, column l % 16 and rows 4 * (l / 16) to + 3; of c and the result, column l % 16 and
// rows 4 * (l / 16) to + 3.
DSAKIT_DEVICE f32x4 wave_mfma_16x16x16(i16x4 a, i16x4 b, f32x4 c) {
  return __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(a, b, c, 0, 0, 0);
}

#ifdef __gfx950__
#define DSAKIT_WIDE_PRODUCTS
DSAKIT_DEVICE f32x4 wave_mfma_16x16x32(i16x8 a, i16x8 b, f32x4 c) {
  using Bf16x8 = __bf16 __attribute__((vector_size(16)));
  return __builtin_amdgcn_mfma_f32_16x16x32_bf16(__builtin_bit_cast(Bf16x8, a),
                                                 __builtin_bit_cast(Bf16x8, b), c, 0, 0, 0);
}
#endif

// Whether the condition holds in any lane.
DSAKIT_DEVICE bool wave_any(bool condition) {
  return __builtin_amdgcn_ballot_w64(condition) != 0;
}

DSAKIT_DEVICE float exp2_of(float x) {
  return __builtin_amdgcn_exp2f(x);
}
DSAKIT_DEVICE float log2_of(float x) {
  return __builtin_amdgcn_logf(x);
}

// A load from an address that came through LDS. Said to be global memory, since one that might be
// LDS would be waited for with every load from there.
template <class T>
DSAKIT_DEVICE T load_global(const std::byte* address) {
  using Global = const __attribute__((address_space(1))) T;
  return *reinterpret_cast<Global*>(reinterpret_cast<std::uintptr_t>(address));
}

// Part of a workgroup's LDS.
class Lds {
 public:
  DSAKIT_DEVICE explicit Lds(unsigned char* bytes) : bytes_(bytes) {}
  template <class T>
  DSAKIT_DEVICE void store(int offset, T value) const {
    *reinterpret_cast<T*>(bytes_ + offset) = value;
  }
  template <class T>
  DSAKIT_DEVICE T load(int offset) const {
    return *reinterpret_cast<const T*>(bytes_ + offset);
  }
  DSAKIT_DEVICE Lds at(int offset) const { return Lds(bytes_ + offset); }

 private:
  unsigned char* bytes_;
};

}  // namespace dsakit::hip

#endif

namespace dsakit::hip {

DSAKIT_DEVICE i16x8 joined(i16x4 first, i16x4 second) {
  return __builtin_shufflevector(first, second, 0, 1, 2, 3, 4, 5, 6, 7);
}

// wave_mfma_16x16x32() is c + a * b of 16x16x32 in bf16. Lane l has, of a, row l % 16 and columns
// 8 * (l / 16) to + 7; of b, column l % 16 and rows 8 * (l / 16) to + 7; c as above. Where there
// is no such instruction, the first and the second four of each lane are a product of their own.
#ifdef DSAKIT_WIDE_PRODUCTS
inline constexpr bool kWideProducts = true;
#else
inline constexpr bool kWideProducts = false;
DSAKIT_DEVICE f32x4 wave_mfma_16x16x32(i16x8 a, i16x8 b, f32x4 c) {
  c = wave_mfma_16x16x16(__builtin_shufflevector(a, a, 0, 1, 2, 3),
                         __builtin_shufflevector(b, b, 0, 1, 2, 3), c);
  return wave_mfma_16x16x16(__builtin_shufflevector(a, a, 4, 5, 6, 7),
                            __builtin_shufflevector(b, b, 4, 5, 6, 7), c);
}
#endif

// Of this lane's value: the sum over the lanes before it, and over all.
struct WaveSum {
  std::int32_t before = 0, all = 0;
};
DSAKIT_DEVICE WaveSum wave_sum(std::int32_t value) {
  WaveSum sum{0, value};
  for (int mask = 1; mask < kWave; mask *= 2) {
    const auto other =
        __builtin_bit_cast(std::int32_t, wave_xor(__builtin_bit_cast(float, sum.all), mask));
    if ((thread_id() & mask) != 0) sum.before += other;
    sum.all += other;
  }
  return sum;
}

}  // namespace dsakit::hip
