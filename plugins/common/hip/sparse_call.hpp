// What the sparse MLA kernels for AMD GPUs are launched with: the one argument of each, names,
// sizes of workgroups, and how the work of a call is divided. Plain data shared by the host, the
// device and the emulator; no HIP header is needed to include it.
//
// A workgroup has one or four waves with sixteen heads each, all of one token, and one split: a
// contiguous part of the token's blocks of keys. With one split it writes the results; else a
// partial: fp32 outputs, normalised within the split, with the log2-sum-exp2 and the maximum of its
// logits. The merge kernel adds up the partials of a token in order. Splits depend on shapes alone.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/cuda/kv_rows.hpp"
#include "common/cuda/sparse_call.hpp"

namespace dsakit::hip {

using cuda::KvRows;
using cuda::Problem;
using cuda::Tensors;
using cuda::TokenAxis;

inline constexpr int kLatent = 512;  // dimensions of V, and of K without the rope part
inline constexpr int kRope = 64;     // of K behind them, where there is one
inline constexpr int kMaxHeads = 128;
inline constexpr int kWave = 64;  // lanes
inline constexpr int kWaveHeads = 16;
inline constexpr int kMaxWaves = 4;  // of a workgroup; else 1
inline constexpr int kBlock =
    32;  // keys that splits are made of, the most that are in LDS at a time
inline constexpr int kMaxSplits = 32;

// One call: a problem, and what it lacks for ragged lists and for scaled caches.
struct Call {
  Problem problem;               // topk: the width of a row or, ragged, the most keys of a token
  const void* indptr = nullptr;  // ragged lists: token t has entries indptr[t] to indptr[t + 1]
  int64_t indptr_stride = 1;     // elements
  bool ragged = false;
  bool indptr64 = false;
  const float* kv_scale = nullptr;  // of the tensor; null: 1
};

struct Plan {
  int32_t waves = 1;       // of a workgroup: 1 or kMaxWaves
  int32_t head_tiles = 1;  // workgroups that share a token's heads
  int32_t splits = 1;
};

// The argument of an attention kernel; its grid is tokens * head_tiles * splits workgroups of
// plan.waves waves, splits innermost, then head tiles.
struct AttentionArguments {
  Call call;
  Plan plan;
  float* partial_out = nullptr;  // [token][split][head][kLatent]; null with one split
  float* partial_lse = nullptr;  // [token][split][head]: log2; -inf for a split without keys
  float* partial_max = nullptr;  // [token][split][head]: largest logit, log2
};

// The argument of the merge kernel; its grid is tokens * heads workgroups of one wave.
struct MergeArguments {
  Call call;
  Plan plan;
  const float* partial_out = nullptr;
  const float* partial_lse = nullptr;
  const float* partial_max = nullptr;
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

// Workgroups that run in a compute unit at once: LDS has room for three of one wave, registers for
// one of four.
constexpr int workgroups_of_unit(int heads) {
  return heads > kWaveHeads ? 1 : 3;
}

// The plan for `tokens` tokens on `compute_units` compute units.
constexpr Plan make_plan(int64_t tokens, int heads, int topk, int compute_units) {
  Plan plan;
  const int tiles = (heads + kWaveHeads - 1) / kWaveHeads;
  plan.waves = tiles > 1 ? kMaxWaves : 1;
  plan.head_tiles = (tiles + plan.waves - 1) / plan.waves;
  const int64_t groups = tokens * plan.head_tiles;
  const int64_t places = int64_t{compute_units} * workgroups_of_unit(heads);
  const int64_t room = groups > 0 ? places / groups : 1;
  const int64_t blocks = (int64_t{topk} + kBlock - 1) / kBlock;
  int64_t splits = room < blocks ? room : blocks;
  if (splits > kMaxSplits) splits = kMaxSplits;
  plan.splits = splits < 1 ? 1 : static_cast<int32_t>(splits);
  return plan;
}

// Bytes of partials that any plan on `compute_units` needs: tokens * splits is at most the
// workgroups that run at once where there is more than one split.
constexpr uint64_t workspace_bytes(int heads, int compute_units) {
  return static_cast<uint64_t>(compute_units) * static_cast<uint64_t>(workgroups_of_unit(heads)) *
         static_cast<uint64_t>(heads) * (kLatent + 2) * sizeof(float);
}

}  // namespace dsakit::hip
