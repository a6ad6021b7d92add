// Every vector target that this processor can run, not only the best one, gives correct results:
// the plugin shares Highway's choice of target with this program.
#include <hwy/highway.h>

#include "plugins_cpu/harness.hpp"

namespace dsakit::conformance {
namespace {

class Targets : public testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override { choose(GetParam()); }
  void TearDown() override { choose(0); }

  static void choose(std::int64_t target) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
};

TEST_P(Targets, MatchTheReference) {
  for (const char* layout : {"bf16_1152", "fp8_656_g128", "fp8_512_pt_fnuz", "v4_584"})
    for (const std::int64_t heads : {1, 2, 3, 6, 8, 12, 16, 24, 40, 64, 72}) {
      Description d;
      d.layout = layout;
      d.model_family = "deepseek_v4";
      d.heads = heads;
      d.topk = 70;
      d.sink = heads > 8;
      run_and_compare(d);
    }
}

TEST_P(Targets, AllDtypes) {
  for (const char* dtype : {"bf16", "fp16", "fp32"}) {
    Description d;
    d.batch = 2;
    d.topk = 600;
    d.q_dtype = d.out_dtype = dtype;
    run_and_compare(d);
  }
}

INSTANTIATE_TEST_SUITE_P(Supported, Targets, testing::ValuesIn(hwy::SupportedAndGeneratedTargets()),
                         [](const auto& shown) {
                           return std::string(hwy::TargetName(shown.param));
                         });

}  // namespace
}  // namespace dsakit::conformance
