#include "plugins/cpu/attention.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>

#include "plugins/cpu/key_list.hpp"
#include "plugins/cpu/pool.hpp"

namespace dsakit::cpu {
namespace {

// Heads that one unit of work takes: as many as the second-level cache likes, fewer if threads
// would idle.
constexpr int kMostHeads = 128;
constexpr int kFewestHeads = 64;

constexpr std::uint64_t aligned(std::uint64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}
constexpr std::uint64_t floats(std::uint64_t count) {
  return aligned(count * sizeof(float));
}

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

int padded_heads(int heads) {
  return static_cast<int>(ceil_div(heads, kHeadsMultiple)) * kHeadsMultiple;
}

std::int64_t most_splits(const Plan& plan) {
  return ceil_div(plan.most_keys, kSplitKeys);
}

HeadBlock head_block(const Plan& plan, int first, int heads) {
  HeadBlock block;
  block.heads = std::min(heads, plan.heads - first);
  block.heads_pad = padded_heads(block.heads);
  block.d_qk = plan.d_qk;
  block.d_v = plan.d_v;
  block.tile_stride = plan.d_qk + 16;  // an odd number of cache lines: rows spread over the sets
  return block;
}

HeadBlock largest_block(const Plan& plan) {
  return head_block(plan, 0, kMostHeads);
}

// Hands out aligned pieces of the workspace.
class Carver {
 public:
  explicit Carver(std::byte* at) : at_(at) {}
  float* floats(std::uint64_t count) {
    auto* piece = reinterpret_cast<float*>(at_);
    at_ += cpu::floats(count);
    return piece;
  }
  std::byte* bytes(std::uint64_t count) {
    std::byte* piece = at_;
    at_ += aligned(count);
    return piece;
  }

 private:
  std::byte* at_;
};

std::uint64_t partial_bytes(const HeadBlock& block) {
  const auto pad = static_cast<std::uint64_t>(block.heads_pad);
  return floats(pad * static_cast<std::uint64_t>(block.d_v)) + 2 * floats(pad);
}

Partial carve_partial(Carver& carver, const HeadBlock& block) {
  const auto pad = static_cast<std::uint64_t>(block.heads_pad);
  Partial partial{};
  partial.values = carver.floats(pad * static_cast<std::uint64_t>(block.d_v));
  partial.max = carver.floats(pad);
  partial.sum = carver.floats(pad);
  return partial;
}

std::uint64_t scratch_bytes(const HeadBlock& block) {
  const auto pad = static_cast<std::uint64_t>(block.heads_pad);
  const auto stride = static_cast<std::uint64_t>(block.tile_stride);
  return floats(pad * static_cast<std::uint64_t>(block.d_qk)) + floats(kKeyBlock * stride) +
         floats(kKeyBlock * pad) + floats(pad);
}

Scratch carve_scratch(Carver& carver, const HeadBlock& block) {
  const auto pad = static_cast<std::uint64_t>(block.heads_pad);
  Scratch scratch{};
  scratch.query = carver.floats(pad * static_cast<std::uint64_t>(block.d_qk));
  scratch.tile = carver.floats(kKeyBlock * static_cast<std::uint64_t>(block.tile_stride));
  scratch.logits = carver.floats(kKeyBlock * pad);
  scratch.alpha = carver.floats(pad);
  return scratch;
}

// A thread's own memory: scratch, two partial results, the rows of two splits.
std::uint64_t thread_bytes(const Plan& plan) {
  const HeadBlock block = largest_block(plan);
  return scratch_bytes(block) + 2 * partial_bytes(block) + aligned(2 * kSplitKeys * sizeof(KeyRow));
}

// Memory for a token whose splits are spread: a partial result for each split of each head block,
// their key counts, and a counter a head block. Blocks of kFewestHeads need the most.
std::uint64_t spread_token_bytes(const Plan& plan) {
  const auto blocks = static_cast<std::uint64_t>(ceil_div(plan.heads, kFewestHeads));
  const auto splits = static_cast<std::uint64_t>(most_splits(plan));
  return blocks * (splits * (partial_bytes(head_block(plan, 0, kFewestHeads)) +
                             aligned(sizeof(std::int32_t))) +
                   aligned(sizeof(std::uint32_t)));
}

// One call of run: what all threads see.
struct Call {
  const Plan& plan;
  const sdk::RunView& view;
  const Kernels& kernels;
  std::byte* thread_memory;
  std::byte* spread_memory;
  int block_heads;         // of whole tokens
  int spread_block_heads;  // of spread tokens
  std::int64_t whole_tokens;
  std::int64_t whole_units, spread_units;
  std::atomic<std::int64_t> next_unit{0};

  std::int64_t whole_blocks() const { return ceil_div(plan.heads, block_heads); }
  std::int64_t spread_blocks() const { return ceil_div(plan.heads, spread_block_heads); }
};

QuerySource query_source(const Call& call, std::int64_t token, int first_head) {
  const sdk::RunView& view = call.view;
  return {view.q + view.q_token(token) + first_head * view.q_head, view.q_head, call.plan.q_type,
          view.sm_scale * std::numbers::log2e_v<float>};
}

float load_float(const std::byte* at) {
  float value = 0;
  std::memcpy(&value, at, sizeof(value));
  return value;
}

void store_float(std::byte* at, double value) {
  const auto narrow = static_cast<float>(value);
  std::memcpy(at, &narrow, sizeof(narrow));
}

// Writes the outputs of a head block. `keys` is the number of valid keys.
void finish(const Call& call, std::int64_t token, int first_head, const HeadBlock& block,
            const Partial& partial, std::int64_t keys) {
  const Plan& plan = call.plan;
  const sdk::RunView& view = call.view;
  const bool natural = plan.lse == sdk::LseBase::natural;
  for (int h = 0; h < block.heads; ++h) {
    const std::int64_t head = first_head + h;
    std::byte* out = view.out + view.out_token(token) + head * view.out_head;
    double total = 0.0;
    double lse = static_cast<double>(plan.lse_empty);
    double max = -std::numeric_limits<double>::infinity();
    if (keys > 0) {
      const auto sum = static_cast<double>(partial.sum[h]);
      max = std::isnan(sum) ? sum : static_cast<double>(partial.max[h]);
      total = sum;
      if (view.sink != nullptr) {
        const auto sink = static_cast<double>(load_float(view.sink + head * view.sink_stride));
        total += std::exp2(sink * std::numbers::log2e - max);
      }
      lse =
          (max + std::log2(plan.lse_with_sink ? total : sum)) * (natural ? std::numbers::ln2 : 1.0);
      call.kernels.store(partial.values + static_cast<std::ptrdiff_t>(h) * plan.d_v,
                         static_cast<float>(1.0 / total), plan.d_v, plan.out_type, out);
    } else {
      std::memset(out, 0,
                  static_cast<std::size_t>(plan.d_v) * (plan.out_type == Float::fp32 ? 4 : 2));
    }
    if (view.lse != nullptr)
      store_float(view.lse + view.lse_token(token) + head * view.lse_head, lse);
    if (view.max_logits != nullptr)
      store_float(view.max_logits + view.max_token(token) + head * view.max_head,
                  max * std::numbers::ln2);
  }
}

// All splits of one token and head block, one after the other; the rows of the next are known while
// one is worked on.
void whole_unit(const Call& call, std::int64_t unit, std::byte* memory) {
  const Plan& plan = call.plan;
  const std::int64_t token = unit / call.whole_blocks();
  const int first_head = static_cast<int>(unit % call.whole_blocks()) * call.block_heads;
  const HeadBlock block = head_block(plan, first_head, call.block_heads);
  Carver carver(memory);
  const Scratch scratch = carve_scratch(carver, largest_block(plan));
  const Partial total = carve_partial(carver, largest_block(plan));
  const Partial split = carve_partial(carver, largest_block(plan));
  auto* rows = reinterpret_cast<KeyRow*>(carver.bytes(2 * kSplitKeys * sizeof(KeyRow)));

  const KeyList list = key_list(call.view, token);
  const auto collect = [&](std::int64_t first, KeyRow* to) {
    return collect_rows(*plan.layout, call.view, token, list, first, first + kSplitKeys, to);
  };
  std::int64_t done = 0;
  int keys = collect(0, rows);
  for (std::int64_t next = kSplitKeys; next < list.total() + kSplitKeys; next += kSplitKeys) {
    const int ahead = collect(next, rows + keys);
    if (keys > 0) {
      if (done == 0) call.kernels.pack_query(query_source(call, token, first_head), block, scratch);
      call.kernels.attend(*plan.layout, rows, keys, ahead, block, scratch,
                          done == 0 ? total : split);
      if (done != 0) call.kernels.fold(block, split, total);
      done += keys;
    }
    std::copy(rows + keys, rows + keys + ahead, rows);
    keys = ahead;
  }
  finish(call, token, first_head, block, total, done);
}

// The partial results of one spread token and head block.
struct SpreadBlock {
  std::byte* memory;
  HeadBlock block;

  std::uint64_t split_bytes() const { return partial_bytes(block) + aligned(sizeof(std::int32_t)); }
  std::uint32_t& finished() const { return *reinterpret_cast<std::uint32_t*>(memory); }
  std::int32_t& keys(std::int64_t split) const {
    return *reinterpret_cast<std::int32_t*>(at(split));
  }
  Partial partial(std::int64_t split) const {
    Carver carver(at(split) + aligned(sizeof(std::int32_t)));
    return carve_partial(carver, block);
  }

 private:
  std::byte* at(std::int64_t split) const {
    return memory + aligned(sizeof(std::uint32_t)) +
           static_cast<std::uint64_t>(split) * split_bytes();
  }
};

SpreadBlock spread_block(const Call& call, std::int64_t spread_token, std::int64_t index) {
  const Plan& plan = call.plan;
  const HeadBlock block =
      head_block(plan, static_cast<int>(index) * call.spread_block_heads, call.spread_block_heads);
  const HeadBlock first = head_block(plan, 0, call.spread_block_heads);
  const std::uint64_t stride =
      aligned(sizeof(std::uint32_t)) + static_cast<std::uint64_t>(most_splits(plan)) *
                                           (partial_bytes(first) + aligned(sizeof(std::int32_t)));
  return {call.spread_memory + static_cast<std::uint64_t>(spread_token) * spread_token_bytes(plan) +
              static_cast<std::uint64_t>(index) * stride,
          block};
}

void fold_splits(const Call& call, std::int64_t token, int first_head, const SpreadBlock& spread) {
  std::int64_t keys = 0;
  Partial total{};
  for (std::int64_t split = 0; split < most_splits(call.plan); ++split) {
    if (spread.keys(split) == 0) continue;
    const Partial partial = spread.partial(split);
    if (keys == 0)
      total = partial;
    else
      call.kernels.fold(spread.block, partial, total);
    keys += spread.keys(split);
  }
  finish(call, token, first_head, spread.block, total, keys);
}

// One split of one token and head block; the last of them folds all.
void spread_unit(const Call& call, std::int64_t unit, std::byte* memory) {
  const Plan& plan = call.plan;
  const std::int64_t splits = most_splits(plan);
  const std::int64_t split = unit % splits;
  const std::int64_t index = unit / splits % call.spread_blocks();
  const std::int64_t spread_token = unit / splits / call.spread_blocks();
  const std::int64_t token = call.whole_tokens + spread_token;
  const int first_head = static_cast<int>(index) * call.spread_block_heads;
  const SpreadBlock spread = spread_block(call, spread_token, index);
  Carver carver(memory);
  const Scratch scratch = carve_scratch(carver, largest_block(plan));
  auto* rows = reinterpret_cast<KeyRow*>(carver.bytes(kSplitKeys * sizeof(KeyRow)));

  const KeyList list = key_list(call.view, token);
  const int keys = collect_rows(*plan.layout, call.view, token, list, split * kSplitKeys,
                                (split + 1) * kSplitKeys, rows);
  spread.keys(split) = keys;
  if (keys > 0) {
    call.kernels.pack_query(query_source(call, token, first_head), spread.block, scratch);
    call.kernels.attend(*plan.layout, rows, keys, 0, spread.block, scratch, spread.partial(split));
  }
  const std::atomic_ref<std::uint32_t> finished(spread.finished());
  if (finished.fetch_add(1, std::memory_order_acq_rel) + 1 == static_cast<std::uint32_t>(splits))
    fold_splits(call, token, first_head, spread);
}

void work(void* context, int index) {
  Call& call = *static_cast<Call*>(context);
  std::byte* memory =
      call.thread_memory + static_cast<std::uint64_t>(index) * thread_bytes(call.plan);
  for (;;) {
    const std::int64_t unit = call.next_unit.fetch_add(1, std::memory_order_relaxed);
    if (unit < call.whole_units)
      whole_unit(call, unit, memory);
    else if (unit < call.whole_units + call.spread_units)
      spread_unit(call, unit - call.whole_units, memory);
    else
      return;
  }
}

}  // namespace

std::uint64_t workspace_bytes(const Plan& plan, std::int64_t tokens) {
  if (tokens == 0) return 0;
  const auto threads = static_cast<std::uint64_t>(plan.threads);
  const std::uint64_t spread = std::min(static_cast<std::uint64_t>(tokens), threads - 1);
  return threads * thread_bytes(plan) + spread * spread_token_bytes(plan);
}

void run_attention(const Plan& plan, const sdk::RunView& view, std::byte* workspace) {
  if (view.tokens == 0) return;
  const std::int64_t spread_tokens = view.tokens % plan.threads;
  const std::int64_t splits = most_splits(plan);
  const bool idle = spread_tokens * splits < plan.threads;
  Call call{
      .plan = plan,
      .view = view,
      .kernels = kernels(),
      .thread_memory = workspace,
      .spread_memory = workspace + static_cast<std::uint64_t>(plan.threads) * thread_bytes(plan),
      .block_heads = std::min(plan.heads, kMostHeads),
      .spread_block_heads = std::min(plan.heads, idle ? kFewestHeads : kMostHeads),
      .whole_tokens = view.tokens - spread_tokens,
      .whole_units = 0,
      .spread_units = 0};
  call.whole_units = call.whole_tokens * call.whole_blocks();
  call.spread_units = spread_tokens * call.spread_blocks() * splits;
  for (std::int64_t token = 0; token < spread_tokens; ++token)
    for (std::int64_t index = 0; index < call.spread_blocks(); ++index)
      spread_block(call, token, index).finished() = 0;
  const std::int64_t units = call.whole_units + call.spread_units;
  Pool::shared().run(static_cast<int>(std::min<std::int64_t>(plan.threads, units)), work, &call);
}

}  // namespace dsakit::cpu
