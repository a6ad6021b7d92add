// What one case of the device test is, and the device memory that all cases share. Single threaded.
#pragma once

#include <cstdint>
#include <string>

#include "sparse_data.cuh"

namespace dsakit::test {

// Rows of the pools that a test is about.
#ifdef DSAKIT_TEST_FP8
constexpr Rows kRows = Rows::kFp8Pow2;
#else
constexpr Rows kRows = Rows::kBf16;
#endif
// Whether the kernels are those of `compute` fp8, whose results are held to that class.
#ifdef DSAKIT_TEST_FP8_COMPUTE
constexpr bool kFp8Compute = true;
#else
constexpr bool kFp8Compute = false;
#endif

struct Case {
  std::string name;
  int tokens = 4, heads = 128, topk = 512, d_qk = 576;
  uint32_t slots = 4096, page_size = 1;
  int64_t row_pad = 0, page_pad = 0;  // bytes
  float invalid = 0;
  bool duplicates = false;
  int lengths = -1;  // -1: none; 0: random; else that for all
  int per_length = 1;
  int sink = 0;  // 1 random, 2 -inf, 3 +inf, 4 only one head
  bool index64 = false, log2 = false, lse_sink = false, want_max = true;
  int head_pad = 0;      // extra heads' worth of stride in q and out
  int out_shift = 0;     // elements by which out is misaligned
  int tokens_inner = 0;  // s of [b, s] with a padded batch stride; 0: flat
  float scale = 0;       // 0: d_qk^-0.5
  Data data = Data::kNormal;
  Rows rows = kRows;
  int ctas = 0;  // at once; 0: the device's
};

inline Case make(const char* name, int tokens, int heads, int topk, uint32_t slots = 4096) {
  Case c;
  c.name = name;
  c.tokens = tokens;
  c.heads = heads;
  c.topk = topk;
  c.slots = slots;
  return c;
}

template <class T>
T* device(size_t count) {
  void* p = nullptr;
  DSAKIT_CHECK(cudaMalloc(&p, count * sizeof(T) + 256));
  return static_cast<T*>(p);
}

// Grow-only buffers, so that many small cases do not allocate.
template <class T>
struct Buffer {
  T* data = nullptr;
  size_t size = 0;
  T* need(size_t count) {
    if (count > size) {
      cudaFree(data);
      data = device<T>(count);
      size = count;
    }
    return data;
  }
};

struct Buffers {
  Buffer<uint8_t> kv, workspace;
  Buffer<__nv_bfloat16> q, out;
  Buffer<int64_t> indices;
  Buffer<int> lengths;
  Buffer<float> sink, lse, top;
  Buffer<double> ref_out, ref_lse, ref_top, ref_logits;
};

constexpr size_t kCanary = 256;

}  // namespace dsakit::test
