// Shapes of the HIP plugins' kernels that are too many or too large for a test of every build: run
// on an NVIDIA GPU (hip_kernels_test.cpp), or in the emulator by simt_narrow_shapes_test and
// simt_wide_shapes_test, which takes minutes.
#include "simt/attention_trial.hpp"

namespace dsakit::simt {
namespace {

constexpr const char* kAllLayouts[] = {"bf16_1152",       "bf16_1024",      "fp8_656_g128",
                                       "fp8_528_g128",    "fp8_576_pt",     "fp8_512_pt",
                                       "fp8_576_pt_fnuz", "fp8_512_pt_fnuz"};

// All sizes of a batch, fifty a test; the other sizes go round with them.
class HipShapes : public testing::TestWithParam<int> {};

TEST_P(HipShapes, EveryNumberOfTokens) {
  constexpr int kHeads[] = {8, 16, 24, 64, 128}, kTopk[] = {17, 64, 133, 40};
  for (int tokens = GetParam() - 49; tokens <= GetParam(); ++tokens) {
    check({.layout = kAllLayouts[tokens % 8],
           .heads = kHeads[tokens % 5],
           .topk = kTopk[tokens % 4],
           .tokens = tokens,
           .compute_units = tokens % 3 == 0 ? 304 : 80,
           .page_size = tokens % 2 == 0 ? 64 : 1,
           .head_step = 7,
           .sink = tokens % 6 < 3,
           .lengths = tokens % 4 == 1,
           .ragged = tokens % 4 == 2});
    if (testing::Test::HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Up, HipShapes, testing::Range(50, 301, 50),
                         [](const auto& one) { return "to" + std::to_string(one.param); });

TEST(HipModelShapes, TopkOf2048) {
  for (const char* layout : kAllLayouts)
    for (const int heads : {16, 128})
      check({.layout = layout,
             .heads = heads,
             .topk = 2048,
             .tokens = 4,
             .compute_units = 304,
             .head_step = 5,
             .sink = true});
}

}  // namespace
}  // namespace dsakit::simt
