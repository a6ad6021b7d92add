// The kernels of the HIP plugins on an NVIDIA GPU, from their own source: shapes that an emulator
// is too slow for, and memory that compute-sanitizer watches. The tests of the emulator run, too.
//
// usage: hip_kernels_device_test <kernels.cubin> [gtest flags]
//
// All of the heap is managed memory and none of it is given back, so that kernels reach what the
// tests hold in vectors. Every launch is waited for.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <string>

#include "simt/emulated_kernel.hpp"

namespace dsakit::simt {
namespace {

constexpr std::size_t kHeap = std::size_t{40} << 30, kAlignment = 256;

void* heap_memory(std::size_t bytes) {
  static std::size_t used = 0;
  static std::byte* const heap = [] {
    void* memory = nullptr;
    if (cudaMallocManaged(&memory, kHeap) != cudaSuccess) std::abort();
    return static_cast<std::byte*>(memory);
  }();
  std::byte* const memory = heap + used;
  used += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  if (used > kHeap) throw std::bad_alloc();
  return memory;
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
void operator delete(void*) noexcept {}
void operator delete(void*, std::size_t) noexcept {}

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
