// What the kernels of `dsakit bench` are given, as plain numbers; shared by the host and
// bench_kernels.cu. Strides are bytes unless they say otherwise. No CUDA header is needed.
#pragma once

#include <cstdint>

namespace dsakit::cli {

inline constexpr int kBenchThreads = 256;

// q[t, h, :]: normal bf16 values of deviation 1.
struct QueryFill {
  std::uint16_t* to = nullptr;
  std::int64_t tokens = 0, heads = 0, width = 0;
  std::int64_t token_stride = 0, head_stride = 0;  // elements
  std::uint64_t seed = 0;
};

// indices[t, j]: the first `topk` of a fresh random permutation of the rows that token t may
// select.
struct IndexFill {
  std::int32_t* to = nullptr;
  std::int64_t tokens = 0, topk = 0, row_stride = 0;  // elements
  std::int64_t pool = 0;                              // rows that a token selects from
  std::int64_t tokens_per_pool = 0;  // tokens that share a pool of their own; 0: one for all
  std::int64_t shift = 0;     // above 0: token t takes a window of one permutation, at t * shift
  std::uint32_t invalid = 0;  // of 2^32 entries: how many are -1
  std::uint64_t seed = 0;
};

// lengths[t]: topk, or evenly spread over 0 … topk.
struct LengthFill {
  std::int32_t* to = nullptr;
  std::int64_t tokens = 0, topk = 0;
  std::int32_t full = 0;
  std::uint64_t seed = 0;
};

// Every row of a pool is a copy of some row of `samples`, which are packed already. Lengths in
// 4-byte words.
struct RowFill {
  std::uint32_t* to = nullptr;
  const std::uint32_t* samples = nullptr;
  std::int64_t rows = 0, samples_count = 0, row_words = 0;
  std::int64_t rows_per_page = 1, page_stride = 0, row_stride = 0;  // words
  std::uint64_t seed = 0;
};

// Reads a buffer, which evicts what else was in the cache, without a dirty line left behind.
struct BufferRead {
  const void* from = nullptr;
  std::int64_t units = 0;  // of 16 bytes
  void* never = nullptr;   // written to if the bytes are what they are not
};

// Reads rows in the order of a list: the gather ceiling.
struct RowGather {
  const void* pool = nullptr;
  const std::int32_t* rows = nullptr;
  std::int64_t count = 0;
  std::int32_t units = 0;  // of 16 bytes in a row
  void* never = nullptr;
};

}  // namespace dsakit::cli
