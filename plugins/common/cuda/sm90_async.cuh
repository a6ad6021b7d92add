// Asynchronous copies and barriers on Hopper: CCCL's cuda::ptx, and what it lacks. Shared memory is
// addressed by 32-bit addresses of the shared window (smem_address), which saves registers.
#pragma once

#include <cuda/ptx>

#include <cstdint>

namespace dsakit::cuda {

namespace ptx = ::cuda::ptx;

__device__ __forceinline__ uint32_t smem_address(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

// A value that all lanes of the warp have, made known as such to the compiler.
__device__ __forceinline__ uint32_t uniform(uint32_t x) {
  return __shfl_sync(~0u, x, 0);
}

__device__ __forceinline__ void prefetch_l2(const void* address) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(address));
}

// Copies 16 bytes from global to shared memory, or writes 16 zero bytes and reads nothing.
__device__ __forceinline__ void copy16(uint32_t address, const void* source, bool valid) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(address), "l"(source),
               "r"(valid ? 16 : 0)
               : "memory");
}

// Waits until all copy16 of this thread have landed.
__device__ __forceinline__ void wait_for_copies() {
  asm volatile("cp.async.wait_all;" ::: "memory");
}

// Arrives once at the barrier when all earlier copy16 of this thread have landed.
__device__ __forceinline__ void arrive_after_copies(uint64_t* barrier) {
  ptx::cp_async_mbarrier_arrive_noinc(barrier);
}

// Copies `bytes` (a multiple of 16, as both addresses) and tells the barrier, which `expect` has
// told of them. One thread does it all.
__device__ __forceinline__ void copy_bulk(uint32_t address, const void* source, uint32_t bytes,
                                          uint64_t* barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(address),
      "l"(source), "r"(bytes), "r"(smem_address(barrier))
      : "memory");
}
// Arrives at the barrier, whose phase then also waits for `bytes` of copy_bulk.
__device__ __forceinline__ void expect(uint64_t* barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;" ::"r"(
                   smem_address(barrier)),
               "r"(bytes)
               : "memory");
}

__device__ __forceinline__ void arrive(uint64_t* barrier) {
  ptx::mbarrier_arrive(ptx::sem_release, ptx::scope_cta, ptx::space_shared, barrier);
}

__device__ __forceinline__ bool test(uint64_t* barrier, uint32_t parity) {
  return ptx::mbarrier_test_wait_parity(barrier, parity);
}

__device__ __forceinline__ void wait(uint64_t* barrier, uint32_t parity) {
  while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cta, barrier, parity)) {
  }
}

// Stores four 8x8 matrices of 16-bit values; lane l gives the address of row l % 8 of matrix l / 8.
__device__ __forceinline__ void store_matrices(uint32_t row_address, uint32_t a, uint32_t b,
                                               uint32_t c, uint32_t d) {
  asm volatile(
      "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(row_address), "r"(a),
      "r"(b), "r"(c), "r"(d)
      : "memory");
}

template <int kRegisters>
__device__ __forceinline__ void raise_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;\n" ::"n"(kRegisters));
}
template <int kRegisters>
__device__ __forceinline__ void drop_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;\n" ::"n"(kRegisters));
}

// Lets a dependent launch start its prologue; waits until the launch this one depends on is done.
__device__ __forceinline__ void launch_dependents() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}
__device__ __forceinline__ void wait_for_prior_launch() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
}

// Barrier `id` (1 ... 15) among `threads` threads of the CTA.
__device__ __forceinline__ void named_barrier(int id, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

// The same; whether `mine` holds for any of the threads.
__device__ __forceinline__ bool named_any(int id, int threads, bool mine) {
  int any;
  asm volatile(
      "{\n.reg .pred p, q;\nsetp.ne.b32 p, %3, 0;\nbarrier.red.or.pred q, %1, %2, p;\n"
      "selp.b32 %0, 1, 0, q;\n}\n"
      : "=r"(any)
      : "r"(id), "r"(threads), "r"(static_cast<int>(mine))
      : "memory");
  return any != 0;
}

// Arrives at barrier `id` of `threads` threads without waiting.
__device__ __forceinline__ void named_arrive(int id, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

}  // namespace dsakit::cuda
