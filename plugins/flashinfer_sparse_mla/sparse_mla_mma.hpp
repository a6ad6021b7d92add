// Sparse MLA attention with warp-level matrix instructions, for NVIDIA GPUs from sm_80 on: what the
// kernels take.
//
// No CUDA header is needed to include it; how work is divided is in sparse_plan.hpp. A row of the
// pool is 512 bf16 values or, with Problem::fp8, 512 e4m3 codes and 4 fp32 scales (one for each 128
// dimensions); with Problem::rope 64 bf16 values follow. With Problem::footer a pool is as v4_584.
// With Problem::fp8_compute queries and weights are rounded to sums of two e4m3 codes (fp8 without
// a footer, GPUs from sm_89 on). For token t and head i over the selected rows k, dequantised: out
// = softmax(scale * <q, K[k]>) * K[k][:512], with the conventions of dsakit_run_args. q, kv and
// their strides are multiples of 16 bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/cuda/kv_rows.hpp"
#include "common/cuda/sparse_plan.hpp"

namespace dsakit::sparse::mma {

// Keys by which a call's blocks are counted: tokens * (topk / kCountedKeys + 1) is under 2^31.
inline constexpr int kCountedKeys = 16;

// The plan for `tokens` tokens on `max_ctas` CTAs that run at once.
Plan make_plan(int tokens, int heads, int topk, int max_ctas);

// The same where no token's bits depend on the rest of the call: each token is cut alike.
Plan fixed_plan(int tokens, int heads, int topk, int max_ctas);

// Device memory that a launch under any plan for up to `max_ctas` needs.
size_t workspace_bytes(int heads, int max_ctas);

// CTAs that the current device runs at once, counting on sm_count multiprocessors (0: all); 0 if
// it cannot run the kernels, with the CUDA error in *error. Call it once before the first launch.
int device_ctas(int sm_count, int* error);

// Whether this file has kernels for the current device, and such for Problem::fp8_compute.
bool has_code();
bool has_fp8_code();

// Enqueues the call. Allocates nothing and waits for nothing. Returns a cudaError_t.
int launch(const Problem& problem, const Plan& plan, void* workspace, void* stream);

// The same with the keys of a second list, that of `second`, whose cache is of the same layout; a
// layout with a footer. The plan is for keys_of_lists() keys.
int launch_lists(const Problem& problem, const Problem& second, const Plan& plan, void* workspace,
                 void* stream);
int keys_of_lists(int topk, int topk2);

// Enqueues rows -> pool (append) or pool -> rows. The pool and its strides are multiples of 4
// bytes; elements is 576 or 512. Returns a cudaError_t.
int move_kv_rows(const cuda::KvRows& rows, bool append, void* stream);

}  // namespace dsakit::sparse::mma
