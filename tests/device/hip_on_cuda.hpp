// The back end of common/hip/wave.hpp on an NVIDIA GPU, for clang's CUDA: a wave is two warps that
// meet at a named barrier of its own. What two lanes of a wave exchange in LDS without a wave
// operation, or two waves without a barrier, is a hazard that compute-sanitizer's racecheck sees,
// if all waves of a workgroup have heads: with waves that meet less often than others it has
// reported hazards across a barrier of them all. Operands of products go through global memory,
// which racecheck does not watch: they would be fifteen times what a kernel has in LDS itself, and
// racecheck takes its time for each byte.
// Included by wave.hpp, through DSAKIT_SIMT_BACKEND.
#pragma once

#define DSAKIT_DEVICE __attribute__((device)) inline __attribute__((always_inline))
#define DSAKIT_KERNEL(threads) extern "C" __attribute__((global, launch_bounds(threads))) void
#define DSAKIT_LDS(bytes, name) \
  static __attribute__((shared, aligned(16))) unsigned char name[bytes]
#undef DSAKIT_CONSTANT
#define DSAKIT_CONSTANT __attribute__((device))

namespace dsakit::hip {

DSAKIT_DEVICE int thread_id() {
  return __nvvm_read_ptx_sreg_tid_x();
}
DSAKIT_DEVICE std::uint32_t workgroup_id() {
  return static_cast<std::uint32_t>(__nvvm_read_ptx_sreg_ctaid_x());
}
template <class T>
DSAKIT_DEVICE const T& argument_again(const T& argument) {
  return argument;
}
DSAKIT_DEVICE void workgroup_barrier() {
  asm volatile("bar.sync 0;" ::: "memory");
}

// Barrier 0 is the workgroup's.
DSAKIT_DEVICE int wave_barrier_id() {
  return 1 + thread_id() / 64;
}
DSAKIT_DEVICE void wave_barrier() {
  asm volatile("bar.sync %0, 64;" ::"r"(wave_barrier_id()) : "memory");
}

// Words that lanes of a wave hand to each other.
__attribute__((shared)) static std::uint32_t words_of_waves[256];
DSAKIT_DEVICE std::uint32_t* wave_words() {
  return words_of_waves + thread_id() / 64 * 64;
}

// Operands of products, of each lane.
struct alignas(16) Handed {
  std::uint16_t a[8], b[8];
};
inline constexpr std::uint32_t kMostWorkgroups = 2048;
__attribute__((device)) static Handed handed[kMostWorkgroups * 256];
DSAKIT_DEVICE Handed* wave_operands() {
  if (workgroup_id() >= kMostWorkgroups) __builtin_trap();
  return handed + workgroup_id() * 256 + thread_id() / 64 * 64;
}

DSAKIT_DEVICE float wave_xor(float value, int mask) {
  std::uint32_t* const words = wave_words();
  const int lane = thread_id() % 64;
  words[lane] = __builtin_bit_cast(std::uint32_t, value);
  wave_barrier();
  const auto other = __builtin_bit_cast(float, words[lane ^ mask]);
  wave_barrier();
  return other;
}

DSAKIT_DEVICE std::int32_t wave_first(std::int32_t value) {
  std::uint32_t* const words = wave_words();
  if (thread_id() % 64 == 0) words[0] = static_cast<std::uint32_t>(value);
  wave_barrier();
  value = static_cast<std::int32_t>(words[0]);
  wave_barrier();
  return value;
}

DSAKIT_DEVICE bool wave_any(bool condition) {
  std::uint32_t any;
  asm volatile(
      "{.reg .pred p, q;\n"
      "setp.ne.u32 p, %1, 0;\n"
      "bar.red.or.pred q, %2, 64, p;\n"
      "selp.u32 %0, 1, 0, q;}"
      : "=r"(any)
      : "r"(condition ? 1U : 0U), "r"(wave_barrier_id())
      : "memory");
  return any != 0;
}

template <class Items>
DSAKIT_DEVICE f32x4 multiply(Items a, Items b, f32x4 c) {
  Handed* const wave = wave_operands();
  Handed& mine = wave[thread_id() % 64];
  *reinterpret_cast<Items*>(mine.a) = a;
  *reinterpret_cast<Items*>(mine.b) = b;
  wave_barrier();
  const int column = thread_id() % 16, first_row = thread_id() % 64 / 16 * 4;
  const auto value = [](std::int16_t bits) {
    return __builtin_bit_cast(float, std::uint32_t{static_cast<std::uint16_t>(bits)} << 16);
  };
  f32x4 sum = {};
#pragma unroll
  for (int quad = 0; quad < 4; ++quad) {
    const auto right = *reinterpret_cast<const Items*>(wave[quad * 16 + column].b);
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      const auto left = *reinterpret_cast<const Items*>(wave[quad * 16 + first_row + r].a);
#pragma unroll
      for (unsigned i = 0; i < sizeof(Items) / 2; ++i) sum[r] += value(left[i]) * value(right[i]);
    }
  }
  wave_barrier();
  return c + sum;
}
DSAKIT_DEVICE f32x4 wave_mfma_16x16x16(i16x4 a, i16x4 b, f32x4 c) {
  return multiply(a, b, c);
}
#ifdef DSAKIT_WIDE_PRODUCTS
DSAKIT_DEVICE f32x4 wave_mfma_16x16x32(i16x8 a, i16x8 b, f32x4 c) {
  return multiply(a, b, c);
}
#endif

DSAKIT_DEVICE float exp2_of(float x) {
  float y;
  asm("ex2.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
DSAKIT_DEVICE float log2_of(float x) {
  float y;
  asm("lg2.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

template <class T>
DSAKIT_DEVICE T load_global(const std::byte* address) {
  return *reinterpret_cast<const T*>(address);
}

class Lds {
 public:
  DSAKIT_DEVICE explicit Lds(unsigned char* bytes) : bytes_((Shared<unsigned char>*)bytes) {}
  template <class T>
  DSAKIT_DEVICE void store(int offset, T value) const {
    *reinterpret_cast<Shared<T>*>(bytes_ + offset) = value;
  }
  template <class T>
  DSAKIT_DEVICE T load(int offset) const {
    return *reinterpret_cast<const Shared<T>*>(bytes_ + offset);
  }

 private:
  template <class T>
  using Shared = __attribute__((address_space(3))) T;

  Shared<unsigned char>* bytes_;
};

}  // namespace dsakit::hip
