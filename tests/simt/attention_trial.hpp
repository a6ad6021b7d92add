// Calls of the HIP plugins' kernels against float64 over the same bytes, wherever launch() runs
// them: NaN in all that no token selected, and in what the kernels must write. All memory that the
// kernels see is of the heap.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "common/cuda/kv_values.hpp"
#include "common/hip/sparse_call.hpp"
#include "kvcache/codec.hpp"
#include "simt/emulated_kernel.hpp"

namespace dsakit::simt {
inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
inline constexpr float kInfinity = std::numeric_limits<float>::infinity();
inline constexpr float kScale = 1.0F / 24;

inline std::string kind_of(const KvLayout& layout) {
  if (layout.element == KvElement::bf16) return "bf16";
  if (layout.scale == KvScale::group_fp32) return "fp8_g128";
  return layout.element == KvElement::e4m3fnuz ? "fp8_pt_fnuz" : "fp8_pt";
}

struct Case {
  const char* layout = "bf16_1152";
  int heads = 16, topk = 64, tokens = 2, compute_units = 1, page_size = 64;
  int head_step = 1;  // every which head is compared
  bool sink = false, lengths = false, ragged = false, pow2 = false, wide = false, whole = false;
};

inline hip::Plan plan_of(const Case& c) {
  return hip::make_plan(c.tokens, c.heads, c.topk, c.compute_units, c.lengths || c.ragged, c.whole);
}

inline std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.layout << " h " << c.heads << " topk " << c.topk << " T " << c.tokens << " units "
             << c.compute_units << " page " << c.page_size << (c.sink ? " sink" : "")
             << (c.lengths ? " lengths" : "") << (c.ragged ? " ragged" : "")
             << (c.whole ? " whole" : "");
}

class Trial {
 public:
  explicit Trial(const Case& c)
      : c_(c), layout_(*find_kv_layout(c.layout)), d_(static_cast<std::size_t>(layout_.d_qk())) {
    pages_ = (kSlots + c.page_size - 1) / c.page_size;
    const std::int64_t page_bytes = layout_.page_bytes(c.page_size);
    bytes_.resize(
        static_cast<std::size_t>(page_bytes * (pages_ + 1)));  // a page that is not the pool's
    pool_ = kvcache::compact_pool(layout_, bytes_.data(), pages_, c.page_size);
    if (layout_.scale == KvScale::tensor_fp32) pool_.tensor_scale = 0.037F;
    fill_pool();
    std::memset(bytes_.data() + page_bytes * pages_, 0xFF, static_cast<std::size_t>(page_bytes));
    draw_lists();
    draw_queries();
    for (std::int64_t slot = 0; slot < pool_.slots(); ++slot) {
      if (!used_[static_cast<std::size_t>(slot)])
        std::memset(kvcache::row_address(pool_, slot).data, 0xFF,
                    static_cast<std::size_t>(layout_.token_bytes));
    }
  }

  // A call of the first `tokens` tokens on `units` compute units.
  void expect_right(int tokens, int units) {
    c_.tokens = tokens;
    c_.compute_units = units;
    run();
    for (int token = 0; token < tokens; ++token)
      for (int head = token % c_.head_step; head < c_.heads; head += c_.head_step)
        ASSERT_NO_FATAL_FAILURE(compare(token, head));
    const std::size_t behind = row(tokens, 0);
    for (std::size_t i = behind * 512; i < out_.size(); ++i) ASSERT_EQ(out_[i], kUntouched);
    for (std::size_t i = behind; i < lse_.size(); ++i) ASSERT_TRUE(std::isnan(lse_[i]));
  }

 private:
  static constexpr int kSlots = 150;
  static constexpr std::uint16_t kUntouched = 0x7FC1;

  struct Result {
    bool empty = false;
    double lse = 0, largest = 0;
    std::vector<double> out;
  };

  std::size_t row(int token, int head) const {
    return static_cast<std::size_t>(token * c_.heads + head);
  }

  // By the kernel that appends, as the codec would have it; read back by the one that dequantises.
  void fill_pool() {
    const auto slots = static_cast<std::size_t>(pool_.slots());
    std::vector<float> values(slots * d_);
    std::normal_distribution<float> normal;
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = normal(random_) * (i % 7 == 3 ? 1.5F : 0.5F);
    std::vector<std::int32_t> list(slots);
    for (std::size_t i = 0; i < slots; ++i) list[i] = static_cast<std::int32_t>(i);
    hip::RowArguments arguments;
    arguments.rows.pool = bytes_.data();
    arguments.rows.pages = pages_;
    arguments.rows.page_size = c_.page_size;
    arguments.rows.page_stride = layout_.page_bytes(c_.page_size);
    arguments.rows.row_stride = layout_.token_bytes;
    arguments.rows.count = static_cast<std::int64_t>(slots);
    arguments.rows.slots = reinterpret_cast<const std::byte*>(list.data());
    arguments.rows.slot_stride = 4;
    arguments.rows.rows = reinterpret_cast<std::byte*>(values.data());
    arguments.rows.rows_fp32 = true;
    arguments.rows.row_bytes = static_cast<std::int64_t>(d_ * 4);
    arguments.rows.elements = static_cast<std::int32_t>(d_);
    arguments.rows.pow2_scales = c_.pow2;
    arguments.kv_scale = &pool_.tensor_scale;
    launch("dsakit_kv_append_" + kind_of(layout_), arguments.rows.count, &arguments);

    std::vector<std::byte> reference(bytes_.size());
    kvcache::Pool other = pool_;
    other.data = reference.data();
    const auto rule = c_.pow2 ? kvcache::ScaleRule::pow2_fp32 : kvcache::ScaleRule::arbitrary_fp32;
    keys_.resize(slots * d_);
    for (std::size_t i = 0; i < slots; ++i) {
      const auto slot = static_cast<std::int64_t>(i);
      kvcache::encode_row(other, slot, rule, std::span(values).subspan(i * d_, d_));
      kvcache::decode_row(other, slot, std::span(keys_).subspan(i * d_, d_));
    }
    EXPECT_TRUE(bytes_ == reference) << "stored rows differ from the codec's";
    launch("dsakit_kv_dequant_" + kind_of(layout_), arguments.rows.count, &arguments);
    EXPECT_EQ(std::memcmp(values.data(), keys_.data(), keys_.size() * 4), 0);
  }

  void draw_lists() {
    const int slots = static_cast<int>(pool_.slots());
    used_.resize(static_cast<std::size_t>(slots));
    chosen_.resize(static_cast<std::size_t>(c_.tokens));
    bounds_ = {0};
    for (int token = 0; token < c_.tokens; ++token) {
      const bool cut = c_.lengths || c_.ragged;
      const int n = !cut ? c_.topk
                    : token % 3 == 1
                        ? 0
                        : static_cast<int>(random_() % static_cast<unsigned>(c_.topk)) + 1;
      lengths_.push_back(n);
      for (int j = 0; j < (c_.ragged ? n : c_.topk); ++j) {
        int entry = static_cast<int>(random_() % static_cast<unsigned>(slots));
        if (!c_.ragged && random_() % 5 == 0)
          entry = random_() % 2 == 0
                      ? -1 - static_cast<int>(random_() % 2) * 1000000
                      : slots + static_cast<int>(random_() % 2 * (random_() % 100000));
        if (j >= n) entry = std::numeric_limits<int>::max();
        list32_.push_back(entry);
        list64_.push_back(entry);
        if (j >= n || entry < 0 || entry >= slots) continue;
        chosen_[static_cast<std::size_t>(token)].push_back(entry);
        used_[static_cast<std::size_t>(entry)] = true;
      }
      bounds_.push_back(static_cast<std::int32_t>(list32_.size()));
    }
    list32_.push_back(0);  // never none
  }

  void draw_queries() {
    std::normal_distribution<float> normal;
    const auto heads = static_cast<std::size_t>(c_.heads);
    const std::size_t rows = row(c_.tokens, 0);
    for (std::size_t i = 0; i < rows * d_; ++i) q_.push_back(cuda::to_bf16(normal(random_)));
    for (std::size_t i = 0; i < heads; ++i) sinks_.push_back(normal(random_) * 3);
    if (heads > 2) sinks_[0] = kInfinity, sinks_[1] = -kInfinity;
    results_.resize(rows);
  }

  void run() {
    const std::size_t rows = results_.size();
    out_.assign(rows * 512, kUntouched);
    lse_.assign(rows, kNan);
    largest_.assign(rows, kNan);
    hip::AttentionArguments arguments;
    arguments.call = call();
    arguments.plan = plan_of(c_);
    const hip::Plan& plan = arguments.plan;
    std::vector<float> workspace(hip::workspace_bytes(c_.heads, c_.compute_units) / 4, kNan);
    if (plan.cut != hip::Cut::none)
      arguments.partials = hip::make_partials(workspace.data(), c_.heads, c_.compute_units);
    launch("dsakit_attention_" + kind_of(layout_) + (d_ > 512 ? "_rope_w" : "_nope_w") +
               std::to_string(plan.waves),
           std::int64_t{plan.ranges} * plan.head_tiles, &arguments);
    if (plan.cut == hip::Cut::none) return;
    const hip::MergeArguments merge{arguments.call, plan, arguments.partials};
    launch("dsakit_merge", std::int64_t{c_.tokens} * c_.heads, &merge);
  }

  hip::Call call() {
    hip::Call call;
    hip::Problem& problem = call.problem;
    hip::Tensors& t = problem.tensors;
    const auto width = static_cast<std::int64_t>(d_) * 2;
    t.tokens_inner = c_.tokens;
    t.q = q_.data();
    t.q_token.inner = c_.heads * width;
    t.q_head = width;
    t.kv = bytes_.data();
    t.kv_page = layout_.page_bytes(c_.page_size);
    t.kv_row = layout_.token_bytes;
    t.page_size = static_cast<std::uint32_t>(c_.page_size);
    t.slots = static_cast<std::uint32_t>(pool_.slots());
    t.indices = c_.wide ? static_cast<const void*>(list64_.data()) : list32_.data();
    t.index_token.inner = c_.topk;
    if (c_.lengths) t.length = lengths_.data();
    if (c_.sink) t.sink = sinks_.data();
    t.out = out_.data();
    t.out_token.inner = std::int64_t{c_.heads} * 1024;
    t.out_head = 1024;
    t.lse = lse_.data();
    t.lse_token.inner = c_.heads;
    t.lse_head = 1;
    t.max_logits = largest_.data();
    t.max_token.inner = c_.heads;
    t.max_head = 1;
    problem.tokens = c_.tokens;
    problem.heads = c_.heads;
    problem.topk = c_.topk;
    problem.rope = d_ > 512;
    problem.index64 = c_.wide;
    problem.lse_empty = kInfinity;
    problem.scale = kScale;
    call.kv_scale = &pool_.tensor_scale;
    call.ragged = c_.ragged;
    if (c_.ragged) call.indptr = bounds_.data();
    return call;
  }

  const Result& result(int token, int head) {
    std::unique_ptr<Result>& known = results_[row(token, head)];
    if (known != nullptr) return *known;
    const std::vector<int>& keys = chosen_[static_cast<std::size_t>(token)];
    std::vector<double> logits;
    double top = -kInfinity;
    for (const int key : keys) {
      double dot = 0;
      for (std::size_t i = 0; i < d_; ++i)
        dot += double{cuda::from_bf16(q_[row(token, head) * d_ + i])} *
               double{keys_[static_cast<std::size_t>(key) * d_ + i]};
      logits.push_back(dot * double{kScale});
      top = std::max(top, logits.back());
    }
    double sum = 0;
    std::vector<double> out(512);
    for (std::size_t k = 0; k < keys.size(); ++k) {
      const double weight = std::exp(logits[k] - top);
      sum += weight;
      for (std::size_t i = 0; i < 512; ++i)
        out[i] += weight * double{keys_[static_cast<std::size_t>(keys[k]) * d_ + i]};
    }
    const double lse = keys.empty() ? double{kInfinity} : top + std::log(sum);
    double factor = keys.empty() ? 0 : 1 / sum;
    if (c_.sink && !keys.empty())
      factor /= 1 + std::exp(double{sinks_[static_cast<std::size_t>(head)]} - lse);
    for (double& value : out) value *= factor;
    known = std::make_unique<Result>(Result{keys.empty(), lse, top, std::move(out)});
    return *known;
  }

  void compare(int token, int head) {
    const Result& wanted = result(token, head);
    const std::size_t at = row(token, head);
    for (std::size_t i = 0; i < 512; ++i) {
      const double value{cuda::from_bf16(out_[at * 512 + i])};  // rounded, of weights that were
      if (std::abs(value - wanted.out[i]) <= 0.008 + std::abs(wanted.out[i]) / 128) continue;
      FAIL() << "token " << token << " head " << head << " column " << i << ": " << value
             << ", wanted " << wanted.out[i];
    }
    if (wanted.empty) {
      ASSERT_EQ(lse_[at], kInfinity);
      ASSERT_EQ(largest_[at], -kInfinity);
    } else {
      ASSERT_NEAR(double{lse_[at]}, wanted.lse, 1e-5);
      ASSERT_NEAR(double{largest_[at]}, wanted.largest, 1e-5);
    }
  }

  Case c_;
  const KvLayout& layout_;
  std::size_t d_;
  std::int64_t pages_;
  std::mt19937 random_{7};
  std::vector<std::byte> bytes_;
  kvcache::Pool pool_;
  std::vector<float> keys_;  // of all slots
  std::vector<bool> used_;
  std::vector<std::vector<int>> chosen_;
  std::vector<std::int32_t> lengths_, bounds_, list32_;
  std::vector<std::int64_t> list64_;
  std::vector<std::uint16_t> q_, out_;
  std::vector<float> sinks_, lse_, largest_;
  std::vector<std::unique_ptr<Result>> results_;  // by row; null where nobody asked yet
};

inline void check(const Case& c) {
  std::ostringstream name;
  name << c;
  SCOPED_TRACE(name.str());
  std::make_unique<Trial>(c)->expect_right(c.tokens, c.compute_units);
}

}  // namespace dsakit::simt
