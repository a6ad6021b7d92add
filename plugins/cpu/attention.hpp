// Schedules attention over threads: which thread works on which token, head block and split of the
// key list, in which part of the workspace.
//
// A token's list is cut every kSplitKeys entries, whatever the batch and the threads are; the
// splits are folded in order. So a token's bits depend on its own inputs alone. Tokens that fill
// all threads evenly are each done by one thread; the splits of the rest are spread over the
// threads, and the last to finish folds them.
//
// Invariants: no allocation; the only shared state is the caller's workspace. Any thread, one call
// a workspace.
#pragma once

#include <cstddef>
#include <cstdint>

#include "plugins/cpu/kernels.hpp"
#include "sdk/config.hpp"
#include "sdk/run_view.hpp"

namespace dsakit::cpu {

inline constexpr int kSplitKeys = 512;
inline constexpr std::uint64_t kAlignment = 64;

// What an instance fixes.
struct Plan {
  const KvLayout* layout = nullptr;
  int heads = 0, d_qk = 0, d_v = 0;
  std::int64_t most_keys = 0;  // of a token, both caches
  int threads = 1;
  Float q_type = Float::bf16, out_type = Float::bf16;
  sdk::LseBase lse = sdk::LseBase::natural;
  bool lse_with_sink = false;
  float lse_empty = 0.0F;
};

// Bytes for runs of up to `tokens` tokens.
std::uint64_t workspace_bytes(const Plan& plan, std::int64_t tokens);

// `workspace` has workspace_bytes(plan, view.tokens) bytes, aligned to kAlignment.
void run_attention(const Plan& plan, const sdk::RunView& view, std::byte* workspace);

}  // namespace dsakit::cpu
