// Plugins that are wrong in one way each: the kit refuses them by the check named for it, and the
// same source without a mistake passes.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <functional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "sdk/conformance/allocations.hpp"
#include "sdk/conformance/runner.hpp"

namespace dsakit::conformance {
namespace {

std::string toy(const std::string& wrong) {
  return fmt::format("{}/libdsakit_toy_{}.so", TOY_DIR, wrong);
}

struct Wrong {
  const char* way;
  const char* check;
  const char* row = "bf16";
};

class WrongPlugin : public testing::TestWithParam<Wrong> {};

TEST_P(WrongPlugin, IsRefusedByTheCheckNamedForIt) {
  const auto& [way, check, row] = GetParam();
#ifdef DSAKIT_SANITIZED
  if (std::string_view(way) == "tail") GTEST_SKIP() << "a read past the row ends this build early";
#endif
  if (std::string_view(check) == "runtime.no_allocation" && !can_count_allocations())
    GTEST_SKIP() << "this build cannot count allocations";
  JudgeOptions options;
  options.stop_at_first = true;
  options.row = row;
#ifdef DSAKIT_SANITIZED
  options.check = check;  // that no earlier check refuses it is seen in a quick build
#endif
  const auto report = judge(toy(way), options);
  ASSERT_TRUE(report);
  ASSERT_NE(report->refused_by(), nullptr) << report_text(*report);
  EXPECT_EQ(report->refused_by()->name, check) << report_text(*report);
  EXPECT_FALSE(report->refused_by()->reason.empty());
}

INSTANTIATE_TEST_SUITE_P(Toys, WrongPlugin,
                         testing::Values(Wrong{"minus_one", "numerics.invalid_index"},
                                         Wrong{"tail", "numerics.topk_tail"},
                                         Wrong{"length_ignored", "numerics.topk_length"},
                                         Wrong{"lse_base", "numerics.lse"},
                                         Wrong{"sink_in_lse", "numerics.sink"},
                                         Wrong{"duplicates", "numerics.duplicates"},
                                         Wrong{"bf16_scales", "numerics.scales", "fp8"},
                                         Wrong{"fp16_keys", "numerics.rising_logits", "fp8"},
                                         Wrong{"fp16_range", "numerics.scales", "fp8"},
                                         Wrong{"nan_in_scale", "numerics.kv_append", "fp8"},
                                         Wrong{"int32_offset", "numerics.large_pool"},
                                         Wrong{"allocates", "runtime.no_allocation"},
                                         Wrong{"claims_sink", "truth.accepts"},
                                         Wrong{"throws", "negative.no_throw"},
                                         Wrong{"other_entry", "negotiation.agreement"},
                                         Wrong{"nan_leaks", "numerics.nan_unselected"}),
                         [](const auto& shown) { return std::string(shown.param.way); });

TEST(RightPlugin, Conforms) {
  JudgeOptions options;
  if (!can_count_allocations()) options.row = "fp8";  // instrumented code is slow
  const auto report = judge(toy("right"), options);
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->conforms()) << report_text(*report);
  EXPECT_GT(report->count(Result::pass), 60);
}

TEST(WrongProcess, EndsOrHangsAndTheJudgeLivesOn) {
  JudgeOptions options;
  options.check = "numerics.duplicates";
  options.row = "bf16";
  options.seconds_a_check = 1;
  for (const auto& [way, reason] : {std::pair{"exits", "exit code 7"}, {"hangs", "within 1 s"}}) {
    const auto report = judge(toy(way), options);
    ASSERT_TRUE(report);
    ASSERT_EQ(report->results.size(), 1U);
    EXPECT_EQ(report->results[0].result, Result::fail);
    EXPECT_NE(report->results[0].reason.find(reason), std::string::npos) << report_text(*report);
  }
}

TEST(ClaimedFeature, IsNamed) {
  JudgeOptions options;
  options.check = "truth.accepts";
  options.row = "bf16";
  const auto report = judge(toy("claims_sink"), options);
  ASSERT_TRUE(report);
  EXPECT_NE(report_text(*report).find("features = {attn_sink} is accepted by the manifest, but"),
            std::string::npos)
      << report_text(*report);
}

// A build that writes the file while it is judged must not leave a verdict about neither.
TEST(ChangedFile, DecidesNothing) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / fmt::format("changed_file_{}", getpid());
  std::filesystem::create_directories(folder);
  const std::string file = folder / "libdsakit_toy_right.so";
  const std::string next = folder / "next.so";
  JudgeOptions options;
  options.levels = {0};
  const auto judged_while = [&](const std::function<void()>& change) {
    std::filesystem::copy_file(toy("right"), file,
                               std::filesystem::copy_options::overwrite_existing);
    return judge(file, options, [&](int done, int, const std::string&) {
      if (done == 1) change();
    });
  };
  const std::function<void()> changes[] = {[&] {
                                             std::filesystem::copy_file(toy("tail"), next);
                                             std::filesystem::rename(next, file);
                                           },
                                           [&] { std::filesystem::resize_file(file, 100); },
                                           [&] { std::filesystem::remove(file); }};
  for (const auto& change : changes) {
    const auto report = judged_while(change);
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().code, Code::E0702);
  }
  EXPECT_TRUE(judged_while([] {}));
  std::filesystem::remove_all(folder);
}

TEST(BrokenKit, DecidesNothing) {
  const int free = dup(0);
  ASSERT_GE(free, 0);
  close(free);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit tight = before;
  tight.rlim_cur = static_cast<rlim_t>(free) + 1;  // the plugin can be read, and no child told
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &tight), 0);
  JudgeOptions options;
  options.levels = {0};
  const auto report = judge(toy("right"), options);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_TRUE(report);
  EXPECT_GT(report->count(Result::broken), 0);
  EXPECT_FALSE(report->conforms());
  EXPECT_TRUE(report->undecided());
  EXPECT_EQ(report->refused_by(), nullptr);
  EXPECT_NE(report_text(*report).find("BROKEN  static.lint and 4 more: the kit failed: no pipe"),
            std::string::npos)
      << report_text(*report);
  EXPECT_EQ(nlohmann::json::parse(report_json(*report))["verdict"], "undecided");
}

TEST(Report, NamesItsChecksInJson) {
  JudgeOptions options;
  options.levels = {0, 1};
  const auto report = judge(toy("other_entry"), options);
  ASSERT_TRUE(report);
  const auto json = nlohmann::json::parse(report_json(*report));
  EXPECT_EQ(json["verdict"], "refused");
  EXPECT_EQ(json["refused_by"], "negotiation.agreement");
  EXPECT_EQ(json["checks"].size(), report->results.size());
  EXPECT_EQ(json["passed"].get<int>() + json["failed"].get<int>() + json["skipped"].get<int>(),
            static_cast<int>(report->results.size()));
}

CheckResult result_of(const char* name, const char* row, int level) {
  CheckResult result;
  result.name = name;
  result.row = row;
  result.level = level;
  return result;
}

Report mixed_report() {
  Report report;
  report.id = "acme";
  report.version = "1.0.0";
  CheckResult passed = result_of("static.lint", "", 0);
  passed.milliseconds = 1500;
  CheckResult skipped = result_of("numerics.basic", "row", 4);
  skipped.result = Result::skip;
  skipped.reason = "no \"device\" <here> & now";
  skipped.lacks_device = true;
  report.results = {passed, skipped};
  return report;
}

TEST(Report, WithoutADeviceNothingIsDecided) {
  Report report = mixed_report();
  EXPECT_TRUE(report.undecided());
  EXPECT_FALSE(report.conforms());
  EXPECT_NE(report_text(report).find("1 need a device that is not here"), std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(report_json(report))["verdict"], "undecided");
  report.results[1].lacks_device = false;
  EXPECT_TRUE(report.conforms()) << "other skips do not count";
  report.results[1].lacks_device = true;
  report.results[0].result = Result::fail;
  EXPECT_FALSE(report.undecided()) << "a check that failed decides";
}

TEST(Report, AsJUnit) {
  Report report = mixed_report();
  CheckResult failed = result_of("runtime.graph", "row", 5);
  failed.result = Result::fail;
  failed.reason = "two\nlines \x01";
  report.results.push_back(failed);
  EXPECT_EQ(report_junit(report), R"(<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="acme 1.0.0" tests="3" failures="1" errors="0" skipped="1">
  <testsuite name="L0" tests="1" failures="0" errors="0" skipped="0" time="1.500">
    <testcase classname="acme" name="static.lint" time="1.500"/>
  </testsuite>
  <testsuite name="L4" tests="1" failures="0" errors="0" skipped="1" time="0.000">
    <testcase classname="acme.row" name="numerics.basic" time="0.000">
      <skipped message="no &quot;device&quot; &lt;here> &amp; now"/>
    </testcase>
  </testsuite>
  <testsuite name="L5" tests="1" failures="1" errors="0" skipped="0" time="0.000">
    <testcase classname="acme.row" name="runtime.graph" time="0.000">
      <failure message="two&#10;lines ?"/>
    </testcase>
  </testsuite>
</testsuites>
)");
}

TEST(Report, OneCheckAndOneRow) {
  JudgeOptions options;
  options.check = "numerics.basic";
  options.row = "fp8";
  const auto report = judge(toy("right"), options);
  ASSERT_TRUE(report);
  ASSERT_EQ(report->results.size(), 1U);
  EXPECT_EQ(report->results[0].row, "fp8");
  EXPECT_EQ(report->results[0].result, Result::pass) << report->results[0].reason;
}

TEST(Judge, AFileThatIsNoPlugin) {
  const auto report = judge("/proc/self/exe", {});
  ASSERT_FALSE(report);
  EXPECT_EQ(judge("/nowhere/libdsakit_x.so", {}).error().code, Code::E0101);
}

}  // namespace
}  // namespace dsakit::conformance
