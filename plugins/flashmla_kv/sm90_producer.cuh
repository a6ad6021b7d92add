// The producer warps of the Hopper attention kernel over fp8 keys (sm90_attention.cuh): they turn
// index entries into fp16 tiles, block after block.
//
// Eight lanes have a row, and every lane the same place of two rows. Codes are loaded into
// registers half a block ahead: as soon as a lane's codes are converted and stored, it asks for
// those of the next half, so that a stage that falls free is filled from registers. Whole rows are
// asked into L2 two blocks ahead, rope columns are copied one block ahead. A tile holds code *
// scale / 2^unit, rounded to fp16; a warp's unit is 0 unless its largest scale is far from the
// usual (unit_of), and the consumers multiply it back in fp32.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "flashmla_kv/sm90_stage.cuh"

namespace dsakit::sparse::fp8 {

inline constexpr int kRopeInRow = kLatent + 4 * 4;  // bytes before a row's rope columns

// Loads 16 bytes that nobody else in this CTA wants; zeros if not `valid`.
__device__ __forceinline__ uint4 load_once(int64_t from, bool valid) {
  uint4 v = make_uint4(0, 0, 0, 0);
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %5, 0;\n"
      "@p ld.global.nc.L1::no_allocate.L2::128B.v4.b32 {%0, %1, %2, %3}, [%4];\n}\n"
      : "+r"(v.x), "+r"(v.y), "+r"(v.z), "+r"(v.w)
      : "l"(from), "r"(static_cast<int>(valid)));
  return v;
}

__device__ __forceinline__ uint32_t times(uint32_t pair, uint32_t factor) {
  const __half2 product =
      __hmul2(*reinterpret_cast<const __half2*>(&pair), *reinterpret_cast<const __half2*>(&factor));
  return *reinterpret_cast<const uint32_t*>(&product);
}

// Stores 8 e4m3 codes times a pair of equal factors as fp16.
__device__ __forceinline__ void store_codes(uint32_t to, uint32_t low, uint32_t high,
                                            uint32_t factor) {
  uint32_t h[4];
  asm("{\n.reg .b16 a, b;\nmov.b32 {a, b}, %4;\ncvt.rn.f16x2.e4m3x2 %0, a;\n"
      "cvt.rn.f16x2.e4m3x2 %1, b;\nmov.b32 {a, b}, %5;\ncvt.rn.f16x2.e4m3x2 %2, a;\n"
      "cvt.rn.f16x2.e4m3x2 %3, b;\n}\n"
      : "=r"(h[0]), "=r"(h[1]), "=r"(h[2]), "=r"(h[3])
      : "r"(low), "r"(high));
#pragma unroll
  for (int i = 0; i < 4; ++i) h[i] = times(h[i], factor);
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(h[0]), "r"(h[1]),
               "r"(h[2]), "r"(h[3])
               : "memory");
}

// Keeps the compiler from carrying over what it knows about x, in registers that are wanted.
__device__ __forceinline__ void forget(int& x) {
  asm volatile("" : "+r"(x));
}

// The unit of rows whose largest scale has this biased exponent. fp16 holds every code times a
// scale below 2^7, and scales from 2^-11 on keep all their bits.
__device__ __forceinline__ int unit_of(int exponent) {
  constexpr int kLargest = 127 + 6, kSmallest = 127 - 11;
  if ((exponent >= kSmallest && exponent <= kLargest) || exponent == 255) return 0;
  return min(max(exponent - kLargest, -24), 60);
}

// Starts copying a token's Q with kThreads threads; `thread` is this one's number among them.
template <class S, int kThreads>
__device__ __forceinline__ void copy_q(const KernelArgs& args, const Shared<S>& shared, int tile,
                                       int token, int thread) {
  const Tensors& tensors = args.problem.tensors;
  const int lane = thread & 7, row = thread >> 3;
  const uint8_t* q = static_cast<const uint8_t*>(tensors.q) +
                     token_offset(args, tensors.q_token, token) + lane * 16;
  const uint32_t to = smem_address(shared.q()) + row * 128 + ((lane ^ (row & 7)) << 4);
#pragma unroll 1
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

// A place in the order of work: a block of a unit.
struct Cursor {
  int token = 0;    // the unit's
  int block = 0;    // of the unit's share
  int entries = 0;  // of the share, from its first block on; 0: no work is left
};

// Gathers and converts blocks.
template <class S>
struct Producer {
  static constexpr int kStride = 4 * kProducerWarps;  // rows from one of a lane to its next
  static constexpr int kRows = kBlock / kStride;      // rows of a lane
  static constexpr int kRowBytes = kRopeInRow + (S::kRope ? 128 : 0);
  static constexpr int kParts = kProducers / kBlock;  // threads that prefetch a row
  static constexpr uint32_t kLive = 1, kStart = 2;
  const KernelArgs& args;
  const Shared<S> shared;
  const int lane;
  const int chunk;        // this lane's 16 columns of each 128
  const int row;          // its first row
  uint32_t step = 0;      // blocks filled so far
  uint4 codes[kRows][2];  // of the half of a block to fill next: 256 columns
  int64_t rows[kRows];    // addresses of this lane's chunk in its rows
  uint32_t valid = 0;     // bit k: row k is a key
  int entries[kRows];     // of the block after that
  int later = -1;         // row to prefetch, of a block after that
  float2 scales;          // of columns 256 * (chunk % 2) ... of row chunk / 2

  // Eight neighbouring lanes have two rows of different parity, which keeps their stores apart.
  __device__ Producer(const KernelArgs& a, Shared<S> s)
      : args(a),
        shared(s),
        lane(threadIdx.x & 31),
        chunk((lane & 3) | ((lane >> 1) & 4)),
        row(static_cast<int>((threadIdx.x - 256) >> 5) * 4 + ((lane >> 3) & 2) +
            ((lane >> 2) & 1)) {}

  // ---- order of work ----

  // Moves to the first unit with keys at or after cursor.token.
  __device__ __forceinline__ void start_unit(Cursor& cursor) const {
    cursor.block = 0;
#pragma unroll 1
    for (;; ++cursor.token) {
      const Share share = share_of(args, range_of(args), cursor.token);
      cursor.entries = 0;
      if (share.first >= share.last) return;
      cursor.entries = min(keys_of(args, cursor.token), share.last * kBlock) - share.first * kBlock;
      if (cursor.entries > 0) return;
    }
  }
  // Asks for the index entries of the block under the cursor, -1 past the token's keys, and moves
  // on; what that block is.
  __device__ __forceinline__ uint32_t load_entries(Cursor& cursor) {
    const uint32_t what = cursor.entries <= 0 ? 0 : cursor.block == 0 ? kLive | kStart : kLive;
    int64_t offset = 0;
    if (what) {
      offset = token_offset(args, args.problem.tensors.index_token, cursor.token) +
               share_of(args, range_of(args), cursor.token).first * kBlock;
    }
#pragma unroll
    for (int k = 0; k < kRows; ++k) {
      const int at = cursor.block * kBlock + kStride * k + row;
      entries[k] = at < cursor.entries ? load_entry(offset + at) : -1;
    }
    const int at = (cursor.block + 1) * kBlock + (threadIdx.x - 256) / kParts;
    later = at < cursor.entries ? load_entry(offset + at) : -1;
    // A loop, for a branch: narrow entries must not be waited for here.
#pragma unroll 1
    for (int n = wide(); n > 0; --n) {
#pragma unroll
      for (int k = 0; k < kRows; ++k) {
        const int of = cursor.block * kBlock + kStride * k + row;
        if (of < cursor.entries && is_far(offset + of)) entries[k] = -1;
      }
      if (at < cursor.entries && is_far(offset + at)) later = -1;
    }
    if (what && ++cursor.block * kBlock >= cursor.entries) {
      ++cursor.token;
      start_unit(cursor);
    }
    return what;
  }
  __device__ __forceinline__ int load_entry(int64_t at) const {
    return static_cast<const int32_t*>(args.problem.tensors.indices)[at << wide()];
  }
  __device__ __forceinline__ int wide() const {
    return args.problem.index64 ? 1 : 0;
  }
  // Whether a 64-bit entry is beyond 32 bits.
  __device__ __forceinline__ bool is_far(int64_t at) const {
    return static_cast<const int32_t*>(args.problem.tensors.indices)[2 * at + 1] != 0;
  }

  // ---- loads ----

  // The address of a row, or of the pool's first.
  __device__ __forceinline__ int64_t row_address(int entry) const {
    const Tensors& tensors = args.problem.tensors;
    const uint32_t slot =
        static_cast<uint32_t>(entry) < tensors.slots ? static_cast<uint32_t>(entry) : 0;
    const uint32_t page = args.page_size.quotient(slot);
    const uint32_t in_page = slot - page * tensors.page_size;
    return reinterpret_cast<int64_t>(tensors.kv) + page * tensors.kv_page +
           in_page * tensors.kv_row;
  }
  // From entries to rows.
  __device__ __forceinline__ void find_rows() {
    valid = 0;
#pragma unroll
    for (int k = 0; k < kRows; ++k) {
      rows[k] = row_address(entries[k]) + chunk * 16;
      if (static_cast<uint32_t>(entries[k]) < args.problem.tensors.slots) valid |= 1u << k;
    }
  }
  __device__ __forceinline__ bool is_key(int k) const {
    return (valid >> k) & 1;
  }

  __device__ __forceinline__ void load_codes(int k, int half) {
    const int64_t from = rows[k] + half * kHalf;
    codes[k][0] = load_once(from, is_key(k));
    codes[k][1] = load_once(from + 128, is_key(k));
  }
  __device__ __forceinline__ void load_scales() {
    const int k = chunk / 2 % kRows;
    int64_t from = k & 1 ? rows[1] : rows[0];
    if constexpr (kRows == 4) {
      if (k & 2) from = k & 1 ? rows[3] : rows[2];
    }
    from += kLatent + (chunk & 1) * 8 - chunk * 16;
    scales = make_float2(0.0f, 0.0f);
    if (is_key(k)) scales = __ldg(reinterpret_cast<const float2*>(from));
  }
  // Copies of the rope columns, for the CTA's block `block`.
  __device__ __forceinline__ void copy_rope(uint32_t block) const {
    if constexpr (!S::kRope) return;
    const uint32_t to = smem_address(shared.rope(block)) + row * 128 + ((chunk ^ (row & 7)) << 4);
#pragma unroll
    for (int k = 0; k < kRows; ++k) {
      copy16(to + k * kStride * 128, reinterpret_cast<const uint8_t*>(rows[k]) + kRopeInRow,
             is_key(k));
    }
  }
  // Brings a row of a later block into L2, whoever has it there.
  __device__ __forceinline__ void prefetch() const {
    if (static_cast<uint32_t>(later) >= args.problem.tensors.slots) return;
    const auto* from = reinterpret_cast<const uint8_t*>(row_address(later));
    constexpr int kLines = (kRowBytes + 127) / 128;
#pragma unroll
    for (int line = 0; line < kLines; line += kParts) {
      const int at = (line + static_cast<int>(threadIdx.x) % kParts) * 128;
      prefetch_l2(from + min(at, kRowBytes - 1));
    }
  }
  // Divides rope columns that have landed by 2^unit.
  __device__ __forceinline__ void scale_rope(int unit) const {
    if constexpr (!S::kRope) return;
    uint8_t* at = shared.rope(step) + row * 128 + ((chunk ^ (row & 7)) << 4);
    const __nv_bfloat162 factor =
        __float2bfloat162_rn(__uint_as_float(static_cast<uint32_t>(127 - unit) << 23));
    wait_for_copies();
#pragma unroll
    for (int k = 0; k < kRows; ++k) {
      auto* pairs = reinterpret_cast<__nv_bfloat162*>(at + k * kStride * 128);
#pragma unroll
      for (int i = 0; i < 4; ++i) pairs[i] = __hmul2(pairs[i], factor);
    }
  }

  // ---- tiles ----

  // The unit of this warp's rows of the block at hand.
  __device__ __forceinline__ int find_unit() const {
    const uint32_t most =
        max(__float_as_uint(scales.x) & 0x7FFFFFFFu, __float_as_uint(scales.y) & 0x7FFFFFFFu);
    return unit_of(static_cast<int>(__reduce_max_sync(~0u, most) >> 23));
  }

  // Fills half h (0: own) of the stage of the block at hand and asks for the half after it of the
  // rows at hand. `factors` has the scales of columns 256 * (chunk % 2) ... of row chunk / 2.
  __device__ __forceinline__ void fill_half(int h, uint32_t factors) {
    const int stage = step % kStages, half = stage ^ h;
    const uint32_t parity = ((step / kStages) & 1) ^ 1;
    const int quarter = static_cast<int>(uniform(row / 16));  // of the lane's first row
    const uint32_t tile_at = smem_address(shared.stage(stage)) + half * 4 * S::kTile +
                             (chunk >> 2) * S::kTile + row * 128;
    const uint32_t first = tile_at + (((2 * (chunk & 3)) ^ (row & 7)) << 4), second = first ^ 16;
    uint32_t factor[kRows];
#pragma unroll
    for (int k = 0; k < kRows; ++k) {
      const int j = 2 * k + half;  // the lane of these rows that has them
      factor[k] = __shfl_sync(~0u, factors, (lane & 20) | (j & 3) | ((j & 4) << 1));
    }
#pragma unroll
    for (int k = 0; k < kRows; ++k) {
      const uint32_t low = __byte_perm(factor[k], 0, 0x1010),
                     high = __byte_perm(factor[k], 0, 0x3232);
      wait(shared.empty(stage, h == 0, k * (kStride / 16) + quarter), parity);
      const uint32_t at = k * kStride * 128, next = 2 * S::kTile;
      store_codes(first + at, codes[k][0].x, codes[k][0].y, low);
      store_codes(second + at, codes[k][0].z, codes[k][0].w, low);
      store_codes(first + at + next, codes[k][1].x, codes[k][1].y, high);
      store_codes(second + at + next, codes[k][1].z, codes[k][1].w, high);
      load_codes(k, stage ^ 1);
    }
  }
  // Hands a half to the consumers, whose fences show it to their matrix instructions.
  __device__ __forceinline__ void hand_over(uint64_t* full) const {
    __syncwarp();
    if (lane == 0) arrive(full);
  }

  // Byte n of a stage's mask: which of rows 2n and 2n+1 are keys. A warp has 4 neighbouring rows.
  __device__ __forceinline__ void publish_mask(int stage) const {
    int first = row;
    forget(first);
#pragma unroll
    for (int k = 0; k < kRows; ++k) {
      const uint32_t keys = __ballot_sync(~0u, is_key(k));
      const uint32_t bytes =
          (keys & 1) | ((keys >> 3) & 2) | ((keys >> 8) & 0x100) | ((keys >> 11) & 0x200);
      if (lane == 0) {
        *reinterpret_cast<uint16_t*>(shared.mask(stage) + kStride / 2 * k + first / 2) =
            static_cast<uint16_t>(bytes);
      }
    }
  }

  // Copies the Q of the CTA's n-th unit with keys. The consumers fetch the first unit's.
  __device__ __forceinline__ void fetch_q(uint32_t n) const {
    Cursor cursor;
    cursor.token = first_token(args, range_of(args));
#pragma unroll 1
    for (uint32_t i = 0;; ++i, ++cursor.token) {
      start_unit(cursor);
      if (i == n) break;
    }
    wait(shared.q_empty(), (n & 1) ^ 1);
    copy_q<S, kProducers>(args, shared, tile_of(args), cursor.token, threadIdx.x - 256);
    arrive_after_copies(shared.q_full());
  }

  __device__ void run() {
    Cursor cursor;
    cursor.token = first_token(args, range_of(args));
    start_unit(cursor);
    uint32_t now = load_entries(cursor);
    find_rows();
    load_scales();
    prefetch();
    uint32_t next = load_entries(cursor);
#pragma unroll
    for (int k = 0; k < kRows; ++k) load_codes(k, 0);
    copy_rope(0);
    named_barrier(kSetUp, kProducers + 32);
    uint32_t units = 0;
#pragma unroll 1
    while (now) {
      const int stage = step % kStages;
      const int unit = find_unit();
      if (lane == 0) shared.units(step)[(threadIdx.x - 256) >> 5] = static_cast<int8_t>(unit);
      const float back = __uint_as_float((127 - unit) << 23);
      const __half2 pair = __floats2half2_rn(scales.x * back, scales.y * back);
      const uint32_t factors = *reinterpret_cast<const uint32_t*>(&pair);
      fill_half(0, factors);
      publish_mask(stage);
      hand_over(shared.full(stage, true));
      const bool start = now & kStart;
      now = next;
      find_rows();
      load_scales();
      prefetch();
      next = load_entries(cursor);
      fill_half(1, factors);
      if (unit != 0) scale_rope(unit);
      hand_over(shared.full(stage, false));
      if constexpr (S::kRope) arrive_after_copies(shared.full(stage, false));
      ++step;
      if (now) copy_rope(step);
      if (start && units++ > 0) fetch_q(units - 1);
    }
  }
};

}  // namespace dsakit::sparse::fp8
