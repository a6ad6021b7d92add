// The vector kernels of the cpu plugin, chosen at run time for the processor at hand. They work on
// one token, one block of heads and one list of keys at a time; scheduling, lists and memory are
// attention.cpp's.
//
// Data: keys are dequantised into an fp32 tile [kKeyBlock, tile_stride]; queries are packed
// transposed, heads contiguous, in panels; logits and probabilities are [key, heads_pad];
// accumulators are [head, d_v]. Exponents are to base 2: queries are packed times sm_scale *
// log2(e).
//
// Invariants: no allocation; results depend only on the arguments, never on the thread. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dsakit/kv_layout.hpp"

namespace dsakit::cpu {

inline constexpr int kKeyBlock = 128;
// Heads in a panel of packed queries, at most; heads_pad is a multiple of kHeadsMultiple.
inline constexpr int kPanelHeads = 64;
inline constexpr int kHeadsMultiple = 16;

enum class Float : std::uint8_t { bf16, fp16, fp32 };

// Where the bytes of a key are. `scale` is its first group scale or the cache's scale; may be null.
struct KeyRow {
  const std::byte* data;
  const std::byte* scale;
};

// A softmax in progress: sum_k 2^(x_k - max), and the values weighted alike.
struct Partial {
  float* values;  // [heads, d_v]
  float* max;     // [heads_pad]
  float* sum;     // [heads_pad]
};

// Memory of one thread. Everything is aligned to 64 bytes.
struct Scratch {
  float* query;   // packed queries of the head block, [heads_pad, d_qk] floats
  float* tile;    // [kKeyBlock, tile_stride]
  float* logits;  // [kKeyBlock, heads_pad]
  float* alpha;   // [heads_pad]
};

struct HeadBlock {
  int heads = 0;
  int heads_pad = 0;
  int d_qk = 0, d_v = 0;
  int tile_stride = 0;  // floats
};

struct QuerySource {
  const std::byte* data;     // first head of the block
  std::int64_t head_stride;  // bytes
  Float type;
  float scale;  // sm_scale * log2(e)
};

struct Kernels {
  void (*pack_query)(const QuerySource& source, const HeadBlock& block, const Scratch& scratch);
  // partial = the result for `count` > 0 keys; up to `ahead` rows behind them are prefetched.
  void (*attend)(const KvLayout& layout, const KeyRow* rows, int count, int ahead,
                 const HeadBlock& block, const Scratch& scratch, const Partial& partial);
  // into = into combined with from; neither is empty.
  void (*fold)(const HeadBlock& block, const Partial& from, const Partial& into);
  // out[i] = values[i] * factor in the given format.
  void (*store)(const float* values, float factor, int count, Float type, std::byte* out);
};

// The best kernels for this processor.
const Kernels& kernels();

}  // namespace dsakit::cpu
