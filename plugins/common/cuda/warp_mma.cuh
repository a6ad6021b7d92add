// Warp-level matrix instructions over bf16 and the loads that feed them: PTX that every GPU from
// sm_80 on has.
#pragma once

#include <cuda_bf16.h>

#include <cstdint>

namespace dsakit::cuda {

__device__ __forceinline__ uint32_t shared_address(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

// Four 8x8 matrices of 16-bit values; lane l gives the address of row l % 8 of matrix l / 8. Lane l
// gets elements 2(l % 4), + 1 of row l / 4 of each.
__device__ __forceinline__ void load_matrices(uint32_t (&m)[4], uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
               : "r"(address));
}
// The same of the transposed matrices.
__device__ __forceinline__ void load_transposed(uint32_t (&m)[4], uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
               : "r"(address));
}

// D += A * B: D 16x8 fp32, A 16x16, B 16x8 bf16. Lane l has of D rows l / 4 and 8 further, columns
// 2(l % 4) and the next; A is four 8x8 matrices (rows; rows + 8; columns + 8; both), B two.
__device__ __forceinline__ void multiply(float (&d)[4], const uint32_t (&a)[4], uint32_t b0,
                                         uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Loads 16 bytes past the L1 cache; zeros if not `valid`.
__device__ __forceinline__ uint4 load_row(const uint8_t* from, bool valid) {
  uint4 v = make_uint4(0, 0, 0, 0);
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %5, 0;\n"
      "@p ld.global.nc.L1::no_allocate.v4.b32 {%0, %1, %2, %3}, [%4];\n}\n"
      : "+r"(v.x), "+r"(v.y), "+r"(v.z), "+r"(v.w)
      : "l"(from), "r"(static_cast<int>(valid)));
  return v;
}

__device__ __forceinline__ void prefetch_line(const uint8_t* address) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(address));
}

// Copies 16 bytes from global to shared memory behind the thread's back, or writes zeros.
__device__ __forceinline__ void copy_chunk(uint32_t to, const uint8_t* from, bool valid) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from),
               "r"(valid ? 16 : 0)
               : "memory");
}
// The same with 4 bytes.
__device__ __forceinline__ void copy_word(uint32_t to, const uint8_t* from, bool valid) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from),
               "r"(valid ? 4 : 0)
               : "memory");
}
// Waits until what this thread copies has landed.
__device__ __forceinline__ void wait_for_chunks() {
  asm volatile("cp.async.wait_all;" ::: "memory");
}

// Two e4m3 codes, each in the high byte of a half of `codes`, as bf16, exactly: sign and magnitude
// bits moved to their places are the value divided by 2^120.
__device__ __forceinline__ uint32_t bf16_of_codes(uint32_t codes) {
  const uint32_t bits = (codes & 0x80008000u) | ((codes >> 4) & 0x07F007F0u);
  const __nv_bfloat162 up = __float2bfloat162_rn(0x1p120f);
  const __nv_bfloat162 value = __hmul2(*reinterpret_cast<const __nv_bfloat162*>(&bits), up);
  return *reinterpret_cast<const uint32_t*>(&value);
}

// Four e4m3 codes as bf16; a NaN code becomes a NaN.
__device__ __forceinline__ uint2 bf16_of_word(uint32_t word) {
  const uint32_t low = __byte_perm(word, 0, 0x1404), high = __byte_perm(word, 0, 0x3424);
  uint2 v = make_uint2(bf16_of_codes(low), bf16_of_codes(high));
  const uint32_t nan = ((word & 0x7F7F7F7Fu) + 0x01010101u) & 0x80808080u;
  if (nan != 0) {
    v.x |= ((nan & 0x80u) ? 0x7FFFu : 0u) | ((nan & 0x8000u) ? 0x7FFF0000u : 0u);
    v.y |= ((nan & 0x800000u) ? 0x7FFFu : 0u) | ((nan & 0x80000000u) ? 0x7FFF0000u : 0u);
  }
  return v;
}

// Products of two pairs of bf16.
__device__ __forceinline__ uint32_t multiply_pairs(uint32_t a, uint32_t b) {
  const __nv_bfloat162 product = __hmul2(*reinterpret_cast<const __nv_bfloat162*>(&a),
                                         *reinterpret_cast<const __nv_bfloat162*>(&b));
  return *reinterpret_cast<const uint32_t*>(&product);
}

// The power of two that the low byte of `bits` is the exponent of, twice; 255 is a NaN.
__device__ __forceinline__ uint32_t bf16_of_ue8m0(uint32_t bits) {
  const uint32_t exponent = bits & 0xFFu;
  const uint32_t half = exponent == 0 ? 0x0040u : exponent == 0xFF ? 0x7FC0u : exponent << 7;
  return half | half << 16;
}

}  // namespace dsakit::cuda
