// Reports as evidence records: only what ran and passed is claimed, on the device that it ran on.
#include "sdk/conformance/evidence.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "manifest/schema.hpp"

namespace dsakit::conformance {
namespace {

const DetectedDevice kCpu{.device = "cpu",
                          .platform = "cpu",
                          .ordinal = 0,
                          .name = "Intel(R) Xeon(R) CPU @ 2.80GHz",
                          .memory_bytes = 0,
                          .driver = "",
                          .runtime_cuda = "",
                          .runtime_hip = ""};
const DetectedDevice kGpu{.device = "sm_90",
                          .platform = "cuda",
                          .ordinal = 0,
                          .name = "NVIDIA H200",
                          .memory_bytes = 0,
                          .driver = "580.65",
                          .runtime_cuda = "13.0",
                          .runtime_hip = ""};

Report report(const char* sources, const char* sanitizer = "") {
  std::string text = R"({"schema":1,"id":"alpha","version":[1,0,0],"abi":{"min":1,"max":1},
    "rows":[{"name":"host","where":{"platform":["cpu"],"arch":["cpu"]},"provides":{"kv_layout":"l"}},
            {"name":"device","where":{"platform":["cuda"],"arch":["sm_90a"]},"provides":{"kv_layout":"l"}}],
    "build":{"toolkit":"GNU 12.2.0","targets":["cpu","sm_90a"],"sources":"S","sanitizer":"T"}})";
  text.replace(text.find("\"S\"") + 1, 1, sources);
  text.replace(text.find("\"T\"") + 1, 1, sanitizer);
  Report out;
  out.id = "alpha";
  out.manifest = std::make_shared<const Manifest>(parse_manifest(text, "f")->manifest);
  out.results = {{"static.lint", "", 0, Result::pass, "", false, 3},
                 {"negative.null", "device", 2, Result::pass, "", false, 5},
                 {"truth.accepts", "host", 3, Result::pass, "", false, 7},
                 {"numerics.basic",
                  "host",
                  4,
                  Result::pass,
                  "",
                  false,
                  11,
                  0,
                  {64, 3e-4, 1e-3, 0.5},
                  {8, 1e-7, 1e-7, 0.1}},
                 {"numerics.lse",
                  "host",
                  4,
                  Result::pass,
                  "",
                  false,
                  1,
                  0,
                  {64, 1e-4, 2e-3, 0.75},
                  {8, 2e-7, 1e-7, 0.2}},
                 {"numerics.ragged", "host", 4, Result::skip, "no case", false, 0},
                 {"numerics.basic", "device", 4, Result::skip, "no device", true, 0}};
  return out;
}

constexpr const char* kDate = "2026-11-30";

TEST(EvidenceOf, ClaimsWhatRanAndPassed) {
  const auto records = evidence_of(report("s"), std::vector{kCpu}, kDate);
  ASSERT_TRUE(records);
  ASSERT_EQ(records->size(), 1U);
  const EvidenceRecord& record = records->front();
  EXPECT_EQ(record.device, kCpu.name);
  EXPECT_EQ(record.levels.size(), 1U);
  ASSERT_EQ(record.rows.size(), 1U) << "no device for the other row";
  const RowEvidence& row = record.rows.front();
  EXPECT_EQ(row.row, "host");
  ASSERT_EQ(row.levels.size(), 2U);
  EXPECT_EQ(row.levels[1].checks, 2);
  EXPECT_EQ(row.levels[1].cases, 12);
  EXPECT_EQ(row.levels[1].skipped, std::vector<std::string>{"numerics.ragged"});
  EXPECT_EQ(row.out->absolute, 3e-4);
  EXPECT_EQ(row.out->relative, 2e-3);
  EXPECT_EQ(row.out->of_allowed, 0.75);
  EXPECT_EQ(row.lse->absolute, 2e-7);
  EXPECT_TRUE(row.proven());
}

TEST(EvidenceOf, IsARecordADevice) {
  Report judged = report("s");
  const std::vector both{kGpu, kCpu};
  EXPECT_EQ(evidence_of(judged, both, kDate)->size(), 1U) << "nothing ran on the GPU";
  for (CheckResult& result : judged.results)
    if (result.row == "device") result.ordinal = 0;
  const auto records = evidence_of(judged, both, kDate);
  ASSERT_TRUE(records);
  ASSERT_EQ(records->size(), 2U);
  const EvidenceRecord& gpu = records->back();
  EXPECT_EQ(gpu.arch, "sm_90");
  EXPECT_EQ(gpu.driver, "580.65");
  EXPECT_EQ(gpu.runtime, "13.0");
  EXPECT_FALSE(gpu.rows.front().proven()) << "its numerics were skipped";
  EXPECT_EQ(evidence_file(gpu), "alpha/nvidia-h200.json");
  EXPECT_EQ(evidence_file(records->front()), "alpha/intel-xeon-cpu.json");
}

TEST(EvidenceOf, NothingWithoutAPass) {
  const auto code = [](const Report& judged, std::vector<DetectedDevice> devices = {kCpu}) {
    const auto records = evidence_of(judged, devices, kDate);
    return records ? "a record" : std::string(code_name(records.error().code));
  };
  EXPECT_EQ(code(report("s")), "a record");
  Report refused = report("s");
  refused.results.push_back({"numerics.sink", "host", 4, Result::fail, "wrong", false, 1});
  EXPECT_EQ(code(refused), "E0121");
  Report broken = report("s");
  broken.results.push_back({"numerics.sink", "host", 4, Result::broken, "no memory", false, 1});
  EXPECT_EQ(code(broken), "E0121");
  EXPECT_EQ(code(report("")), "E0121") << "unknown sources";
  EXPECT_EQ(code(report("s", "address")), "E0121") << "instrumented";
  EXPECT_EQ(code(report("s"), {}), "E0121") << "no device";
}

TEST(WorstError, IsAbsoluteUpToOneAndRelativeBeyond) {
  const Expected expected{.first = 0,
                          .tokens = 1,
                          .heads = 1,
                          .d_v = 4,
                          .out = {0.5, -1.0, 100.0, HUGE_VAL},
                          .lse = {},
                          .max_logits = {}};
  std::vector<float> found{0.5F, -1.001F, 100.4F, HUGE_VALF};
  std::int64_t shape[] = {1, 1, 4};
  DLTensor tensor{};
  tensor.data = found.data();
  tensor.ndim = 3;
  tensor.shape = shape;
  tensor.dtype = {kDLFloat, 32, 1};
  Worst worst;
  worst.add(compare_out(expected, tensor, {1e-2, 1e-2, 1.0}));
  EXPECT_EQ(worst.elements, 4);
  EXPECT_NEAR(worst.absolute, 1e-3, 1e-6);
  EXPECT_NEAR(worst.relative, 4e-3, 1e-6);
  EXPECT_NEAR(worst.of_allowed, 0.4, 1e-3) << "of 1e-2 at the third element";
}

TEST(EvidenceOf, APluginThatTheKitJudged) {
  JudgeOptions options;
  options.levels = {0, 3};
  const auto judged = judge(TOY_DIR "/libdsakit_toy_right.so", options);
  ASSERT_TRUE(judged);
  if (!judged->manifest->build.sanitizer.empty()) {
    EXPECT_TRUE(why_no_record(*judged->manifest));
    return;
  }
  const auto records = evidence_of(*judged, std::vector{kCpu}, kDate);
  ASSERT_TRUE(records);
  const auto read = parse_evidence(evidence_json(records->front()), "f");
  ASSERT_TRUE(read);
  EXPECT_FALSE(why_stale(*read, *judged->manifest));
  EXPECT_TRUE(stale_rows(*read, *judged->manifest).empty());
  EXPECT_EQ(read->rows.size(), judged->manifest->rows.size());
  EXPECT_FALSE(read->rows.front().proven()) << "level 4 was not asked for";
}

}  // namespace
}  // namespace dsakit::conformance
