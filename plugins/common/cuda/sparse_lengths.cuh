// Ranges made on the device from the lengths of a call: one warp of a CTA finds the CTA's range,
// and each warp walks it by itself.
//
// With few tokens a range is two whole ones, a long and a short one, if that is even enough. Else
// the line of blocks is cut into equal ranges; there a token has as many blocks as its length asks
// for, but one at least, so that each is somebody's, after kTurn that stand for the cost of a unit.
// Ranges depend on the lengths alone.
#pragma once

#include "common/cuda/sparse_work.cuh"

namespace dsakit::sparse {

inline constexpr int kTurn = 3;
inline constexpr int kCutBlocks = 5;  // cost of a cut in blocks: a turn more, and the merge
inline constexpr int kPaired = 128;   // tokens at most for which pairs are tried
inline constexpr int kMaxPlaces = 2 * kMaxGroups;

// Where a warp is in its range: at `token`, -1 for its end, whose first block is `line`, in blocks
// begin ... end - 1 of the line. With begin < 0 the range is two whole tokens, `end` the second.
struct Walk {
  int token, begin, end, line;
};

__device__ __forceinline__ int line_blocks(const KernelArgs& args, int token) {
  return max((keys_of(args, token) + kBlock - 1) / kBlock, 1);
}

// Gives range g the g-th longest token and the g-th from last of 2 * groups places, if the longest
// pair is hardly longer than a range of `share` blocks would be. All lanes of a warp together;
// `places` has kMaxPlaces numbers of theirs.
__device__ inline bool pair_tokens(const KernelArgs& args, int g, int share, int* places,
                                   Walk& walk) {
  constexpr int kEach = kPaired / 32, kTokens = 1 << 8;
  static_assert(kPaired <= kTokens);
  const int tokens = args.problem.tokens, lane = static_cast<int>(threadIdx.x & 31);
  const int count = 2 * args.plan.groups;
  if (tokens > kPaired || tokens > count) return false;
  int key[kEach], place[kEach];
#pragma unroll
  for (int j = 0; j < kEach; ++j) {
    const int token = j * 32 + lane;
    key[j] = token < tokens ? line_blocks(args, token) * kTokens + token : -1;
    place[j] = 0;
  }
#pragma unroll 1
  for (int from = 0; from < 32; ++from) {
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int other = __shfl_sync(~0u, key[i], from);
#pragma unroll
      for (int j = 0; j < kEach; ++j) place[j] += other > key[j] ? 1 : 0;
    }
  }
#pragma unroll
  for (int j = 0; j < kEach; ++j) {
    if (key[j] >= 0) places[place[j]] = key[j];
  }
  for (int i = tokens + lane; i < count; i += 32) places[i] = -1;
  __syncwarp();
  const auto cost = [&](int i) { return places[i] < 0 ? 0 : places[i] / kTokens + kTurn; };
  const auto token_at = [&](int i) { return places[i] < 0 ? -1 : places[i] % kTokens; };
  int longest = 0;
  for (int i = lane; 2 * i < count; i += 32) longest = max(longest, cost(i) + cost(count - 1 - i));
  if (__reduce_max_sync(~0u, longest) > share + kCutBlocks) return false;
  walk = {token_at(g), -1, token_at(count - 1 - g), 0};
  return true;
}

// Finds range g, where `all` blocks are cut into equal ones; a lane's tokens are `each` from
// lane * each on, and end at block `through` of the line after `before`.
__device__ inline Cut cut_range(const KernelArgs& args, int all, int each, int before, int through,
                                Walk& walk) {
  Cut cut{-1, 0, 0, 0};
  walk.line = all;
  if (walk.begin < all) {
    const int owner = __ffs(static_cast<int>(__ballot_sync(~0u, through > walk.begin))) - 1;
    walk.line = __shfl_sync(~0u, before, owner);
    cut.token = owner * each;
    cut.blocks = line_blocks(args, cut.token);
#pragma unroll 1
    while (walk.line + kTurn + cut.blocks <= walk.begin) {
      walk.line += kTurn + cut.blocks;
      cut.blocks = line_blocks(args, ++cut.token);
    }
  }
  cut.line = walk.line + kTurn;
  walk.token = cut.token;
  return cut;
}

// Goes to the start of range g. All lanes of a warp together, with `places` as above; what the
// merge kernel has to know.
__device__ inline Cut open_range(const KernelArgs& args, int g, int* places, Walk& walk) {
  const int tokens = args.problem.tokens, lane = static_cast<int>(threadIdx.x & 31);
  const int each = (tokens + 31) / 32, from = min(lane * each, tokens);
  const int to = min(from + each, tokens);
  int before = 0, longest = 0;
#pragma unroll 4
  for (int t = from; t < to; ++t) {
    const int blocks = kTurn + line_blocks(args, t);
    before += blocks;
    longest = max(longest, blocks);
  }
  int through = before;
#pragma unroll 1
  for (int i = 1; i < 32; i *= 2) {
    const int other = __shfl_up_sync(~0u, through, i);
    if (lane >= i) through += other;
  }
  before = through - before;
  const int all = __shfl_sync(~0u, through, 31);
  // No token has more partials than the merge kernel takes easily.
  const int share =
      max((all + args.plan.groups - 1) / args.plan.groups, (args.plan.blocks + 15) / 16);
  if (__reduce_max_sync(~0u, longest) <= share + kCutBlocks &&
      pair_tokens(args, g, share, places, walk)) {
    return {-1, 0, 0, share};
  }
  walk.begin = g * share;
  walk.end = min(walk.begin + share, all);
  Cut cut = cut_range(args, all, each, before, through, walk);
  cut.share = share;
  return cut;
}

// Range g's share of the token that `walk` is at; of none if that is past the range.
__device__ __forceinline__ Share share_by_length(const KernelArgs& args, int g, int token,
                                                 const Walk& walk) {
  Share share{0, 0, true, 0};
  if (walk.begin < 0) {
    if (token >= 0) share.last = line_blocks(args, token);
    return share;
  }
  if (walk.line >= walk.end) return share;
  const int blocks = line_blocks(args, token);
  const int line = walk.line + kTurn;
  share.first = max(walk.begin - line, 0);
  share.last = min(walk.end - line, blocks);
  share.whole = share.first == 0 && share.last == blocks;
  share.slot = int64_t{g} * kPartialSlots + (share.first == 0 ? 1 : 0);
  return share;
}

// Moves on after `token`; one lane of the warp.
__device__ __forceinline__ void next_token(const KernelArgs& args, int token, Walk& walk) {
  if (walk.begin < 0) {
    walk.token = walk.end;
    walk.end = -1;
  } else {
    walk.token = token + 1;
    walk.line += kTurn + line_blocks(args, token);
  }
}

}  // namespace dsakit::sparse
