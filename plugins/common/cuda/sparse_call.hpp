// One call of sparse MLA attention as the CUDA kernels take it: plain data shared by host and
// device code; no CUDA header is needed to include it.
//
// Pointers are device memory. Strides count bytes where named so, else elements. A launch function
// says what it needs of alignment and of the rows of `kv`.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dsakit::cuda {

// Address of token t's part of a tensor, tokens being [T] or [b, s] with t = b_index * s + s_index.
struct TokenAxis {
  int64_t outer = 0;
  int64_t inner = 0;
};

struct Tensors {
  const void* q = nullptr;
  TokenAxis q_token;   // bytes
  int64_t q_head = 0;  // bytes
  const void* kv = nullptr;
  int64_t kv_page = 0;     // bytes from page to page
  int64_t kv_row = 0;      // bytes from row to row in a page
  uint32_t page_size = 1;  // rows a page
  uint32_t slots = 0;      // rows of the pool; an index at or past it, or negative, is no key
  const void* indices = nullptr;
  TokenAxis index_token;            // elements
  const int32_t* length = nullptr;  // keys of each token; nullptr: topk
  int64_t length_stride = 1;
  int32_t tokens_per_length = 1;
  const float* sink = nullptr;  // nullptr: none
  int64_t sink_head = 1;
  void* out = nullptr;
  TokenAxis out_token;   // bytes
  int64_t out_head = 0;  // bytes
  float* lse = nullptr;  // nullptr: not wanted
  TokenAxis lse_token;
  int64_t lse_head = 0;
  float* max_logits = nullptr;  // nullptr: not wanted
  TokenAxis max_token;
  int64_t max_head = 0;
  int32_t tokens_inner = 1;  // s of [b, s]
};

struct Problem {
  Tensors tensors;
  int32_t tokens = 0;
  int32_t heads = 0;
  int32_t topk = 0;
  bool rope = true;          // d_qk 576, else 512
  bool fp8 = false;          // the pool's latent columns are e4m3 codes, else bf16
  bool footer = false;       // as v4_584: codes whose scales are behind the rows of a page
  bool fp8_compute = false;  // products of codes, in tolerance class fp8
  bool index64 = false;
  bool lse_log2 = false;
  bool lse_with_sink = false;
  float lse_empty = 0;  // LSE of a token without keys
  float scale = 0;      // softmax scale
};

}  // namespace dsakit::cuda
