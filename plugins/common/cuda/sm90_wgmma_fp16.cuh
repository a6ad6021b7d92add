// Warpgroup matrix instructions of Hopper over fp16 operands; sm90_wgmma.cuh says how they work and
// has those over bf16.
#pragma once

#include "common/cuda/sm90_wgmma.cuh"

namespace dsakit::cuda {

// Type of the elements of A and B.
enum class Operand { kBf16, kFp16 };

// The accumulators as the instructions name them, and as operands of the asm statements.
#define DSAKIT_WGMMA_D32                                                              \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, " \
  "%18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}"
#define DSAKIT_WGMMA_D64                                                              \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, " \
  "%18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, "  \
  "%34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, "  \
  "%50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}"
#define DSAKIT_WGMMA_OPERANDS_32                                                                  \
  "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), \
      "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]),    \
      "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]),  \
      "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]),  \
      "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
#define DSAKIT_WGMMA_OPERANDS_64(first)                                                   \
  "+f"(d[first + 0]), "+f"(d[first + 1]), "+f"(d[first + 2]), "+f"(d[first + 3]),         \
      "+f"(d[first + 4]), "+f"(d[first + 5]), "+f"(d[first + 6]), "+f"(d[first + 7]),     \
      "+f"(d[first + 8]), "+f"(d[first + 9]), "+f"(d[first + 10]), "+f"(d[first + 11]),   \
      "+f"(d[first + 12]), "+f"(d[first + 13]), "+f"(d[first + 14]), "+f"(d[first + 15]), \
      "+f"(d[first + 16]), "+f"(d[first + 17]), "+f"(d[first + 18]), "+f"(d[first + 19]), \
      "+f"(d[first + 20]), "+f"(d[first + 21]), "+f"(d[first + 22]), "+f"(d[first + 23]), \
      "+f"(d[first + 24]), "+f"(d[first + 25]), "+f"(d[first + 26]), "+f"(d[first + 27]), \
      "+f"(d[first + 28]), "+f"(d[first + 29]), "+f"(d[first + 30]), "+f"(d[first + 31]), \
      "+f"(d[first + 32]), "+f"(d[first + 33]), "+f"(d[first + 34]), "+f"(d[first + 35]), \
      "+f"(d[first + 36]), "+f"(d[first + 37]), "+f"(d[first + 38]), "+f"(d[first + 39]), \
      "+f"(d[first + 40]), "+f"(d[first + 41]), "+f"(d[first + 42]), "+f"(d[first + 43]), \
      "+f"(d[first + 44]), "+f"(d[first + 45]), "+f"(d[first + 46]), "+f"(d[first + 47]), \
      "+f"(d[first + 48]), "+f"(d[first + 49]), "+f"(d[first + 50]), "+f"(d[first + 51]), \
      "+f"(d[first + 52]), "+f"(d[first + 53]), "+f"(d[first + 54]), "+f"(d[first + 55]), \
      "+f"(d[first + 56]), "+f"(d[first + 57]), "+f"(d[first + 58]), "+f"(d[first + 59]), \
      "+f"(d[first + 60]), "+f"(d[first + 61]), "+f"(d[first + 62]), "+f"(d[first + 63])
// Predicate p says whether D is added to.
#define DSAKIT_WGMMA(shape, add, operands) \
  "{\n.reg .pred p;\nsetp." add            \
  ".b32 p, 0, 0;\n"                        \
  "wgmma.mma_async.sync.aligned." shape ".f32.f16.f16 " operands ";\n}\n"

// D = A * B (wgmma_ss_start) or D += A * B; A and B K-major in shared memory.
template <Operand kType>
__device__ __forceinline__ void wgmma_ss_start(float (&d)[32], uint64_t a, uint64_t b) {
  if constexpr (kType == Operand::kBf16) {
    wgmma_ss_start(d, a, b);
  } else {
    asm volatile(DSAKIT_WGMMA("m64n64k16", "ne", DSAKIT_WGMMA_D32 ", %32, %33, p, 1, 1, 0, 0")
                 : DSAKIT_WGMMA_OPERANDS_32
                 : "l"(a), "l"(b));
  }
}
template <Operand kType>
__device__ __forceinline__ void wgmma_ss(float (&d)[32], uint64_t a, uint64_t b) {
  if constexpr (kType == Operand::kBf16) {
    wgmma_ss(d, a, b);
  } else {
    asm volatile(DSAKIT_WGMMA("m64n64k16", "eq", DSAKIT_WGMMA_D32 ", %32, %33, p, 1, 1, 0, 0")
                 : DSAKIT_WGMMA_OPERANDS_32
                 : "l"(a), "l"(b));
  }
}

// D += A * B for accumulators kFirst ... kFirst + 63, columns kFirst * 2 ... + 127, with B's
// descriptor at the first of these columns; B MN-major in shared memory, A from registers or
// K-major in shared memory. Kernels of over 384 threads have too few registers at their entry for
// 256 columns.
template <int kFirst>
__device__ __forceinline__ void wgmma_rs_fp16(float (&d)[128], const uint32_t (&a)[4], uint64_t b) {
  asm volatile(
      DSAKIT_WGMMA("m64n128k16", "eq", DSAKIT_WGMMA_D64 ", {%64, %65, %66, %67}, %68, p, 1, 1, 1")
      : DSAKIT_WGMMA_OPERANDS_64(kFirst)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}
template <int kFirst>
__device__ __forceinline__ void wgmma_ss_tn_fp16(float (&d)[128], uint64_t a, uint64_t b) {
  asm volatile(DSAKIT_WGMMA("m64n128k16", "eq", DSAKIT_WGMMA_D64 ", %64, %65, p, 1, 1, 0, 1")
               : DSAKIT_WGMMA_OPERANDS_64(kFirst)
               : "l"(a), "l"(b));
}

#undef DSAKIT_WGMMA_D32
#undef DSAKIT_WGMMA_D64
#undef DSAKIT_WGMMA_OPERANDS_32
#undef DSAKIT_WGMMA_OPERANDS_64
#undef DSAKIT_WGMMA

}  // namespace dsakit::cuda
