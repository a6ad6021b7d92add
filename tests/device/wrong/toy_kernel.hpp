// Attention as naive as can be on a GPU, for plugins that are wrong on purpose: what the launch
// takes.
#pragma once

#include <cstdint>

namespace dsakit::gpu_toy {

// Strides in bytes; token t is at t / inner * outer_stride + t % inner * inner_stride.
struct Axis {
  std::int64_t outer = 0, inner = 0, inner_count = 1;
};

struct Call {
  const unsigned char *q = nullptr, *pool = nullptr, *indices = nullptr, *length = nullptr;
  unsigned char *out = nullptr, *lse = nullptr, *max_logits = nullptr;
  Axis q_token, out_token, lse_token, max_token, index_row;
  std::int64_t q_head = 0, out_head = 0, lse_head = 0, max_head = 0;
  std::int64_t page_size = 1, page_stride = 0, row_stride = 0, slots = 0;
  std::int64_t length_stride = 0, tokens_per_length = 1;
  std::int64_t tokens = 0, heads = 0, topk = 0;
  float scale = 1;
  bool wide = false, int32_offset = false, nan_leaks = false;
  std::int32_t* first_lengths = nullptr;  // null, or zero at first: lengths are kept from there
};

// A cudaError_t.
int launch(const Call& call, void* stream);

}  // namespace dsakit::gpu_toy
