// How the work of a call is divided among workgroups. Plain data and arithmetic for the host, the
// device and the emulator.
//
// A workgroup has up to 64 heads of whole tokens, or of one range of a line: the blocks of all
// tokens one after another, kTurn places behind each that stand for the cost of a token. With as
// many ranges as workgroups run at once, all have equally much to do and nothing is left over for
// a second round. The first and the last token of a range may be parts, which become partials
// (sparse_call.hpp); the merge kernel adds up those of a token in order. Where lists may be short
// the line is as the lengths are, and each workgroup finds its range by itself. Everything depends
// on shapes and lengths alone.
#pragma once

#include <cstdint>

namespace dsakit::hip {

inline constexpr int kMaxHeads = 128;
inline constexpr int kWaveHeads = 16;
inline constexpr int kMaxWaves = 4;         // of a workgroup; else 1
inline constexpr int kBlock = 32;           // keys of a block
inline constexpr int kMaxSplits = 32;       // ranges that a token with all of its keys is cut into
inline constexpr int kTurn = 2;             // in blocks: a token's lists, queries and results
inline constexpr int kMergeCost = 4;        // in blocks: writing and merging partials
inline constexpr int kMaxCutTokens = 2048;  // tokens that a workgroup may walk
inline constexpr int kRounds = 8;           // of whole tokens, which are even enough
inline constexpr int kRangeSlots = 2;       // partials of a range

enum class Cut : int32_t { none, even, by_length };

struct Plan {
  int32_t waves = 1;       // of a workgroup: 1 or kMaxWaves
  int32_t head_tiles = 1;  // workgroups that share a token's heads
  int32_t ranges = 0;      // with Cut::none tokens, else the most ranges
  int32_t blocks = 1;      // of a token with all of its keys
  Cut cut = Cut::none;
};

// Of a workgroup.
constexpr int waves_of(int heads) {
  return heads > kWaveHeads ? kMaxWaves : 1;
}

// Workgroups that run in a compute unit at once: LDS has room for three of one wave, registers for
// one of four.
constexpr int workgroups_of_unit(int heads) {
  return heads > kWaveHeads ? 1 : 3;
}

// Workgroups that share a token's heads.
constexpr int tiles_of(int heads) {
  return (heads + kWaveHeads * kMaxWaves - 1) / (kWaveHeads * kMaxWaves);
}

// Ranges that run at once.
constexpr int places(int heads, int compute_units) {
  const int at_once = compute_units * workgroups_of_unit(heads) / tiles_of(heads);
  return at_once < 1 ? 1 : at_once;
}

// Blocks of a token with `keys` keys; one without any has a block, too, so that it is somebody's.
constexpr int32_t blocks_of(int32_t keys) {
  return keys > kBlock ? (keys - 1) / kBlock + 1 : 1;
}

// Of a line of tokens that all have plan.blocks blocks: its length, and where a token begins.
constexpr int32_t even_line(const Plan& plan, int32_t token) {
  return token * (plan.blocks + kTurn);
}
constexpr int32_t even_length(const Plan& plan, int32_t tokens) {
  return even_line(plan, tokens) - kTurn;
}

// A line of `length` blocks as it is cut.
struct Ranges {
  int64_t length = 0;
  int32_t count = 0;

  constexpr Ranges(const Plan& plan, int32_t line) : length(line), count(plan.ranges) {
    const int64_t most = length * kMaxSplits / plan.blocks;
    if (count > most) count = static_cast<int32_t>(most);
    if (count > length) count = line;
    if (count < 1) count = 1;
  }
  // The first block of range g, and the range that has block x.
  constexpr int32_t start(int32_t g) const { return static_cast<int32_t>(length * g / count); }
  constexpr int32_t of(int32_t x) const {
    return static_cast<int32_t>(((int64_t{x} + 1) * count - 1) / length);
  }
};

// The plan for `tokens` tokens on `compute_units` compute units. `short_lists`: a token may have
// fewer keys than topk. `whole`: no token may be cut.
constexpr Plan make_plan(int64_t tokens, int heads, int topk, int compute_units, bool short_lists,
                         bool whole) {
  Plan plan;
  plan.waves = waves_of(heads);
  plan.head_tiles = tiles_of(heads);
  plan.blocks = blocks_of(topk);
  plan.ranges = static_cast<int32_t>(tokens);
  const int at_once = places(heads, compute_units);
  if (whole || tokens < 1 || tokens > kMaxCutTokens || tokens > int64_t{kRounds} * at_once)
    return plan;
  const int64_t rounds = (tokens + at_once - 1) / at_once;
  const int64_t longest = rounds * (plan.blocks + kTurn) - kTurn;
  Plan cut = plan;
  cut.ranges = at_once;
  const Ranges ranges(cut, even_length(plan, static_cast<int32_t>(tokens)));
  cut.ranges = ranges.count;
  cut.cut = short_lists ? Cut::by_length : Cut::even;
  const int64_t share = short_lists ? 1 : (ranges.length + ranges.count - 1) / ranges.count;
  return ranges.count == 1 || longest <= share + kMergeCost ? plan : cut;
}

}  // namespace dsakit::hip
