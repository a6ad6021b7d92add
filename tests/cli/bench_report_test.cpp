// What dsakit bench prints, draws and records of a run on a GPU, from made-up samples, against
// golden files in bench/; DSAKIT_BLESS=1 rewrites them.
#include <cstdlib>
#include <map>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "bench/report.hpp"
#include "bench/roofline.hpp"
#include "bench/times_record.hpp"
#include "manifest/evidence.hpp"
#include "support/fake_plugin.hpp"

namespace dsakit::cli::bench_report_cases {
namespace {

// Five calls around a time.
std::vector<double> samples(double us) {
  return {us, us * 1.02, us * 0.99, us * 1.05, us * 0.98};
}

BenchLine line_of(const BaselineKind& kind, const BaselineRow& row, double share) {
  BenchLine line;
  BenchShape& shape = line.shape;
  shape.backend = kind.disjoint ? "flashmla_kv" : "flashmla_sparse";
  shape.phase = row.s_q > 1 ? Phase::mtp : Phase::decode;
  shape.requests = row.requests;
  shape.s_q = row.s_q;
  shape.heads = row.heads;
  shape.topk = row.topk;
  shape.pool = row.pool;
  shape.disjoint = kind.disjoint;
  shape.page_size = kind.page_size;
  shape.features = kind.features;
  shape.suite = kind.name;
  shape.baseline = row;
  line.row = "sm90";
  line.kv_layout = kind.kv_layout;
  line.sources = "sha256:" + std::string(64, 'a');
  line.key = {kind.disjoint ? 656 : 1152, 576, 512};
  line.work = work_of(shape, line.key);
  line.clean = samples(share * row.us_clean.value_or(*row.us_dirty));
  line.dirty = samples(share * *row.us_dirty);
  line.activities = 2;
  line.workspace_bytes = 1 << 20;
  return line;
}

BenchReport canned(const char* kind_name, double share) {
  BenchReport report;
  report.on_gpu = true;
  report.baseline = find_baseline("NVIDIA H200");
  report.session.gpu = {"sm_90", "cuda", 0, "NVIDIA H200", 0, "580.1", "13.0", ""};
  report.session.date = "2026-11-30";
  report.session.seed = 7;
  report.session.ceilings = {780, {{656, 524288, 3.8}, {1152, 524288, 4.3}, {1152, 2097152, 4.4}}};
  report.session.empty_kernel_us = 0.64;
  report.session.most_mhz = 1980;
  report.session.mhz = {1980, 1965, 1980};
  const BaselineKind& kind = *find_kind(kind_name);
  for (std::size_t i = 0; i < kind.rows.size(); i += 3)
    report.lines.push_back(line_of(kind, kind.rows[i], share));
  BenchLine refused = report.lines.front();
  refused.clean = refused.dirty = {};
  refused.shape.heads = 1000;
  refused.refused = "no backend can serve this";
  report.lines.push_back(std::move(refused));
  return report;
}

BenchReport canned_rules() {
  BenchReport report = canned("sparse_bf16", 0.9);
  const BenchLine base = report.lines.back();
  report.lines.clear();
  const auto add = [&](const char* label, const char* beside, double us) {
    BenchLine& line = report.lines.emplace_back(base);
    line.refused.clear();
    line.shape.suite = "rules";
    line.shape.label = label;
    line.shape.beside = beside;
    line.shape.at_most = beside[0] == '\0' ? 0 : 1.10;
    line.shape.baseline.reset();
    line.clean = line.dirty = samples(us);
  };
  add("64 heads", "", 60);
  add("page 64", "64 heads", 61);
  add("padded strides", "64 heads", 90);
  BenchLine& none = report.lines.emplace_back(base);
  none.shape.label = "deterministic";
  none.shape.suite = "rules";
  return report;
}

void expect_golden(const std::string& name, const std::string& text) {
  const std::string file = std::string(DSAKIT_TESTS_DIR) + "/cli/bench/" + name;
  if (std::getenv("DSAKIT_BLESS")) test::write_file(file, text);
  EXPECT_EQ(text, test::read_file(file)) << name;
}

TEST(BenchReport, IsATableBesideTheBaseline) {
  expect_golden("sparse_bf16.txt", bench_text(canned("sparse_bf16", 0.9)));
  expect_golden("decode_fp8.txt", bench_text(canned("decode_fp8", 1.1)));
}

TEST(BenchReport, SaysWhetherRulesAreKept) {
  expect_golden("rules.txt", bench_text(canned_rules()));
}

TEST(BenchReport, IsVoidWithOtherCeilings) {
  BenchReport report = canned("sparse_bf16", 1.0);
  report.session.ceilings.gather[1].tb_per_s = 4.0;
  report.session.mhz.clear();
  report.session.ceilings.gemm_tflops = 0;
  report.lines.resize(1);
  expect_golden("void.txt", bench_text(report));
  EXPECT_FALSE(bench_json(report)["comparable"].get<bool>());
  const auto none = write_times(report, *Catalog::from_texts({}, "none"), testing::TempDir());
  ASSERT_FALSE(none) << "five calls are too few for a record";
  EXPECT_EQ(none.error().code, Code::E0121);
  report.baseline = nullptr;
  EXPECT_NE(bench_text(report).find("baseline  none for a NVIDIA H200"), std::string::npos);
}

TEST(BenchReport, OfManyRulesShowsTheWorst) {
  BenchReport report = canned_rules();
  const BenchLine kept = report.lines[1];
  for (int i = 0; i < 150; ++i) report.lines.push_back(kept);
  const std::string text = bench_text(report);
  EXPECT_LT(std::ranges::count(text, '\n'), 30);
  EXPECT_NE(text.find("151 of 152 rules kept"), std::string::npos) << text;
  EXPECT_NE(text.find("BROKEN"), std::string::npos) << text;
}

TEST(BenchReport, AsJsonHoldsEverySample) {
  BenchReport report = canned("decode_fp8", 0.8);
  report.lines.erase(report.lines.begin() + 1, report.lines.end() - 1);
  const auto json = bench_json(report);
  EXPECT_EQ(json["lines"][0]["clean"]["samples_us"].size(), 5u);
  EXPECT_EQ(json["clock"]["mhz"].size(), 3u);
  expect_golden("decode_fp8.json", json.dump(1) + "\n");
}

TEST(BenchReport, IsAPicture) {
  const std::string svg = roofline_svg(canned("sparse_bf16", 0.9));
  expect_golden("sparse_bf16.svg", svg);
  BenchReport nothing = canned("sparse_bf16", 0.9);
  nothing.lines = {nothing.lines.back()};
  EXPECT_EQ(roofline_svg(nothing), "");
  EXPECT_EQ(roofline_svg(canned_rules()), "") << "cases of rules are no points of a roofline";
}

TEST(BenchRecord, IsReadAsItWasWritten) {
  BenchReport report = canned("decode_fp8", 0.8);
  EvidenceRecord record;
  record.plugin = "flashmla_kv";
  record.date = "2026-11-30";
  record.device = "NVIDIA H200";
  record.arch = "sm_90";
  record.build.sources = "sha256:" + std::string(64, 'b');
  record.build.targets = {"sm_90a"};
  record.build.toolkit = "GNU 12.2.0, NVIDIA 13.0.88";
  record.times = times_of(report, "flashmla_kv");
  EXPECT_EQ(record.times->shapes.size(), report.lines.size() - 1);
  const std::string text = evidence_json(record);
  expect_golden("evidence.json", text);
  const auto read = parse_evidence(text, "evidence.json");
  ASSERT_TRUE(read);
  EXPECT_FALSE(read->judged());
  EXPECT_EQ(evidence_json(*read), text);
}

}  // namespace
}  // namespace dsakit::cli::bench_report_cases
