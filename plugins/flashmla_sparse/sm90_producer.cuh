// The producer warps of the Hopper attention kernel (sm90_attention.cuh): they turn index entries
// into copies of rows, block after block, as far ahead as the two stages allow.
#pragma once

#include "flashmla_sparse/sm90_stage.cuh"

namespace dsakit::sparse {

// Starts copying a token's Q with kThreads threads; `thread` is this one's number among them.
template <class S, int kThreads>
__device__ __forceinline__ void copy_q(const KernelArgs& args, const Shared<S>& shared, int tile,
                                       int token, int thread) {
  const Tensors& tensors = args.problem.tensors;
  const int lane = thread & 7, row = thread >> 3;
  const uint8_t* q = static_cast<const uint8_t*>(tensors.q) +
                     token_offset(args, tensors.q_token, token) + lane * 16;
  const uint32_t to = smem_address(shared.q()) + row * 128 + ((lane ^ (row & 7)) << 4);
#pragma unroll
  for (int k = 0; k < 512 / kThreads; ++k) {
    const int head = tile * 64 + row + kThreads / 8 * k;
    const bool valid = head < args.problem.heads;
    const uint8_t* from = q + (valid ? head : 0) * tensors.q_head;
#pragma unroll
    for (int c = 0; c < S::kChunks; ++c) {
      copy16(to + k * (kThreads * 16) + c * S::kTile, from + c * 128, valid);
    }
  }
}

// Gathers blocks with 128 threads: 8 lanes a row, 16 rows a pass.
template <class S, Kind kKind>
struct Producer {
  static constexpr bool kByLength = kKind == Kind::kByLength;
  static constexpr bool kRopeFirst = S::kRope && kKind != Kind::kShort;
  static constexpr int kPasses = kBlock / 16;
  const KernelArgs& args;
  const Shared<S> shared;
  const int lane, row;  // chunk of 16 bytes and first row of this thread
  const int tile;       // of heads
  uint32_t step = 0;    // blocks issued so far
  uint32_t units = 0;   // units with blocks so far

  __device__ Producer(const KernelArgs& a, Shared<S> s, int head_tile)
      : args(a), shared(s), lane(threadIdx.x & 7), row((threadIdx.x - 256) >> 3), tile(head_tile) {}

  // This lane's index entry of blocks b and b + 1 of a unit, -1 past its keys: lanes 0-15
  // have the warp's rows of the first, lanes 16-31 of the second, in the order (pass, row % 4).
  // A 32-bit entry is used blocks later, which hides its latency.
  __device__ __forceinline__ int load_entries(int keys, int64_t offset, int b) const {
    const int lane32 = threadIdx.x & 31;
    const int at =
        (b + (lane32 >> 4)) * kBlock + 16 * ((lane32 >> 2) & 3) + (row & ~3) + (lane32 & 3);
    const bool wanted = at < keys;
    const void* indices = args.problem.tensors.indices;
    if (!args.problem.index64) {
      return wanted ? static_cast<const int32_t*>(indices)[offset + at] : -1;
    }
    const int64_t entry = wanted ? static_cast<const int64_t*>(indices)[offset + at] : -1;
    return static_cast<uint64_t>(entry) < args.problem.tensors.slots ? static_cast<int>(entry) : -1;
  }

  // Brings index entries from `first` to `end` into L2, a line a thread.
  __device__ __forceinline__ void prefetch_entries(int64_t first, int64_t end) const {
    const int bytes = args.problem.index64 ? 8 : 4;
    const uint8_t* from = static_cast<const uint8_t*>(args.problem.tensors.indices);
    int64_t at = first * bytes + (threadIdx.x - 256) * 128;
    for (; at < end * bytes; at += 128 * 128) prefetch_l2(from + at);
  }

  __device__ __forceinline__ const uint8_t* row_pointer(int slot) const {
    const Tensors& tensors = args.problem.tensors;
    const uint32_t s = slot < 0 ? 0 : slot;
    const uint32_t page = args.page_size.quotient(s);
    const uint32_t in_page = s - page * tensors.page_size;
    return static_cast<const uint8_t*>(tensors.kv) + page * tensors.kv_page +
           in_page * tensors.kv_row;
  }

  // Starts the copies of a block whose entries begin at lane `first` of this warp.
  __device__ __forceinline__ void issue(int entries, int first) {
    const int stage = step % kStages;
    int slots[kPasses];
#pragma unroll
    for (int k = 0; k < kPasses; ++k) {
      const int entry = __shfl_sync(~0u, entries, first + 4 * k + ((threadIdx.x & 31) >> 3));
      const bool valid = static_cast<uint32_t>(entry) < args.problem.tensors.slots;
      slots[k] = valid ? entry : -1;
    }
    const uint8_t* rows[kPasses];
#pragma unroll
    for (int k = 0; k < kPasses; ++k) rows[k] = row_pointer(slots[k]) + lane * 16;
    const uint32_t to = smem_address(shared.stage(stage)) + row * 128 + ((lane ^ (row & 7)) << 4);
    const uint32_t parity = ((step / kStages) & 1) ^ 1;
    int own = 4 * stage, other = 4 - own;  // first tiles of the halves
    if constexpr (kRopeFirst) {
      wait(shared.rope_empty(stage), parity);
#pragma unroll
      for (int k = 0; k < kPasses; ++k) {
        copy_tiles<1>(rows[k] + 8 * 128, to + k * 2048 + 8 * S::kTile, slots[k] >= 0);
      }
    }
#pragma unroll
    for (int k = 0; k < kPasses; ++k) {
      wait(shared.empty(stage, true, k), parity);
      if constexpr (kByLength) forget(own);
      copy_tiles<4>(rows[k] + own * 128, to + k * 2048 + own * S::kTile, slots[k] >= 0);
    }
    publish_mask(slots, stage);
    arrive_after_copies(shared.full(stage, true));
#pragma unroll
    for (int k = 0; k < kPasses; ++k) {
      wait(shared.empty(stage, false, k), parity);
      if constexpr (kByLength) forget(other);
      copy_tiles<4>(rows[k] + other * 128, to + k * 2048 + other * S::kTile, slots[k] >= 0);
    }
    if constexpr (S::kRope && !kRopeFirst) {
#pragma unroll
      for (int k = 0; k < kPasses; ++k) {
        copy_tiles<1>(rows[k] + 8 * 128, to + k * 2048 + 8 * S::kTile, slots[k] >= 0);
      }
    }
    arrive_after_copies(shared.full(stage, false));
    ++step;
  }

  template <int kTiles>
  __device__ __forceinline__ static void copy_tiles(const uint8_t* from, uint32_t to, bool valid) {
#pragma unroll
    for (int c = 0; c < kTiles; ++c) copy16(to + c * S::kTile, from + c * 128, valid);
  }

  // Byte n of a stage's mask: which of rows 4n ... 4n+3 are keys.
  __device__ __forceinline__ void publish_mask(const int (&slots)[kPasses], int stage) const {
    const int warp = (threadIdx.x - 256) >> 5;
#pragma unroll
    for (int k = 0; k < kPasses; ++k) {
      const uint32_t rows = __ballot_sync(~0u, slots[k] >= 0);
      const uint32_t bits =
          (rows & 1) | ((rows >> 7) & 2) | ((rows >> 14) & 4) | ((rows >> 21) & 8);
      if ((threadIdx.x & 31) == 0) shared.mask(stage)[warp + 4 * k] = static_cast<uint8_t>(bits);
    }
    if ((threadIdx.x & 31) == 0) arrive(shared.full(stage, true));
  }

  // Of two CTAs with the same keys, the second takes each pair of blocks in the other order, so
  // that each reads half of its rows when the other has brought them into L2. The consumers fetch
  // the first unit's Q. For later units a block comes before Q, whose place may still be in use.
  __device__ void run() {
    const Tensors& tensors = args.problem.tensors;
    const Units<Shared<S>, S::kThreads / 32, kByLength> walking{args, shared};
#pragma unroll 1
    for (int token = walking.template start<true>();; walking.next(token)) {
      const Share share = walking.share(token);
      const bool more = share.first < share.last;
      const int keys = more ? keys_of(args, token) : 0, count = unit_blocks(args, share, keys);
      if (more && count == 0) continue;
      int64_t offset = 0;
      const int left = keys - share.first * kBlock;
      int entries = -1, later = -1;
      if (more) {
        offset = token_offset(args, tensors.index_token, token) + share.first * kBlock;
        entries = load_entries(left, offset, 0);
        if constexpr (kKind != Kind::kShort) {
          later = load_entries(left, offset, 2);
          prefetch_entries(offset, offset + min(left, count * kBlock));
        }
      }
      if (units == 0) named_barrier(kSetUp, 160);
      if (!more) return;
#pragma unroll 1
      for (int i = 0; i < count; ++i) {
        const int swap = (i | 1) < count ? tile : 0;
        issue(entries, ((i & 1) ^ swap) * 16);
        if (i == 0 && units > 0) {
          wait(shared.q_empty(), (units & 1) ^ 1);
          copy_q<S, 128>(args, shared, tile, token, threadIdx.x - 256);
          arrive_after_copies(shared.q_full());
        }
        if (kKind != Kind::kShort && (i & 1)) {
          entries = later;
          later = load_entries(left, offset, i + 3);
        }
      }
      ++units;
    }
  }
};

}  // namespace dsakit::sparse
