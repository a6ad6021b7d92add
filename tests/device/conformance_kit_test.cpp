// Device test of the conformance kit: its float64 kernel against its float64 reference of the host,
// and GPU plugins that are wrong in one way each.
//
//   conformance_kit_device_test [options of GoogleTest] [folder of the wrong plugins]
//
// Exit status 1 if a case failed; cases are skipped without a GPU.
#include <gtest/gtest.h>

#include <cmath>

#include <fmt/format.h>

#include "dsakit/kv_layout.hpp"
#include "sdk/conformance/cuda_reference.hpp"
#include "sdk/conformance/runner.hpp"
#include "sdk/conformance/staged.hpp"

namespace dsakit::conformance {
namespace {

std::string toy_folder = GPU_TOY_DIR;

// A way to be wrong, the check that refuses it, and the only check that is asked, if not all are.
struct GpuToy {
  const char *way, *refused_by, *only = "";
};

constexpr GpuToy kGpuToys[] = {
    {"right", ""},
    {"waits", "runtime.no_synchronisation"},
    {"default_stream", "runtime.no_synchronisation"},
    {"default_stream", "runtime.capture", "runtime.capture"},
    {"allocates", "runtime.no_allocation"},
    {"allocates", "runtime.capture", "runtime.capture"},
    {"leaks", "runtime.no_device_allocation", "runtime.no_device_allocation"},
    {"stale_length", "runtime.graph"},
    {"int32_offset", "numerics.large_pool"},
    {"nan_leaks", "numerics.nan_unselected"}};

// First, since the judge's child processes open the driver: this process must not have done so.
TEST(GpuToys, AreRefusedByTheCheckNamedForThem) {
  for (const auto& [way, refused_by, only] : kGpuToys) {
    JudgeOptions options;
    options.stop_at_first = true;
    options.check = only;
    const auto report = judge(fmt::format("{}/libdsakit_gpu_toy_{}.so", toy_folder, way), options);
    ASSERT_TRUE(report) << way;
    if (report->lacking_device() > 0) GTEST_SKIP() << "no device";
    const CheckResult* refused = report->refused_by();
    EXPECT_EQ(refused == nullptr ? "" : refused->name, refused_by) << report_text(*report);
  }
}

class Kit : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = GpuDevice::open({kDLCUDA, 0});
    if (!opened) GTEST_SKIP() << opened.error();
    gpu_ = std::move(*opened);
    reference_ = CudaReference::load(*gpu_);
    ASSERT_NE(reference_, nullptr) << gpu_->last_error();
  }

  static void expect_near(const std::vector<double>& want, const std::vector<double>& have) {
    ASSERT_EQ(want.size(), have.size());
    for (std::size_t i = 0; i < want.size(); ++i) {
      if (std::isnan(want[i]) && std::isnan(have[i])) continue;
      if (want[i] == have[i]) continue;
      ASSERT_NEAR(want[i], have[i], 1e-11 * (1 + std::fabs(want[i]))) << i;
    }
  }

  void compare(Description d) {
    d.device = {kDLCUDA, 0};
    SCOPED_TRACE(d.layout + ": " + describe(d));
    Problem problem(d);
    Staged staged(*gpu_, problem);
    ASSERT_TRUE(staged.upload()) << gpu_->last_error();
    const auto have = reference_->attention(problem.config, staged.args());
    ASSERT_TRUE(have) << gpu_->last_error();
    const Expected want = reference_attention(problem.config, problem.args, 0, problem.tokens());
    expect_near(want.out, have->out);
    expect_near(want.lse, have->lse);
    expect_near(want.max_logits, have->max_logits);
  }

  std::unique_ptr<GpuDevice> gpu_;
  std::unique_ptr<CudaReference> reference_;
};

TEST_F(Kit, KernelAndHostReferenceAgreeOnEveryLayout) {
  for (const KvLayout& layout : kKvLayouts) {
    if (!reference_knows(std::string(layout.name).c_str())) continue;
    Description d;
    d.layout = layout.name;
    d.batch = 3;
    d.topk = 133;
    d.lengths = true;
    compare(d);
    d.topk2 = 70;
    d.pages2 = 9;
    d.page_size2 = 7;
    d.sink = true;
    compare(d);
  }
}

TEST_F(Kit, KernelAndHostReferenceAgreeOnConventions) {
  Description d;
  d.batch = 4;
  d.s_q = 2;
  d.nested = d.lengths = d.length_per_batch = d.wide_indices = d.head_axis = true;
  d.sink = true;
  d.lse_base = "log2";
  d.lse_sink = "included";
  d.lse_empty = "minus_large";
  d.empty_token = 3;
  d.base_offset = 16;
  compare(d);
  for (const char* type : {"fp16", "fp32"}) {
    d.q_dtype = type;
    compare(d);
  }
  for (const float sink : {HUGE_VALF, -HUGE_VALF}) {
    d.sink_value = sink;
    compare(d);
  }
  Description ragged;
  ragged.batch = 5;
  ragged.ragged = true;
  compare(ragged);
  ragged.wide_indices = true;
  compare(ragged);
  Description flat;
  flat.page_size = 1;
  flat.pages = 300;
  flat.flat_cache = true;
  compare(flat);
  Description far;
  far.page_gap = (std::int64_t{5} << 30) / 7 / 1152 * 1152;
  compare(far);
}

}  // namespace

void use_toys_of(const char* folder) {
  toy_folder = folder;
}

}  // namespace dsakit::conformance

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc > 1) dsakit::conformance::use_toys_of(argv[1]);
  return RUN_ALL_TESTS();
}
