// Shapes of the HIP plugins' kernels that are too many or too large for a test of every build: run
// on an NVIDIA GPU (hip_kernels_test.cpp), or in the emulator by simt_narrow_shapes_test and
// simt_wide_shapes_test, which takes minutes.
#include "simt/attention_trial.hpp"

namespace dsakit::simt {
namespace {

constexpr const char* kAllLayouts[] = {"bf16_1152",       "bf16_1024",      "fp8_656_g128",
                                       "fp8_528_g128",    "fp8_576_pt",     "fp8_512_pt",
                                       "fp8_576_pt_fnuz", "fp8_512_pt_fnuz"};

// All sizes of a batch, 25 a test, with a kind of cache; the rest goes round with it.
class HipShapes : public testing::TestWithParam<std::tuple<int, int>> {};

TEST_P(HipShapes, EveryNumberOfTokens) {
  constexpr int kHeads[] = {8, 24, 16, 128, 12}, kTopk[] = {13, 64, 133, 40}, kEach = 25;
  const auto [kind, last] = GetParam();
  const Case one{.layout = kAllLayouts[kind],
                 .heads = kHeads[kind % 5],
                 .topk = kTopk[kind % 4],
                 .tokens = last,
                 .page_size = kind % 2 == 0 ? 64 : 1,
                 .head_step = 7,
                 .sink = kind % 6 < 3,
                 .lengths = kind % 4 == 1,
                 .ragged = kind % 4 == 2};
  const auto trial = std::make_unique<Trial>(one);
  for (int tokens = last - kEach + 1; tokens <= last; ++tokens) {
    SCOPED_TRACE(testing::Message() << one << ", of which " << tokens);
    trial->expect_right(tokens, tokens % 3 == 0 ? 304 : 80);
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Up, HipShapes,
                         testing::Combine(testing::Range(0, 8), testing::Range(25, 301, 25)),
                         [](const auto& one) {
                           return std::string(kAllLayouts[std::get<0>(one.param)]) + "_to" +
                                  std::to_string(std::get<1>(one.param));
                         });

class HipModelShapes : public testing::TestWithParam<const char*> {};

TEST_P(HipModelShapes, TopkOf2048) {
  for (const int heads : {16, 128}) {
    const auto trial = std::make_unique<Trial>(Case{.layout = GetParam(),
                                                    .heads = heads,
                                                    .topk = 2048,
                                                    .tokens = 4,
                                                    .head_step = 5,
                                                    .sink = true});
    for (const int units : {304, 80}) trial->expect_right(4, units);
  }
}

INSTANTIATE_TEST_SUITE_P(All, HipModelShapes, testing::ValuesIn(kAllLayouts),
                         [](const auto& one) { return std::string(one.param); });

}  // namespace
}  // namespace dsakit::simt
