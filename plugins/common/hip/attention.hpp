// Sparse MLA attention of a part of a token, up to 64 heads, by a workgroup; and of all parts that
// it has, one after another.
//
// A wave has sixteen heads; a block of keys, 32 or 16, is in LDS as rows in bf16, for the scores
// S^T = K * Q^T and for the outputs O^T = V^T * P^T. In this orientation a lane has the scores of
// one head and four keys of sixteen just as the second product wants its weights, so they never
// leave their registers. For V^T a lane takes four neighbouring columns of its keys and turns them
// into operands of four products, so that it ends with sixteen neighbouring columns of its head.
// 8-bit keys are there as the values of their codes, which bf16 holds exactly; scales of groups act
// on scores and on weights, in fp32.
//
// While a block is computed the next one's rows are on their way into registers, and the list
// entries of the block after that. Keys that are not there are a row of zeros with weight 0.
#pragma once

#include "common/hip/keys.hpp"
#include "common/hip/ranges.hpp"

namespace dsakit::hip {

template <class Keys, bool kHasRope, int kWaves>
class Attention {
  // Keys in LDS at a time. One wave has few where products are narrow and LDS is small, so that
  // three of them share a compute unit.
  static constexpr int kBlock = kWideProducts || kWaves > 1 ? 32 : 16, kKeyTiles = kBlock / 16;
  static constexpr int kPlanned = hip::kBlock / kBlock;  // blocks of one of the plan's
  static constexpr int kDims = kLatent + (kHasRope ? kRope : 0);
  static constexpr int kThreads = kWaves * kWave;
  // Pieces of eight elements; a wave loads a row of latent ones at a time.
  static constexpr int kChunks = kLatent / 8, kRopeChunks = kRope / 8;
  static constexpr int kThreadPieces = kBlock * kChunks / kThreads;
  static constexpr int kRopePieces = kBlock * kRopeChunks;
  static constexpr int kThreadRopePieces = kRopePieces < kThreads ? 1 : kRopePieces / kThreads;
  static_assert(kThreadPieces * kThreads == kBlock * kChunks);
  static constexpr int kSteps = kDims / 32, kTiles = kLatent / 16, kSpans = kLatent / 64;
  static constexpr int kScaleGroups = Keys::kGroups > 0 ? Keys::kGroups : 1;
  static constexpr int kScales = kBlock * Keys::kGroups;
  static constexpr int kThreadScales = kScales < kThreads ? 1 : kScales / kThreads;
  // LDS, bytes. The pad spreads the rows over the banks.
  static constexpr int kRowBytes = kDims * 2 + 16;
  static constexpr int kScalesAt = kBlock * kRowBytes;
  static constexpr int kAddressesAt = kScalesAt + kScaleGroups * kBlock * 4;

 public:
  static constexpr int kLdsBytes = kAddressesAt + 2 * kBlock * 8;

  DSAKIT_DEVICE Attention(const AttentionArguments& arguments, Lds lds, int head_tile,
                          const Part& part)
      : a_(arguments), lds_(lds), part_(part) {
    const Problem& problem = arguments.call.problem;
    const Tensors& t = problem.tensors;
    indices_ = t.indices;
    index64_ = problem.index64;
    kv_ = reinterpret_cast<std::uint64_t>(t.kv);
    slots_ = t.slots;
    page_size_ = t.page_size;
    kv_page_ = t.kv_page;
    kv_row_ = t.kv_row;
    thread_ = thread_id();
    column_ = thread_ % 16;
    quad_ = thread_ % kWave / 16;
    const int first_head = (head_tile * kWaves + thread_ / kWave) * kWaveHeads;
    works_ = first_head < problem.heads;
    head_ = first_head + column_;
    const KeyList list = key_list(arguments.call, part.token);
    first_entry_ = list.first;
    keys_ = list.count;
  }

  DSAKIT_DEVICE void run() {
    const int blocks = (keys_ + kBlock - 1) / kBlock;
    const int end = part_.last * kPlanned < blocks ? part_.last * kPlanned : blocks;
    int block = part_.first * kPlanned;
    const float kv_scale = a_.call.kv_scale == nullptr ? 1.0F : *a_.call.kv_scale;
    score_scale_ = a_.call.problem.scale * kv_scale * kLog2e;
    if (block < end) {
      load_queries();
      fetch_entry(block);
      stage_addresses(block);
      fetch_entry(block + 1);
      workgroup_barrier();
      fetch(block);
    }
    for (; block < end; ++block) {
      store();
      stage_addresses(block + 1);
      workgroup_barrier();
      fetch_entry(block + 2);
      if (block + 1 < end) fetch(block + 1);
      if (works_) compute(block);
      workgroup_barrier();
    }
    if (works_) write(kv_scale);
  }

 private:
  DSAKIT_DEVICE void load_queries() {
    const Tensors& t = a_.call.problem.tensors;
    const auto* const row = static_cast<const std::byte*>(t.q) +
                            offset_of(t, t.q_token, part_.token) + head_ * t.q_head;
    DSAKIT_UNROLL
    for (int step = 0; step < kSteps; ++step) {
      queries_[step] = i16x8{};
      if (head_ < a_.call.problem.heads)
        queries_[step] = *reinterpret_cast<const i16x8*>(row + step * 64 + quad_ * 16);
    }
  }

  // The list entry that this thread looks up for a block; -1 for none.
  DSAKIT_DEVICE void fetch_entry(int block) {
    const std::int64_t key = std::int64_t{block} * kBlock + thread_;
    entry_ = -1;
    if (thread_ >= kBlock || key >= keys_) return;
    entry_ = index64_ ? static_cast<const std::int64_t*>(indices_)[first_entry_ + key]
                      : static_cast<const std::int32_t*>(indices_)[first_entry_ + key];
  }

  // The addresses of a block's rows, from the entries that were fetched.
  DSAKIT_DEVICE void stage_addresses(int block) {
    if (thread_ >= kBlock) return;
    auto address = reinterpret_cast<std::uint64_t>(kNoKey);
    if (entry_ >= 0 && entry_ < slots_) {
      const auto slot = static_cast<std::uint32_t>(entry_);
      address = kv_ + static_cast<std::uint64_t>(slot / page_size_ * kv_page_ +
                                                 slot % page_size_ * kv_row_);
    }
    lds_.store(address_at(block, thread_), address);
  }
  DSAKIT_DEVICE static int address_at(int block, int key) {
    return kAddressesAt + (block % 2 * kBlock + key) * 8;
  }
  DSAKIT_DEVICE const std::byte* row_of(int block, int key) const {
    return reinterpret_cast<const std::byte*>(lds_.load<std::uint64_t>(address_at(block, key)));
  }

  // Starts the loads of a block into registers.
  DSAKIT_DEVICE void fetch(int block) {
    DSAKIT_UNROLL
    for (int i = 0; i < kThreadPieces; ++i) {
      const int piece = thread_ + i * kThreads;
      latent_[i] = Keys::load(row_of(block, piece / kChunks), piece % kChunks);
    }
    if (kHasRope && thread_ < kRopePieces) {
      DSAKIT_UNROLL
      for (int i = 0; i < kThreadRopePieces; ++i) {
        const int piece = thread_ + i * kThreads;
        rope_[i] = Keys::load_rope(row_of(block, piece / kRopeChunks), piece % kRopeChunks);
      }
    }
    if constexpr (kScales > 0) {
      if (thread_ >= kScales) return;
      DSAKIT_UNROLL
      for (int i = 0; i < kThreadScales; ++i) {
        const int piece = thread_ + i * kThreads;
        row_scales_[i] = Keys::scale(row_of(block, piece % kBlock), piece / kBlock);
      }
    }
  }

  // Puts the block that was fetched into LDS.
  DSAKIT_DEVICE void store() {
    DSAKIT_UNROLL
    for (int i = 0; i < kThreadPieces; ++i) {
      const int piece = thread_ + i * kThreads;
      lds_.store(piece / kChunks * kRowBytes + piece % kChunks * 16, Keys::bf16(latent_[i]));
    }
    if (kHasRope && thread_ < kRopePieces) {
      DSAKIT_UNROLL
      for (int i = 0; i < kThreadRopePieces; ++i) {
        const int piece = thread_ + i * kThreads;
        lds_.store(piece / kRopeChunks * kRowBytes + kLatent * 2 + piece % kRopeChunks * 16,
                   Keys::rope_bf16(rope_[i]));
      }
    }
    if (kScales > 0 && thread_ < kScales) {
      DSAKIT_UNROLL
      for (int i = 0; i < kThreadScales; ++i)
        lds_.store(kScalesAt + (thread_ + i * kThreads) * 4, row_scales_[i]);
    }
  }
  // The first of this lane's four keys in a tile.
  DSAKIT_DEVICE int key_of(int tile) const { return tile * 16 + quad_ * 4; }
  // Scales of these keys in a group.
  DSAKIT_DEVICE f32x4 scales(int group, int tile) const {
    return lds_.load<f32x4>(kScalesAt + (group * kBlock + key_of(tile)) * 4);
  }

  // Scores of a tile of keys in steps [from, to), added to `sum`.
  DSAKIT_DEVICE f32x4 products(int tile, int from, int to, f32x4 sum) const {
    DSAKIT_UNROLL
    for (int step = from; step < to; ++step) {
      const auto keys =
          lds_.load<i16x8>((tile * 16 + column_) * kRowBytes + step * 64 + quad_ * 16);
      sum = wave_mfma_16x16x32(keys, queries_[step], sum);
    }
    return sum;
  }
  DSAKIT_DEVICE f32x4 scores(int tile) const {
    if constexpr (Keys::kGroups == 0) {
      return products(tile, 0, kSteps, f32x4{});
    } else {
      constexpr int kGroupSteps = kLatent / 32 / Keys::kGroups;
      f32x4 sum = products(tile, kLatent / 32, kSteps, f32x4{});
      DSAKIT_UNROLL
      for (int group = 0; group < Keys::kGroups; ++group)
        sum += products(tile, group * kGroupSteps, (group + 1) * kGroupSteps, f32x4{}) *
               scales(group, tile);
      return sum;
    }
  }

  DSAKIT_DEVICE void compute(int block) {
    f32x4 logits[kKeyTiles];
    float top = largest_;
    DSAKIT_UNROLL
    for (int tile = 0; tile < kKeyTiles; ++tile) {
      logits[tile] = scores(tile) * score_scale_;
      DSAKIT_UNROLL
      for (int r = 0; r < 4; ++r) {
        const bool there = row_of(block, key_of(tile) + r) != kNoKey;
        seen_ |= there;
        if (!there) logits[tile][r] = -kInfinity;
        top = logits[tile][r] > top ? logits[tile][r] : top;
      }
    }
    DSAKIT_UNROLL
    for (int mask = 16; mask < kWave; mask *= 2) {
      const float other = wave_xor(top, mask);
      top = other > top ? other : top;
    }
    const float base = top == -kInfinity ? 0.0F : top;
    const float shrink = exp2_of(largest_ - base);
    largest_ = top;
    sum_ *= shrink;
    DSAKIT_UNROLL
    for (int tile = 0; tile < kKeyTiles; ++tile) {
      DSAKIT_UNROLL
      for (int r = 0; r < 4; ++r) {
        logits[tile][r] = exp2_of(logits[tile][r] - base);
        sum_ += logits[tile][r];
      }
    }
    if (wave_any(shrink != 1.0F)) {
      DSAKIT_UNROLL
      for (int i = 0; i < kTiles; ++i) outputs_[i] *= shrink;
    }
    add_values(logits);
  }

  DSAKIT_DEVICE void add_values(const f32x4 (&weights)[kKeyTiles]) {
    constexpr int kGroupSpans = kSpans / kScaleGroups;
    DSAKIT_UNROLL
    for (int group = 0; group < kScaleGroups; ++group) {
      i16x4 operands[kKeyTiles];
      DSAKIT_UNROLL
      for (int tile = 0; tile < kKeyTiles; ++tile) {
        f32x4 scaled = weights[tile];
        if constexpr (Keys::kGroups > 0) scaled *= scales(group, tile);
        DSAKIT_UNROLL
        for (int r = 0; r < 4; ++r)
          operands[tile][r] = static_cast<std::int16_t>(cuda::to_bf16(scaled[r]));
      }
      DSAKIT_UNROLL
      for (int span = group * kGroupSpans; span < (group + 1) * kGroupSpans; ++span)
        add_span(span, operands);
    }
  }

  // 64 columns: lane c of sixteen has columns 4c to 4c + 3 of its keys, and the m-th product is
  // over each lane's m-th column. With two tiles a product's keys are in the order of the lanes:
  // four of the first tile, four of the second.
  DSAKIT_DEVICE void add_span(int span, const i16x4 (&weights)[kKeyTiles]) {
    i16x4 keys[kKeyTiles][4];
    DSAKIT_UNROLL
    for (int tile = 0; tile < kKeyTiles; ++tile) {
      DSAKIT_UNROLL
      for (int j = 0; j < 4; ++j)
        keys[tile][j] = lds_.load<i16x4>((key_of(tile) + j) * kRowBytes + span * 128 + column_ * 8);
    }
    DSAKIT_UNROLL
    for (int m = 0; m < 4; ++m) {
      i16x4 values[kKeyTiles];
      DSAKIT_UNROLL
      for (int tile = 0; tile < kKeyTiles; ++tile)
        values[tile] =
            i16x4{keys[tile][0][m], keys[tile][1][m], keys[tile][2][m], keys[tile][3][m]};
      f32x4& sum = outputs_[span * 4 + m];
      if constexpr (kKeyTiles == 1) {
        sum = wave_mfma_16x16x16(values[0], weights[0], sum);
      } else {
        sum = wave_mfma_16x16x32(joined(values[0], values[1]), joined(weights[0], weights[1]), sum);
      }
    }
  }

  // Sixteen columns of this lane's head in each span, four at a time.
  DSAKIT_DEVICE int column_of(int span, int r) const { return span * 64 + quad_ * 16 + r * 4; }
  DSAKIT_DEVICE f32x4 columns(int span, int r) const {
    return f32x4{outputs_[span * 4][r], outputs_[span * 4 + 1][r], outputs_[span * 4 + 2][r],
                 outputs_[span * 4 + 3][r]};
  }

  DSAKIT_DEVICE void write(float kv_scale) {
    float sum = sum_, seen = seen_ ? 1.0F : 0.0F;
    DSAKIT_UNROLL
    for (int mask = 16; mask < kWave; mask *= 2) {
      sum += wave_xor(sum, mask);
      seen += wave_xor(seen, mask);
    }
    const AttentionArguments& a = argument_again(a_);
    const Problem& problem = a.call.problem;
    if (head_ >= problem.heads) return;
    Summary summary;
    summary.seen = seen > 0.0F;
    summary.largest = largest_;
    const float base = largest_ == -kInfinity ? 0.0F : largest_;
    if (summary.seen) summary.lse = base + log2_of(sum);
    float factor = summary.seen ? kv_scale / sum : 0.0F;
    if (part_.slot >= 0) return write_partial(a, summary, factor);
    const float sink = sink_of(problem.tensors, head_);
    factor *= sink_factor(summary.lse, sink);
    DSAKIT_UNROLL
    for (int i = 0; i < kTiles; ++i) {
      const f32x4 value = summary.seen ? columns(i / 4, i % 4) * factor : f32x4{};
      write_out(problem, part_.token, head_, column_of(i / 4, i % 4), value);
    }
    if (quad_ == 0) write_summary(problem, part_.token, head_, summary, sink);
  }

  DSAKIT_DEVICE void write_partial(const AttentionArguments& a, const Summary& summary,
                                   float factor) {
    const std::int64_t row = std::int64_t{part_.slot} * a.call.problem.heads + head_;
    if (summary.seen) {
      DSAKIT_UNROLL
      for (int i = 0; i < kTiles; ++i)
        *reinterpret_cast<f32x4*>(a.partials.out + row * kLatent + column_of(i / 4, i % 4)) =
            columns(i / 4, i % 4) * factor;
    }
    if (quad_ != 0) return;
    a.partials.lse[row] = summary.lse;
    a.partials.largest[row] = summary.largest;
  }

  const AttentionArguments& a_;
  const Lds lds_;
  const Part part_;
  const void* indices_;
  bool index64_;
  std::uint64_t kv_;
  std::uint32_t slots_, page_size_;
  std::int64_t kv_page_, kv_row_;
  int thread_, column_, quad_, head_, keys_;
  bool works_, seen_ = false;
  std::int64_t first_entry_, entry_ = -1;
  float score_scale_ = 0.0F;
  float largest_ = -kInfinity, sum_ = 0.0F;
  typename Keys::Raw latent_[kThreadPieces];
  typename Keys::RopeRaw rope_[kThreadRopePieces];
  float row_scales_[kThreadScales] = {};
  i16x8 queries_[kSteps];
  f32x4 outputs_[kTiles] = {};
};

// All parts of this workgroup.
template <class Body>
DSAKIT_DEVICE void attend(const AttentionArguments& arguments, Lds lds) {
  const auto ranges = static_cast<std::uint32_t>(arguments.plan.ranges);
  const auto range = static_cast<std::int32_t>(workgroup_id() % ranges);
  const auto tile = static_cast<int>(workgroup_id() / ranges);
  Range walk(arguments, range, tile == 0 && thread_id() == 0);
  Part part;
  while (walk.next(argument_again(arguments), part)) {
    Body(argument_again(arguments), lds, tile, part).run();
  }
}

}  // namespace dsakit::hip
