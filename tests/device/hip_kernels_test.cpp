// The kernels of the HIP plugins on an NVIDIA GPU, from their own source: shapes that an emulator
// is too slow for, and memory that compute-sanitizer watches. The tests of the emulator run, too.
//
// usage: hip_kernels_device_test <kernels.cubin> [gtest flags]
//
// All of the heap is memory of the host that the GPU reads in place, so that kernels reach what the
// tests hold in vectors; blocks are of powers of two and used again. Every launch is waited for.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>

#include "simt/emulated_kernel.hpp"

namespace dsakit::simt {
namespace {

constexpr std::size_t kHeap = std::size_t{3} << 30, kHeader = 256;

// In front of each block: its size, and the next one that is free.
struct Header {
  std::size_t bytes;
  Header* next;
};
std::mutex heap_lock;
Header* free_blocks[64];

Header*& free_of(std::size_t bytes) {
  return free_blocks[std::countr_zero(bytes)];
}

void* heap_memory(std::size_t wanted) {
  static std::size_t used = 0;
  static std::byte* const heap = [] {
    void* memory = nullptr;
    if (cudaHostAlloc(&memory, kHeap, cudaHostAllocMapped) != cudaSuccess) std::abort();
    return static_cast<std::byte*>(memory);
  }();
  const std::lock_guard lock(heap_lock);
  const std::size_t bytes = std::bit_ceil(wanted + kHeader);
  Header*& list = free_of(bytes);
  Header* block = list;
  if (block != nullptr) {
    list = block->next;
  } else {
    if (bytes > kHeap - used) throw std::bad_alloc();
    block = reinterpret_cast<Header*>(heap + used);
    used += bytes;
  }
  block->bytes = bytes;
  return reinterpret_cast<std::byte*>(block) + kHeader;
}

void give_back(void* memory) {
  if (memory == nullptr) return;
  auto* const block = reinterpret_cast<Header*>(static_cast<std::byte*>(memory) - kHeader);
  const std::lock_guard lock(heap_lock);
  block->next = free_of(block->bytes);
  free_of(block->bytes) = block;
}

cudaLibrary_t library = nullptr;

void expect(cudaError_t status, const std::string& what) {
  if (status != cudaSuccess) throw std::runtime_error(what + ": " + cudaGetErrorString(status));
}

}  // namespace

void launch(std::string_view name, std::int64_t workgroups, const void* arguments) {
  const std::string text(name);
  cudaKernel_t kernel = nullptr;
  expect(cudaLibraryGetKernel(&kernel, library, text.c_str()), text);
  void* parameters[] = {const_cast<void*>(arguments)};
  const unsigned threads = name.ends_with("_w4") ? 256 : 64;
  expect(cudaLaunchKernel(reinterpret_cast<const void*>(kernel),
                          dim3(static_cast<unsigned>(workgroups)), dim3(threads), parameters, 0,
                          nullptr),
         text);
  expect(cudaDeviceSynchronize(), text);
}

}  // namespace dsakit::simt

void* operator new(std::size_t bytes) {
  return dsakit::simt::heap_memory(bytes);
}
void operator delete(void* memory) noexcept {
  dsakit::simt::give_back(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  dsakit::simt::give_back(memory);
}

int main(int count, char** arguments) {
  testing::InitGoogleTest(&count, arguments);
  if (count != 2) {
    std::fprintf(stderr, "usage: %s <kernels.cubin> [gtest flags]\n", arguments[0]);
    return 2;
  }
  const cudaError_t status = cudaLibraryLoadFromFile(&dsakit::simt::library, arguments[1], nullptr,
                                                     nullptr, 0, nullptr, nullptr, 0);
  if (status != cudaSuccess) {
    std::fprintf(stderr, "%s: %s\n", arguments[1], cudaGetErrorString(status));
    return 2;
  }
  return RUN_ALL_TESTS();
}
