// What the sparse MLA kernels for AMD GPUs are launched with: the one argument of each, and names.
// Plain data shared by the host, the device and the emulator; no HIP header is needed to include
// it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/cuda/kv_rows.hpp"
#include "common/cuda/sparse_call.hpp"
#include "common/hip/plan.hpp"

namespace dsakit::hip {

using cuda::KvRows;
using cuda::Problem;
using cuda::Tensors;
using cuda::TokenAxis;

inline constexpr int kLatent = 512;  // dimensions of V, and of K without the rope part
inline constexpr int kRope = 64;     // of K behind them, where there is one
inline constexpr int kWave = 64;     // lanes

// One call: a problem, and what it lacks for ragged lists and for scaled caches.
struct Call {
  Problem problem;               // topk: the width of a row or, ragged, the most keys of a token
  const void* indptr = nullptr;  // ragged lists: token t has entries indptr[t] to indptr[t + 1]
  int64_t indptr_stride = 1;     // elements
  bool ragged = false;
  bool indptr64 = false;
  const float* kv_scale = nullptr;  // of the tensor; null: 1
};

// What workgroups that have parts of tokens leave to the merge kernel, by slot: fp32 outputs,
// normalised within the part, and of its logits in base 2 the log-sum-exp and the largest.
struct Partials {
  float* out = nullptr;      // [slot][head][kLatent]; null where no token is cut
  float* lse = nullptr;      // [slot][head]; -inf for a part without keys
  float* largest = nullptr;  // [slot][head]
  // With Cut::by_length, where each token begins on the line, and behind them the line's length.
  int32_t* lines = nullptr;
};

constexpr int64_t partial_rows(int heads, int compute_units) {
  return int64_t{places(heads, compute_units)} * kRangeSlots * heads;
}
// Bytes of partials that any plan on `compute_units` needs, and these in memory of so many.
constexpr uint64_t workspace_bytes(int heads, int compute_units) {
  return (static_cast<uint64_t>(partial_rows(heads, compute_units)) * (kLatent + 2) +
          kMaxCutTokens + 1) *
         sizeof(float);
}
inline Partials make_partials(void* workspace, int heads, int compute_units) {
  const int64_t rows = partial_rows(heads, compute_units);
  Partials partials;
  partials.out = static_cast<float*>(workspace);
  partials.lse = partials.out + rows * kLatent;
  partials.largest = partials.lse + rows;
  partials.lines = reinterpret_cast<int32_t*>(partials.largest + rows);
  return partials;
}

// The argument of an attention kernel; its grid is plan.ranges * plan.head_tiles workgroups of
// plan.waves waves, ranges innermost.
struct AttentionArguments {
  Call call;
  Plan plan;
  Partials partials;
};

// The argument of the merge kernel; its grid is tokens * heads workgroups of one wave.
struct MergeArguments {
  Call call;
  Plan plan;
  Partials partials;
};

// The argument of a kernel that stores rows in a pool or reads them back; its grid is rows.count
// workgroups of one wave.
struct RowArguments {
  KvRows rows;
  const float* kv_scale = nullptr;  // of the tensor; null: 1
};

// The argument of the kernels between index rows and ragged lists (dsakit/hip_lists.h); a grid is
// `tokens` workgroups of one wave, that of the bounds one.
struct ListArguments {
  int64_t tokens = 0, row_stride = 0;
  int32_t width = 0, last_slot = 0;
  int32_t* rows = nullptr;
  const int32_t* lengths = nullptr;
  int32_t* indptr = nullptr;
  int32_t* indices = nullptr;
};

// Names of the kernels: prefix, kind of cache (bf16, fp8_g128, fp8_pt, fp8_pt_fnuz), and for
// attention whether keys have a rope part and the waves of a workgroup, as in
// dsakit_attention_bf16_rope_w4.
inline constexpr const char* kAttentionPrefix = "dsakit_attention_";
inline constexpr const char* kAppendPrefix = "dsakit_kv_append_";
inline constexpr const char* kDequantPrefix = "dsakit_kv_dequant_";
inline constexpr const char* kMergeName = "dsakit_merge";
inline constexpr const char* kListCountsName = "dsakit_list_counts";
inline constexpr const char* kListBoundsName = "dsakit_list_bounds";
inline constexpr const char* kListRaggedName = "dsakit_list_ragged";
inline constexpr const char* kListRowsName = "dsakit_list_rows";

}  // namespace dsakit::hip
