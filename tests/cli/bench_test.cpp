// dsakit bench apart from a GPU: statistics, bounds, the built-in baselines, suites, records of
// CUPTI.
#include <gtest/gtest.h>

#include "bench/activity.hpp"
#include "bench/baseline.hpp"
#include "bench/contradiction.hpp"
#include "bench/gpu_lab.hpp"
#include "bench/line.hpp"
#include "bench/matrix_product.hpp"
#include "bench/session.hpp"
#include "bench/shape.hpp"
#include "bench/statistics.hpp"
#ifdef DSAKIT_TEST_CUPTI
#include <cupti.h>

#include <cstddef>
#endif

namespace dsakit::cli::bench_cases {
namespace {

TEST(Statistics, QuantilesLieBetweenSortedValues) {
  const std::vector<double> values{5, 1, 4, 2, 3};
  EXPECT_EQ(quantile(values, 0.5), 3);
  EXPECT_EQ(quantile(values, 0), 1);
  EXPECT_EQ(quantile(values, 1), 5);
  EXPECT_DOUBLE_EQ(quantile(values, 0.1), 1.4);
  EXPECT_EQ(quantile({1, 2}, 0.5), 1.5);
  EXPECT_EQ(quantile({7}, 0.9), 7);
  const Spread spread = spread_of(values);
  EXPECT_DOUBLE_EQ(spread.p90, 4.6);
}

TEST(Baselines, TheBuiltInOnesAreWhole) {
  const Baseline* h200 = find_baseline("NVIDIA H200");
  ASSERT_NE(h200, nullptr);
  EXPECT_EQ(find_baseline("NVIDIA H100"), nullptr);
  ASSERT_EQ(h200->kinds.size(), 2u);
  EXPECT_EQ(kind_names(), (std::vector<std::string>{"decode_fp8", "sparse_bf16"}));
  EXPECT_EQ(find_kind("decode_fp8")->rows.size(), 34u);
  EXPECT_EQ(find_kind("sparse_bf16")->rows.size(), 22u);
  EXPECT_EQ(find_kind("sparse"), nullptr);
  for (const BaselineKind& kind : h200->kinds)
    for (const BaselineRow& row : kind.rows) {
      EXPECT_TRUE(row.us_dirty.has_value()) << kind.name;
      EXPECT_LE(row.topk, row.pool);
      EXPECT_NEAR(row.us_clean.value_or(*row.us_dirty) / *row.us_dirty, 1.0, 0.13) << kind.name;
    }
  EXPECT_EQ(h200->ceilings.gather_of(656), 3.96);  // of the longer list
  EXPECT_EQ(h200->ceilings.gather_of(1152), 4.41);
  EXPECT_EQ(h200->ceilings.gather_of(584), 0);
}

TEST(Baselines, SayWhatIsWrong) {
  EXPECT_FALSE(parse_baseline("{"));
  const auto missing = parse_baseline(R"({"device":"X","what":"y","date":"2026-11-30"})");
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().find("ceilings"), std::string::npos);
}

TEST(Ceilings, MoreThanThreePercentOffIsVoid) {
  const Ceilings there{800, {{1152, 1000, 4.0}}};
  EXPECT_FALSE(is_void(check_ceilings({820, {{1152, 1000, 3.89}}}, there)));
  EXPECT_TRUE(is_void(check_ceilings({820, {{1152, 1000, 3.87}}}, there)));
  EXPECT_TRUE(is_void(check_ceilings({825, {{1152, 1000, 4.0}}}, there)));
  EXPECT_FALSE(is_void(check_ceilings({0, {}}, there))) << "what was not measured says nothing";
}

BenchShape decode_of(std::int64_t heads, std::int64_t tokens, std::int64_t pool, bool disjoint) {
  BenchShape shape;
  shape.heads = heads;
  shape.topk = 2048;
  shape.requests = tokens;
  shape.pool = pool;
  shape.disjoint = disjoint;
  return shape;
}

constexpr KeySize kBf16Key{1152, 576, 512};

TEST(Bounds, CountEachSelectedRowOnce) {
  const Work one = work_of(decode_of(128, 1, 131072, false), kBf16Key);
  EXPECT_DOUBLE_EQ(one.flops, 2.0 * 128 * 2048 * 1088);
  EXPECT_NEAR(one.bytes, 2048 * 1152 + 128 * (1088 * 2 + 4) + 2048 * 4, 1e-3);
  const Work own = work_of(decode_of(64, 64, 32768, true), kBf16Key);
  EXPECT_NEAR(own.bytes, 64 * (2048.0 * 1152 + 64 * 2180 + 8192), 1);
  // 64 lists of 2048 rows out of 131072 select about 63 % of them.
  const Work shared = work_of(decode_of(64, 64, 131072, false), kBf16Key);
  EXPECT_NEAR((shared.bytes - 64 * (64 * 2180 + 8192)) / (131072.0 * 1152), 0.635, 0.002);
  BenchShape overlapping = decode_of(64, 64, 131072, false);
  overlapping.overlap = 0.85;
  EXPECT_LT(work_of(overlapping, kBf16Key).bytes, shared.bytes / 3);
  BenchShape shorter = decode_of(64, 64, 32768, true);
  shorter.random_length = true;
  EXPECT_DOUBLE_EQ(work_of(shorter, kBf16Key).flops, own.flops / 2);
}

TEST(Bounds, AreTheLargerOfBothTimes) {
  const Bound many = bound_of(work_of(decode_of(128, 1, 131072, false), kBf16Key), 4.3, 790);
  EXPECT_FALSE(many.memory);
  EXPECT_NEAR(many.us, 0.72, 0.01);
  const Bound few = bound_of(work_of(decode_of(64, 64, 131072, true), kBf16Key), 4.3, 790);
  EXPECT_TRUE(few.memory);
  EXPECT_NEAR(few.us, 37.3, 0.2);
}

TEST(Activities, OfACallAreThoseBetweenItsMarks) {
  using enum Activity::Kind;
  const std::vector<Activity> seen{{kernel, 0, 5, 0},
                                   {memset, 10, 11, kMarkBefore},
                                   {kernel, 20, 90, 0},
                                   {kernel, 60, 80, 0},
                                   {memset, 91, 95, 16},
                                   {memset, 100, 101, kMarkBehind},
                                   {kernel, 110, 500, 0},
                                   {memset, 600, 601, kMarkBefore},
                                   {memset, 610, 611, kMarkBehind},
                                   {memset, 700, 701, kMarkBefore},
                                   {copy, 710, 1710, 64}};
  const auto spans = spans_of_calls(seen);
  ASSERT_EQ(spans.size(), 1u) << "neither a call without work nor one without an end is a call";
  EXPECT_DOUBLE_EQ(spans[0].us, 0.075);
  EXPECT_EQ(spans[0].activities, 3);
}

TEST(Activities, AreReadFromTheRecordsOfCupti) {
  auto recorder = ActivityRecorder::open({FAKE_CUPTI});
  ASSERT_TRUE(recorder) << recorder.error();
  ASSERT_TRUE((*recorder)->start()) << (*recorder)->error();
  std::vector<Activity> done;
  ASSERT_TRUE((*recorder)->stop(done));
  ASSERT_EQ(done.size(), 7u);
  EXPECT_EQ(done.front().bytes, 8ULL << 30);
  const auto spans = spans_of_calls(done);
  ASSERT_EQ(spans.size(), 1u);
  EXPECT_DOUBLE_EQ(spans[0].us, 4.4);
  EXPECT_EQ(spans[0].activities, 3);
}

TEST(Activities, SayWhyCuptiCannotBeUsed) {
  EXPECT_NE(ActivityRecorder::open({"libno_such_cupti.so"}).error().find("libno_such_cupti.so"),
            std::string::npos);
  EXPECT_NE(ActivityRecorder::open({FAKE_CUDA_MEMORY}).error().find("lacks functions"),
            std::string::npos);
  EXPECT_FALSE(MatrixProduct::open(nullptr, {FAKE_CUDA_MEMORY}));
}

#ifdef DSAKIT_TEST_CUPTI
TEST(Activities, RecordsBeginAsTheHeaderSays) {
  EXPECT_EQ(offsetof(CUpti_ActivityKernel4, start), 16u);
  EXPECT_EQ(offsetof(CUpti_ActivityKernel4, end), 24u);
  EXPECT_EQ(offsetof(CUpti_ActivityKernel10, start), 16u);
  EXPECT_EQ(offsetof(CUpti_ActivityMemset4, bytes), 8u);
  EXPECT_EQ(offsetof(CUpti_ActivityMemset4, start), 16u);
  EXPECT_EQ(offsetof(CUpti_ActivityMemcpy6, bytes), 8u);
  EXPECT_EQ(offsetof(CUpti_ActivityMemcpy6, end), 24u);
  EXPECT_EQ(offsetof(CUpti_ActivityMemcpyPtoP4, end), 24u);
  EXPECT_EQ(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 10);
  EXPECT_EQ(CUPTI_ACTIVITY_KIND_MEMSET, 2);
}
#endif

TEST(GpuLab, SaysWhyAGpuCannotBeTimed) {
  const auto lab = GpuLab::open(1 << 12);
  ASSERT_FALSE(lab);
  EXPECT_EQ(lab.error().code, Code::E0806);
}

Options asked(std::vector<std::string> suites) {
  Options options;
  options.bench.suites = std::move(suites);
  return options;
}

TEST(Suites, OfABaselineAreItsRows) {
  auto options = asked({"sparse_bf16", "decode_fp8"});
  const auto all = shapes_of(options);
  ASSERT_TRUE(all);
  EXPECT_EQ(all->size(), 56u);
  EXPECT_EQ(all->front().phase, Phase::prefill);
  EXPECT_FALSE(all->front().disjoint);
  options.bench.heads = {64};
  options.bench.tokens = {2};
  const auto few = shapes_of(options);
  ASSERT_TRUE(few);
  ASSERT_EQ(few->size(), 3u);
  EXPECT_EQ((*few)[0].kv_dtype, "bf16");
  EXPECT_EQ((*few)[1].phase, Phase::decode);
  EXPECT_EQ((*few)[2].phase, Phase::mtp) << "two tokens of one request";
  EXPECT_EQ((*few)[2].features, std::vector<std::string>{"attn_sink"});
  ASSERT_TRUE((*few)[1].baseline);
  EXPECT_EQ((*few)[1].baseline->us_clean, 19.04);
  options.bench.heads = {7};
  EXPECT_EQ(shapes_of(options).error().code, Code::E0407);
}

TEST(Suites, RulesStandBesideACaseOfTheSameSuite) {
  for (const char* dtype : {"bf16", "fp8_e4m3", "unheard_of"}) {
    auto options = asked({"rules", "sweep"});
    options.kv_dtype = dtype;
    const auto shapes = shapes_of(options);
    ASSERT_TRUE(shapes);
    int rules = 0;
    for (const BenchShape& shape : *shapes) {
      if (shape.beside.empty()) continue;
      ++rules;
      EXPECT_TRUE(std::ranges::any_of(*shapes, [&](const BenchShape& other) {
        return other.suite == shape.suite && other.label == shape.beside;
      })) << shape.label;
    }
    EXPECT_EQ(rules, 9 + 299) << dtype;
  }
}

TEST(Suites, CombinationsAreThoseOfTheOptions) {
  Options options;
  options.phases = "decode";
  options.bench.heads = {8, 16};
  options.bench.tokens = {4};
  options.bench.s_q = 2;
  options.targets = {"a", "b"};
  const auto shapes = shapes_of(options);
  ASSERT_TRUE(shapes);
  ASSERT_EQ(shapes->size(), 4u);
  EXPECT_EQ(shapes->front().requests, 2);
  EXPECT_EQ(shapes->back().backend, "b");
  options.bench.tokens = {3};
  EXPECT_EQ(shapes_of(options).error().code, Code::E0407);
}

TEST(Suites, OfRowsAndOfRulesGoTogether) {
  EXPECT_FALSE(bench_contradiction(asked({"decode_fp8", "rules"})));
}

TEST(Suites, SizesThatNobodyNamesFollowTheRequest) {
  Options options;
  options.bench.s_q = 16;
  const auto shapes = shapes_of(options);
  ASSERT_TRUE(shapes);
  for (const BenchShape& shape : *shapes) EXPECT_GE(shape.requests, 1);
  EXPECT_EQ(shapes->front().tokens(), 16);
}

BenchLine timed(const std::string& label, const std::string& beside, std::int64_t topk, double us) {
  BenchLine line;
  line.shape.suite = "rules";
  line.shape.label = label;
  line.shape.beside = beside;
  line.shape.at_most = 1.10;
  line.shape.topk = topk;
  line.clean = {us, us, us};
  line.dirty = line.clean;
  return line;
}

TEST(Rules, CompareTheTimeOfAKey) {
  const std::vector<BenchLine> lines{timed("base", "", 1000, 10), timed("less", "base", 500, 5.4),
                                     timed("slow", "base", 1000, 11.1),
                                     timed("lost", "gone", 1000, 10)};
  EXPECT_EQ(rule_of(lines[0], lines).ratio, 0);
  EXPECT_NEAR(rule_of(lines[1], lines).ratio, 1.08, 1e-9);
  EXPECT_TRUE(rule_of(lines[1], lines).kept());
  EXPECT_FALSE(rule_of(lines[2], lines).kept());
  EXPECT_EQ(rule_of(lines[3], lines).ratio, 0);
}

}  // namespace
}  // namespace dsakit::cli::bench_cases
