// The attention kernels of the HIP plugins: every layout, dense and ragged lists, splits, sinks,
// short lists, indices that are none, odd sizes.
#include "simt/attention_trial.hpp"

namespace dsakit::simt {
namespace {

constexpr const char* kLayouts[] = {"bf16_1152",       "bf16_1024",      "fp8_656_g128",
                                    "fp8_528_g128",    "fp8_576_pt",     "fp8_512_pt",
                                    "fp8_576_pt_fnuz", "fp8_512_pt_fnuz"};

TEST(HipKernels, OneSplit) {
  for (const char* layout : kLayouts)
    for (const int heads : {8, 16, 24, 64})
      check({.layout = layout, .heads = heads, .topk = 40, .sink = heads > 8});
}

TEST(HipKernels, SplitsAndTheirMerge) {
  for (const char* layout : kLayouts) {
    check({.layout = layout,
           .heads = 16,
           .topk = 133,
           .tokens = 3,
           .compute_units = 40,
           .page_size = 57,
           .sink = true,
           .lengths = true,
           .pow2 = true});
    check({.layout = layout,
           .heads = 128,
           .topk = 48,
           .tokens = 2,
           .compute_units = 30,
           .page_size = 2,
           .lengths = true,
           .wide = true});
  }
}

TEST(HipKernels, EveryNumberOfSplits) {
  for (int splits = 1; splits <= hip::kMaxSplits; ++splits) {
    const Case one{.layout = kLayouts[splits % 8],
                   .heads = 24,
                   .topk = 40 * hip::kBlock - splits % 3,
                   .tokens = 1,
                   .compute_units = splits,
                   .sink = true,
                   .lengths = splits % 5 == 0,
                   .ragged = splits % 5 == 1};
    ASSERT_EQ(plan_of(one).ranges, splits);
    ASSERT_EQ(plan_of(one).cut != hip::Cut::none, splits > 1);
    check(one);
  }
  for (const int units : {2, 3, 7})  // three workgroups of one wave in each
    check({.heads = 8, .topk = 700, .tokens = 1, .compute_units = units, .sink = true});
  EXPECT_EQ(plan_of({.heads = 8, .topk = 1 << 20, .tokens = 1, .compute_units = 1000}).ranges,
            hip::kMaxSplits);
}

// Ranges that hold several tokens, end inside one, or are a piece of one; lists of all lengths.
TEST(HipKernels, RangesAndTokensDoNotMatch) {
  int cut = 0;
  for (const int tokens : {1, 2, 5, 9, 21})
    for (const int units : {1, 4, 7})
      for (const bool lengths : {false, true}) {
        const Case one{.layout = kLayouts[(tokens + units) % 8],
                       .heads = tokens == 9 ? 80 : 16 + tokens % 2,
                       .topk = 170 + tokens,
                       .tokens = tokens,
                       .compute_units = units,
                       .head_step = 5,
                       .sink = true,
                       .lengths = lengths && tokens != 5,
                       .ragged = lengths && tokens == 5};
        cut += plan_of(one).cut != hip::Cut::none ? 1 : 0;
        check(one);
      }
  EXPECT_GT(cut, 10);
}

// All waves have heads, as racecheck needs it.
TEST(HipKernels, MoreTokensThanLanes) {
  const Case one{
      .heads = 64, .topk = 230, .tokens = 70, .compute_units = 9, .head_step = 11, .lengths = true};
  ASSERT_EQ(plan_of(one).cut, hip::Cut::by_length);
  check(one);
}

TEST(HipKernels, TokensAreWholeIfAskedFor) {
  const Case one{.heads = 24, .topk = 300, .tokens = 3, .compute_units = 40, .whole = true};
  ASSERT_EQ(plan_of(one).cut, hip::Cut::none);
  check(one);
}

TEST(HipKernels, RaggedListsWithEmptyRows) {
  for (const char* layout : kLayouts)
    for (const int units : {1, 20})
      check({.layout = layout,
             .heads = 32,
             .topk = 65,
             .tokens = 5,
             .compute_units = units,
             .page_size = 1,
             .sink = true,
             .ragged = true});
}

TEST(HipKernels, OddSizes) {
  for (const int topk : {1, 15, 16, 17, 100})
    for (const int heads : {1, 17, 48, 96})
      check({.heads = heads, .topk = topk, .tokens = 1, .page_size = 61});
}

}  // namespace
}  // namespace dsakit::simt
