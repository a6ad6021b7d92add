// The cpu plugin against float64, over the cases that engines meet: layouts, heads, lists, lengths,
// sinks, LSE conventions, second caches, degenerate values.
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include "dsakit/kv_layout.hpp"
#include "plugins_cpu/harness.hpp"
#include "support/part.hpp"

namespace dsakit::conformance {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

Description with(void (*change)(Description&)) {
  Description description;
  change(description);
  return description;
}

std::string family_of(const KvLayout& layout) {
  return layout.name == "v4_584" ? "deepseek_v4" : "deepseek_v32";
}

class Layouts : public testing::TestWithParam<KvLayout> {};

TEST_P(Layouts, MatchTheReference) {
  Description d;
  d.layout = GetParam().name;
  d.model_family = family_of(GetParam());
  d.batch = 3;
  d.heads = 24;
  d.topk = 100;
  run_and_compare(d);
  d.kv_scale = "pow2_fp32";
  d.kv_amplitude = 30.0F;
  d.q_amplitude = 0.1F;
  run_and_compare(d);
  d.kv_amplitude = 1e-5F;
  d.q_amplitude = 100.0F;
  run_and_compare(d);
}

TEST_P(Layouts, PageSizes) {
  Description d;
  d.layout = GetParam().name;
  d.model_family = family_of(GetParam());
  d.heads = 8;
  for (const std::int64_t page_size : {1, 2, 53, 64, 576}) {
    d.page_size = page_size;
    d.pages = 600 / page_size + 1;
    run_and_compare(d);
  }
}

INSTANTIATE_TEST_SUITE_P(Table, Layouts, testing::ValuesIn(attention_layouts()),
                         [](const auto& shown) { return std::string(shown.param.name); });

class Heads : public testing::TestWithParam<int> {};

TEST_P(Heads, AnyNumber) {
  Description d;
  d.heads = GetParam();
  d.batch = 3;
  d.topk = 65;
  run_and_compare(d);
  d.layout = "fp8_656_g128";
  d.batch = 1;
  d.topk = 600;
  run_and_compare(d);
}

// All of them, or a part of them (support/part.hpp).
std::vector<int> every(std::size_t part, const std::vector<int>& all) {
  std::vector<int> some;
  for (std::size_t i = 0; i < all.size(); i += part) some.push_back(all[i]);
  return some;
}

INSTANTIATE_TEST_SUITE_P(Counts, Heads,
                         testing::ValuesIn(every(test::kPart == 1 ? 1 : 4,
                                                 {1,  2,  3,   5,   7,   8,   9,  15, 16,
                                                  17, 24, 31,  32,  33,  48,  63, 64, 65,
                                                  72, 96, 127, 128, 129, 192, 256})));

class Topk : public testing::TestWithParam<int> {};

TEST_P(Topk, AnyWidth) {
  Description d;
  d.topk = GetParam();
  d.batch = 2;
  d.heads = 8;
  d.pages = 40;
  for (const std::int32_t threads : {1, 2}) {
    d.threads = threads;
    run_and_compare(d);
  }
}

INSTANTIATE_TEST_SUITE_P(Widths, Topk,
                         testing::ValuesIn(every(test::kPart == 1 ? 1 : 3,
                                                 {1, 2, 63, 64, 100, 127, 128, 129, 511, 512, 513,
                                                  1024, 1999, 2051})));

TEST(Lists, NestedTokensWithOddStrides) {
  run_and_compare(with([](Description& d) {
    d.nested = true;
    d.batch = 3;
    d.s_q = 2;
    d.heads = 40;
  }));
  run_and_compare(with([](Description& d) {
    d.nested = d.head_axis = true;
    d.batch = 2;
    d.s_q = 4;
    d.phase = "mtp";
  }));
}

TEST(Lists, WideIndicesAndHeadAxisGiveEqualBits) {
  std::vector<std::vector<std::byte>> bits;
  for (int variant = 0; variant < 4; ++variant) {
    Description d;
    d.batch = 5;
    d.wide_indices = (variant & 1) != 0;
    d.head_axis = (variant & 2) != 0;
    Problem problem(d);
    run(problem);
    bits.push_back(problem.output_bytes());
  }
  for (const auto& each : bits) EXPECT_EQ(each, bits[0]);
}

TEST(Lists, Lengths) {
  for (const bool per_batch : {false, true}) {
    Description d;
    d.lengths = true;
    d.length_per_batch = per_batch;
    d.batch = 4;
    d.s_q = 3;
    d.topk = 700;
    d.pages = 100;
    run_and_compare(d);
  }
}

TEST(Lists, Ragged) {
  for (const bool wide : {false, true}) {
    Description d;
    d.ragged = true;
    d.wide_indices = wide;
    d.batch = 7;
    d.topk = 600;
    d.pages = 100;
    run_and_compare(d);
    d.topk2 = 70;
    d.pages2 = 9;
    d.page_size2 = 3;
    run_and_compare(d);
  }
}

TEST(Lists, InvalidEverywhere) {
  for (const double invalid : {0.5, 0.99, 1.0}) {
    Description d;
    d.batch = 5;
    d.topk = 300;
    d.invalid = invalid;
    run_and_compare(d);
    d.only_minus_one = true;
    d.empty_token = 2;
    run_and_compare(d);
  }
}

TEST(Lists, DuplicatesCount) {
  run_and_compare(with([](Description& d) {
    d.pages = 1;
    d.page_size = 3;
    d.topk = 200;
  }));
}

TEST(Lists, FlatCacheAndEmptyPool) {
  run_and_compare(with([](Description& d) {
    d.flat_cache = true;
    d.page_size = 1;
    d.pages = 333;
    d.phase = "prefill";
  }));
  run_and_compare(with([](Description& d) { d.pages = 0; }));
}

TEST(SecondCache, BothLists) {
  for (const char* layout : {"v4_584", "bf16_1152", "fp8_528_g128"}) {
    Description d;
    d.layout = layout;
    d.model_family = "deepseek_v4";
    d.batch = 3;
    d.topk = 128;
    d.topk2 = 512;
    d.page_size = 64;
    d.page_size2 = 2;
    d.pages2 = 50;
    d.sink = true;
    run_and_compare(d);
    d.lengths = true;
    run_and_compare(d);
    d.invalid = 1.0;
    run_and_compare(d);
  }
}

TEST(Conventions, EveryLse) {
  for (const char* base : {"natural", "log2"})
    for (const char* sink : {"excluded", "included"})
      for (const char* empty : {"plus_inf", "minus_large"}) {
        Description d;
        d.lse_base = base;
        d.lse_sink = sink;
        d.lse_empty = empty;
        d.batch = 3;
        d.empty_token = 1;
        d.sink = true;
        run_and_compare(d);
        d.sink = false;
        run_and_compare(d);
      }
}

TEST(Conventions, NoLseNoMax) {
  run_and_compare(with([](Description& d) {
    d.lse_base = "none";
    d.lse = d.max_logits = false;
  }));
  run_and_compare(with([](Description& d) { d.lse = false; }));
}

TEST(Conventions, Sinks) {
  for (const float value : {0.0F, kInf, -kInf, 80.0F, -80.0F, 3e38F}) {
    Description d;
    d.sink = true;
    d.sink_value = value;
    d.batch = 2;
    d.empty_token = 1;
    for (const char* included : {"excluded", "included"}) {
      d.lse_sink = included;
      run_and_compare(d);
    }
  }
}

TEST(Conventions, Dtypes) {
  for (const char* q : {"bf16", "fp16", "fp32"})
    for (const char* out : {"bf16", "fp16", "fp32"}) {
      Description d;
      d.q_dtype = q;
      d.out_dtype = out;
      d.heads = 20;
      run_and_compare(d);
    }
}

TEST(Conventions, Scales) {
  for (const float scale : {0.5F, 1.0F, -0.1F, 1e-9F}) {
    Description d;
    d.sm_scale = scale;
    run_and_compare(d);
  }
  Problem problem(Description{});
  problem.args.sm_scale = 0.0F;
  run(problem);
  const Expected expected = reference_attention(problem.config, problem.args, 0, 1);
  EXPECT_TRUE(compare_out(expected, problem.out.view, kExactOut).pass(kExactOut));
}

TEST(Values, PeakedAndFlat) {
  run_and_compare(with([](Description& d) {
    d.q_amplitude = 20.0F;
    d.topk = 1500;
    d.pages = 120;
  }));
  run_and_compare(with([](Description& d) {
    d.q_amplitude = 1e-4F;
    d.topk = 2048;
    d.pages = 200;
    d.invalid = 0;
  }));
}

// A compact bf16 problem with 32 slots whose 4 tokens select 8 slots each, in order.
std::unique_ptr<Problem> ordered_problem() {
  Description d;
  d.batch = 4;
  d.topk = 8;
  d.pages = 2;
  d.invalid = 0;
  d.odd_strides = false;
  auto problem = std::make_unique<Problem>(d);
  for (std::int32_t i = 0; i < 32; ++i) std::memcpy(problem->indices[0].at(i), &i, 4);
  for (int slot = 0; slot < 32; ++slot) std::memset(problem->pool[0].at(slot * 576), 0x3C, 1152);
  return problem;
}

TEST(Values, NaNReachesOnlyTheTokenThatSelectedIt) {
  const std::unique_ptr<Problem> problem = ordered_problem();
  const std::uint16_t nan = 0x7FC0;
  std::memcpy(problem->pool[0].at(17 * 576 + 575), &nan, 2);
  run(*problem);
  const Expected expected = reference_attention(problem->config, problem->args, 0, 4);
  const Comparison out = compare_out(expected, problem->out.view, kExactOut);
  EXPECT_TRUE(out.pass(kExactOut)) << describe(out);
  EXPECT_TRUE(std::isnan(expected.out[2 * 16 * 512]));
  EXPECT_FALSE(std::isnan(expected.out[3 * 16 * 512]));
  EXPECT_TRUE(compare_lse(expected, problem->lse.view, kExactLse).pass(kExactLse));
  EXPECT_TRUE(compare_max(expected, problem->max_logits.view, kExactMax).pass(kExactMax));
}

TEST(Values, LogitsThatRiseOverTheList) {
  Description d;
  d.topk = 640;
  d.pages = 40;
  d.invalid = 0;
  d.odd_strides = false;
  d.q_dtype = d.out_dtype = "fp32";
  Problem problem(d);
  for (std::int32_t i = 0; i < 640; ++i) std::memcpy(problem.indices[0].at(i), &i, 4);
  for (int slot = 0; slot < 640; ++slot)
    for (int c = 0; c < 576; ++c) {
      // The last element grows along the list and decides the logit.
      const auto bits =
          static_cast<std::uint16_t>(c == 575 ? 0x3F80 + slot / 5 : 0x3E00 + (slot * c) % 128);
      std::memcpy(problem.pool[0].at(slot * 576 + c), &bits, 2);
    }
  for (int head = 0; head < 16; ++head)
    for (int c = 0; c < 576; ++c) {
      const float value = c == 575 ? 100.0F : 0.001F;
      std::memcpy(problem.q.at(head * 576 + c), &value, 4);
    }
  problem.args.sm_scale = 1.0F;
  run(problem);
  const Expected expected = reference_attention(problem.config, problem.args, 0, 1);
  const Comparison out = compare_out(expected, problem.out.view, kExactOut);
  EXPECT_TRUE(out.pass(kExactOut)) << describe(out);
  EXPECT_GT(expected.max_logits[0], 150.0);
}

bool is_nan_code(bool fnuz, int code) {
  return fnuz ? code == 128 : (code & 127) == 127;
}

// Every code in every lane; NaN codes only in slot `nan_slot`.
void write_all_codes(Problem& problem, bool fnuz, int nan_slot) {
  for (int slot = 0; slot < 32; ++slot) {
    const auto index = static_cast<std::int32_t>(slot);
    std::memcpy(problem.indices[0].at(slot), &index, 4);
    std::byte* row = problem.pool[0].at(slot / 16 * problem.pool[0].strides[0] +
                                        slot % 16 * problem.pool[0].strides[1]);
    for (int i = 0; i < 512; ++i) {
      const int code = (slot * 64 + i) & 255;
      row[i] = std::byte(is_nan_code(fnuz, code) && slot != nan_slot ? 8 : code);
    }
    std::memset(row + 512, 0, 64);
    if (fnuz) continue;
    const float scales[4] = {0.001F, 1.0F, 0.037F, 5e-5F};
    std::memcpy(row + 512, scales, 16);
    std::memset(row + 528, 0, 128);
  }
}

TEST(Values, EveryFp8CodeAndNaNCode) {
  for (const bool fnuz : {false, true}) {
    Description d;
    d.layout = fnuz ? "fp8_576_pt_fnuz" : "fp8_656_g128";
    d.topk = 32;
    d.pages = 2;
    d.invalid = 0;
    Problem problem(d);
    for (const int nan_slot : {-1, 9}) {
      write_all_codes(problem, fnuz, nan_slot);
      run(problem);
      const Expected expected = reference_attention(problem.config, problem.args, 0, 1);
      const Comparison out = compare_out(expected, problem.out.view, kExactOut);
      EXPECT_TRUE(out.pass(kExactOut)) << d.layout << " " << describe(out);
      EXPECT_EQ(std::isnan(expected.out[0]), nan_slot >= 0);
    }
  }
}

}  // namespace
}  // namespace dsakit::conformance
