// Hopper's matrix instructions with A from registers and few columns: 64 rows of codes turned into
// fp16, against 64, 32 or 16 heads. See sm90_wgmma.cuh for fragments and rules.
#pragma once

#include "common/cuda/sm90_wgmma.cuh"

namespace dsakit::cuda {

enum class Operand { kFp16, kBf16 };

#define DSAKIT_WGMMA_D8 "{%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %9, %10, %11}, %12, p"
#define DSAKIT_WGMMA_D16                                                                     \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, {%16, %17, %18, " \
  "%19}, %20, p"
#define DSAKIT_WGMMA_D32                                                                        \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, " \
  "%20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, {%32, %33, %34, %35}, %36, p"
#define DSAKIT_WGMMA_EIGHT(i)                                                                 \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), \
      "+f"(d[i + 6]), "+f"(d[i + 7])
#define DSAKIT_WGMMA_R8 DSAKIT_WGMMA_EIGHT(0)
#define DSAKIT_WGMMA_R16 DSAKIT_WGMMA_R8, DSAKIT_WGMMA_EIGHT(8)
#define DSAKIT_WGMMA_R32 DSAKIT_WGMMA_R16, DSAKIT_WGMMA_EIGHT(16), DSAKIT_WGMMA_EIGHT(24)
// `p` says whether D is added to.
#define DSAKIT_WGMMA_RS(columns, types, kind, regs)                                         \
  asm volatile("{\n.reg .pred p;\nsetp." kind                                               \
               ".b32 p, 0, 0;\nwgmma.mma_async.sync.aligned.m64n" #columns "k16.f32." types \
               " " DSAKIT_WGMMA_D##regs DSAKIT_WGMMA_FLAGS                                  \
               : DSAKIT_WGMMA_R##regs                                                       \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b))
#define DSAKIT_WGMMA_CASE(columns, regs)                 \
  if constexpr (kRegs == regs) {                         \
    if constexpr (kType == Operand::kBf16) {             \
      DSAKIT_WGMMA_RS(columns, "bf16.bf16", "eq", regs); \
    } else if constexpr (kStart) {                       \
      DSAKIT_WGMMA_RS(columns, "f16.f16", "ne", regs);   \
    } else {                                             \
      DSAKIT_WGMMA_RS(columns, "f16.f16", "eq", regs);   \
    }                                                    \
  }

// D[64 x N] += A * B, or = A * B with kStart, B K-major; N is twice the accumulators' number.
#define DSAKIT_WGMMA_FLAGS ", 1, 1, 0;\n}\n"
template <Operand kType, bool kStart, int kRegs>
__device__ __forceinline__ void wgmma_rs_reduced(float (&d)[kRegs], const uint32_t (&a)[4],
                                                 uint64_t b) {
  DSAKIT_WGMMA_CASE(64, 32)
  DSAKIT_WGMMA_CASE(32, 16)
  DSAKIT_WGMMA_CASE(16, 8)
}
#undef DSAKIT_WGMMA_FLAGS

// D += A * B of fp16 with B MN-major.
#define DSAKIT_WGMMA_FLAGS ", 1, 1, 1;\n}\n"
template <int kRegs>
__device__ __forceinline__ void wgmma_rs_columns(float (&d)[kRegs], const uint32_t (&a)[4],
                                                 uint64_t b) {
  constexpr Operand kType = Operand::kFp16;
  constexpr bool kStart = false;
  DSAKIT_WGMMA_CASE(64, 32)
  DSAKIT_WGMMA_CASE(32, 16)
  DSAKIT_WGMMA_CASE(16, 8)
}
#undef DSAKIT_WGMMA_FLAGS

#undef DSAKIT_WGMMA_D8
#undef DSAKIT_WGMMA_D16
#undef DSAKIT_WGMMA_D32
#undef DSAKIT_WGMMA_EIGHT
#undef DSAKIT_WGMMA_R8
#undef DSAKIT_WGMMA_R16
#undef DSAKIT_WGMMA_R32
#undef DSAKIT_WGMMA_RS
#undef DSAKIT_WGMMA_CASE

}  // namespace dsakit::cuda
