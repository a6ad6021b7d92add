// How the work of one call is divided: plain data for host and device code.
//
// The keys of a token are cut into blocks; the blocks of all tokens form one line, and each CTA
// takes one contiguous range of it for 64 heads (with more heads, two neighbouring CTAs share a
// range). A range that covers only part of a token writes a partial result, two at most, and a
// second kernel merges the partials of each token in order. The ranges depend on shapes alone, or,
// where an attention kernel can do that, also on the lengths, and are then cut on the device.
#pragma once

#include <cstdint>

#include "common/cuda/host_device.hpp"
#include "common/cuda/sparse_call.hpp"

namespace dsakit::sparse {

using cuda::Problem;
using cuda::Tensors;
using cuda::TokenAxis;

inline constexpr int kLatent = 512;      // dimensions of V, and of K without the rope part
inline constexpr int kHalf = 256;        // of them, those that one warpgroup owns
inline constexpr int kMaxHeads = 128;    // query heads
inline constexpr int kMaxGroups = 192;   // ranges of one launch; the merge kernel counts on it
inline constexpr int kBlock = 64;        // keys of a block
inline constexpr int kPartialSlots = 2;  // partials that one group may write

// Result of planning: depends on the shapes alone.
struct Plan {
  int32_t head_tiles = 1;  // tiles of 64 heads
  int32_t blocks = 0;      // blocks a token
  int32_t groups = 0;      // ranges; each has head_tiles CTAs
  int32_t grain = 1;       // ranges start at multiples of it
  int32_t share = 0;       // grains of a range; the first `longer` ranges have one more
  int32_t longer = 0;
  bool merge = false;  // whether a range may end inside a token
  int32_t most = 0;    // groups that run at once
  bool fixed = false;  // whether a token's bits must not depend on the rest of the call
};

// The plan without cut tokens, whatever the call.
inline Plan whole_tokens(Plan plan, int32_t tokens) {
  plan.fixed = true;
  plan.merge = false;
  plan.groups = tokens < plan.most ? tokens : plan.most;
  plan.grain = plan.blocks;
  if (plan.groups > 0) {
    plan.share = tokens / plan.groups;
    plan.longer = tokens % plan.groups;
  }
  return plan;
}

// First block of range g on the line of tokens * blocks.
DSAKIT_HOST_DEVICE inline int32_t range_start(const Plan& plan, int32_t g) {
  return (g * plan.share + (g < plan.longer ? g : plan.longer)) * plan.grain;
}

// Range that holds block x of the line.
DSAKIT_HOST_DEVICE inline int32_t range_of(const Plan& plan, int32_t x) {
  const int32_t grain = x / plan.grain, in_longer = plan.longer * (plan.share + 1);
  return grain < in_longer ? grain / (plan.share + 1)
                           : plan.longer + (grain - in_longer) / plan.share;
}

}  // namespace dsakit::sparse
