// What the float64 kernel is given: a call in device memory as plain numbers, every stride in
// bytes. Shared by the host and the kernel; no CUDA header is needed.
#pragma once

#include <cstdint>

namespace dsakit::conformance {

// Token t of [T, ...] or, with t = i * inner_count + j, of [b, s, ...].
struct ReferenceTokens {
  const unsigned char* data = nullptr;
  std::int64_t outer = 0, inner = 0, inner_count = 1;
  std::int64_t head = 0;  // from one head to the next
};

struct ReferenceList {
  const unsigned char* pool = nullptr;  // null: no such cache
  std::int64_t pages = 0, page_size = 1, page_stride = 0, row_stride = 0;
  const unsigned char* scale = nullptr;
  ReferenceTokens entries;  // ragged: `data` alone
  std::int64_t entry_step = 4, width = 0;
  std::int32_t entry_bytes = 4;
  const unsigned char* indptr = nullptr;  // ragged
  std::int64_t indptr_step = 4;
  std::int32_t indptr_bytes = 4;
  const unsigned char* length = nullptr;
  std::int64_t length_step = 4, tokens_per_length = 1;
};

enum class ReferenceLayout : std::int32_t { bf16, grouped, per_tensor, per_tensor_fnuz, v4 };
enum class ReferenceType : std::int32_t { bf16, fp16, fp32 };

struct ReferenceCall {
  ReferenceList list[2];
  ReferenceTokens q;
  ReferenceType q_type = ReferenceType::bf16;
  ReferenceLayout layout = ReferenceLayout::bf16;
  std::int32_t d_qk = 0, d_v = 0;
  std::int64_t tokens = 0, heads = 0;
  double sm_scale = 0, empty_lse = 0;
  std::int32_t log2 = 0, sink_in_lse = 0;
  const unsigned char* sink = nullptr;
  std::int64_t sink_step = 4;
  // Results, compact; and for each block `most_keys` logits and slots.
  double *out = nullptr, *lse = nullptr, *max_logits = nullptr;
  double* logits = nullptr;
  std::int64_t* slots = nullptr;
  std::int64_t most_keys = 0;
};

inline constexpr int kReferenceThreads = 256;
inline constexpr int kReferenceMostQuery = 1024;  // elements of a query

}  // namespace dsakit::conformance
