// A CTA's units of work, and the arguments that the attention kernels share with the merge kernel.
#pragma once

#include <cuda_fp16.h>

#include "common/cuda/sparse_plan.hpp"

namespace dsakit::sparse {

// Division by a number that the host knows, exact below 2^31.
struct Divisor {
  uint64_t magic = 0;
  uint32_t shift = 0;
  __device__ __forceinline__ uint32_t quotient(uint32_t x) const {
    return static_cast<uint32_t>((x * magic) >> 32) >> shift;
  }
};

// The token that a range cut by lengths begins in, for the merge kernel; token -1: it is empty.
struct Cut {
  int32_t token, line, blocks;  // its first block on the line, and how many it has
  int32_t share;                // blocks of a range
};

// What both kernels get, by value.
struct KernelArgs {
  Problem problem;
  Plan plan;
  Divisor page_size, blocks, tokens_inner;
  bool out_aligned = false;        // every row of out starts at a multiple of 16 bytes
  bool quads = false;              // partials have words 4x4 transposed, see quad_transpose
  __half* partial = nullptr;       // [slot][half][head][256]
  float* partial_lse = nullptr;    // [slot][head], log2; -inf for no key
  float* partial_max = nullptr;    // [slot][head], log2
  float* partial_scale = nullptr;  // [slot][half][head]
  Cut* cuts = nullptr;             // [group], if ranges are cut by lengths
};

__device__ __forceinline__ int64_t token_offset(const KernelArgs& args, const TokenAxis& axis,
                                                int token) {
  const int outer = static_cast<int>(args.tokens_inner.quotient(static_cast<uint32_t>(token)));
  return outer * axis.outer + (token - outer * args.problem.tensors.tokens_inner) * axis.inner;
}

// This CTA's tile of heads and its range, anew at each call.
__device__ __forceinline__ int cta() {
  int x;
  asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(x));
  return x;
}
__device__ __forceinline__ int tile_of(const KernelArgs& args) {
  return cta() & (args.plan.head_tiles - 1);
}
__device__ __forceinline__ int range_of(const KernelArgs& args) {
  return cta() >> (args.plan.head_tiles - 1);
}

// Range g's share of a token. Cheap to compute from the token, so that nobody keeps it in
// registers.
struct Share {
  int first, last;  // blocks first ... last - 1
  bool whole;       // all of the token's
  int64_t slot;     // else: where the partial goes
};

__device__ __forceinline__ int first_token(const KernelArgs& args, int g) {
  return static_cast<int>(args.blocks.quotient(static_cast<uint32_t>(range_start(args.plan, g))));
}

// Of a token at or after the range's first one; last is no more than first past the range's end.
__device__ __forceinline__ Share share_of(const KernelArgs& args, int g, int token) {
  const int blocks = args.plan.blocks, line = token * blocks;
  Share share;
  share.first = max(range_start(args.plan, g) - line, 0);
  share.last = min(range_start(args.plan, g + 1) - line, blocks);
  share.whole = share.first == 0 && share.last == blocks;
  share.slot = int64_t{g} * kPartialSlots + (share.first == 0 ? 1 : 0);
  return share;
}

// Entries of a token before its topk_length.
__device__ __forceinline__ int keys_of(const KernelArgs& args, int token) {
  const Tensors& tensors = args.problem.tensors;
  const int topk = args.problem.topk;
  if (!tensors.length) return topk;
  const int length = tensors.length[token / tensors.tokens_per_length * tensors.length_stride];
  return min(max(length, 0), topk);
}

// Blocks of a share that hold keys to look at.
__device__ __forceinline__ int count_of(const Share& share, int keys) {
  return max(0, min(share.last, (keys + kBlock - 1) / kBlock) - share.first);
}

}  // namespace dsakit::sparse
