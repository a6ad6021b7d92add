// The producer warps of the Hopper attention kernel over fp8 keys (sm90_attention.cuh): they turn
// index entries into copies of whole rows, as they are in the pool, as far ahead as the stages
// allow.
//
// Two pairs of warps take turns with the blocks; a lane has a row, and one instruction copies it. A
// row of a stage is an odd multiple of 16 bytes long, so that eight rows' chunks of 16 bytes lie in
// different banks. What is no key is masked; its row is that of a key of the same token, so that it
// brings no number that the token has not selected, or zeros where there is none. Zeros alone would
// be a place in L2 that all multiprocessors meet at, for a block at the end of every list.
#pragma once

#include "flashmla_kv/sm90_stage.cuh"

namespace dsakit::sparse::fp8 {

// Row that stands for what is no key: zero codes and scales.
__device__ const uint4 kNoKey[(kRopeInRow + 128) / 16] = {};

// Starts copying a token's Q with kThreads threads; `thread` is this one's number among them.
template <class S, int kThreads>
__device__ __forceinline__ void copy_q(const KernelArgs& args, const Shared<S>& shared, int token,
                                       int thread) {
  const Tensors& tensors = args.problem.tensors;
  const int chunk = thread & 7, row = thread >> 3;
  const uint8_t* q = static_cast<const uint8_t*>(tensors.q) +
                     token_offset(args, tensors.q_token, token) + chunk * 16;
  const uint32_t to = smem_address(shared.q()) + row * 128 + ((chunk ^ (row & 7)) << 4);
#pragma unroll 1
  for (int r = row; r < S::kHeads; r += kThreads / 8) {
    const int head = tile_of(args) * S::kHeads + r;
    const bool valid = head < args.problem.heads;
    const uint8_t* from = q + (valid ? head : 0) * tensors.q_head;
#pragma unroll
    for (int c = 0; c < S::kChunks; ++c) {
      copy16(to + (r - row) * 128 + c * S::kQTile, from + c * 128, valid);
    }
  }
}

template <class S, bool kByLength>
struct Producer {
  const KernelArgs& args;
  const Shared<S> shared;
  const int lane, warp, row;
  uint32_t step = 0;              // blocks of the CTA before the unit at hand
  const uint8_t* last = nullptr;  // address of this row's last key in the unit at hand, or of zeros
  uint32_t units = 0;             // units with blocks so far

  __device__ Producer(const KernelArgs& a, Shared<S> s)
      : args(a),
        shared(s),
        lane(threadIdx.x & 31),
        warp((threadIdx.x - 256) >> 5),
        row((warp & 1) * 32 + lane) {}

  // An index entry, or a slot that there is not.
  __device__ __forceinline__ uint32_t load_entry(int64_t at, bool wanted) const {
    const void* indices = args.problem.tensors.indices;
    if (!wanted) return ~0u;
    if (!args.problem.index64) return static_cast<const uint32_t*>(indices)[at];
    const int64_t entry = static_cast<const int64_t*>(indices)[at];
    return static_cast<uint64_t>(entry) < args.problem.tensors.slots ? static_cast<uint32_t>(entry)
                                                                     : ~0u;
  }

  __device__ __forceinline__ const uint8_t* row_pointer(uint32_t slot) const {
    const Tensors& tensors = args.problem.tensors;
    const uint32_t page = args.page_size.quotient(slot);
    const uint32_t in_page = slot - page * tensors.page_size;
    return static_cast<const uint8_t*>(tensors.kv) + page * tensors.kv_page +
           in_page * tensors.kv_row;
  }

  // Starts the copies of this warp's rows of a block.
  __device__ __forceinline__ void issue(uint32_t slot, uint32_t block) {
    const bool is_key = slot < args.problem.tensors.slots;
    if (is_key) last = row_pointer(slot);
    const uint32_t keys = __ballot_sync(~0u, is_key);
    const uint32_t parity = ((block / S::kStages) & 1) ^ 1;
    const uint32_t to = smem_address(shared.stage(block)) + row * S::kRow;
    wait(shared.empty(block, (warp & 1) * 2), parity);
    if (lane == 0) {
      shared.mask(block)[warp & 1] = keys;
      expect(shared.full(block), 32 * S::kRow);
    }
    __syncwarp();
    if (lane < 16) copy_bulk(to, last, S::kRow, shared.full(block));
    wait(shared.empty(block, (warp & 1) * 2 + 1), parity);
    if (lane >= 16) copy_bulk(to, last, S::kRow, shared.full(block));
  }

  // The consumers fetch the first unit's Q. For later units some blocks come before Q, whose place
  // may still be in use.
  __device__ void run() {
    const Tensors& tensors = args.problem.tensors;
    const Units<Shared<S>, S::kThreads / 32, kByLength> walking{args, shared};
#pragma unroll 1
    for (int token = walking.template start<true>();; walking.next(token)) {
      const Share share = walking.share(token);
      const bool more = share.first < share.last;
      const int keys = more ? keys_of(args, token) : 0;
      const int count = more ? count_of(share, keys) : 0;
      if (more && count == 0) continue;
      const int left = keys - share.first * kBlock - row;
      int64_t at = 0;
      int i = static_cast<int>((step ^ (warp >> 1)) & 1);  // this pair's first block
      uint32_t slot = ~0u;
      last = reinterpret_cast<const uint8_t*>(kNoKey);
      if (more) {
        at = token_offset(args, tensors.index_token, token) + share.first * kBlock + row;
        slot = load_entry(at + i * kBlock, i * kBlock < left);
      }
      if (units == 0) named_barrier(kSetUp, 160);
      if (!more) return;
      bool fetch = units++ > 0;
#pragma unroll 1
      for (; i < count || fetch; i += 2) {
        if (i < count) {
          const uint32_t next = load_entry(at + (i + 2) * kBlock, (i + 2) * kBlock < left);
          issue(slot, step + i);
          slot = next;
        }
        if (fetch) {
          wait(shared.q_empty(), (units & 1));
          copy_q<S, 128>(args, shared, token, threadIdx.x - 256);
          arrive_after_copies(shared.q_full());
          fetch = false;
        }
      }
      step += count;
    }
  }
};

}  // namespace dsakit::sparse::fp8
