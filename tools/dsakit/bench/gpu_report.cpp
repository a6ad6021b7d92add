#include "bench/gpu_report.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/report.hpp"
#include "bench/statistics.hpp"
#include "table.hpp"

namespace dsakit::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kWorstOfSweep = 8;
constexpr std::size_t kLongSuite = 100;  // lines: only the worst of its rules are printed

std::string us(double value) {
  return fmt::format("{:.2f}", value);
}

std::string dash_or(const std::optional<double>& value) {
  return value ? us(*value) : "-";
}

// Another time over ours: above 1 we are faster.
std::string times_as_fast(const std::optional<double>& theirs, double ours) {
  return theirs ? fmt::format("{:.2f}x", *theirs / ours) : "-";
}

std::string clock_text(const BenchSession& session) {
  if (session.mhz.empty()) return "clock unknown (NVML cannot be used)";
  const auto [low, high] = std::ranges::minmax(session.mhz);
  std::vector<double> all(session.mhz.begin(), session.mhz.end());
  return fmt::format("multiprocessors at {:.0f} MHz ({} to {}, at most {})", quantile(all, 0.5),
                     low, high, session.most_mhz);
}

std::string session_text(const BenchReport& report) {
  const BenchSession& session = report.session;
  Table table({"", "", "", "", ""});
  const auto head = [&](const char* name, std::string text) {
    return fmt::format("{:<10}{}\n", name, text);
  };
  std::string out = head("device", fmt::format("{}, driver {}, {}", session.gpu.name,
                                               session.gpu.driver, clock_text(session)));
  const auto checks = report.ceilings();
  for (const CeilingCheck& check : checks) {
    const bool known = check.here > 0;
    table.add({check.name,
               known ? fmt::format("{:.2f} {}", check.here, check.unit) : "not measured",
               fmt::format("baseline {:.2f}", check.there),
               known ? fmt::format("{:+.1f} %", 100.0 * (check.here / check.there - 1.0)) : "",
               check.off() ? "more than 3 % off" : ""});
  }
  table.add({"empty kernel", fmt::format("{} us", us(session.empty_kernel_us))});
  out += "ceilings\n" + table.text(2);
  if (report.baseline == nullptr)
    return out + head("baseline", fmt::format("none for a {}", session.gpu.name));
  out += head("baseline", fmt::format("{}; {}", report.baseline->what, report.baseline->date));
  if (!report.comparable())
    out += head("VOID", "a ceiling is more than 3 % off: these times are not comparable");
  return out;
}

std::string name_of(const BenchShape& shape) {
  return shape.backend.empty() ? "-" : shape.backend;
}

Table::Row sizes_of(const BenchShape& shape) {
  return {name_of(shape),
          phase_name(shape.phase),
          std::to_string(shape.heads),
          std::to_string(shape.tokens()),
          std::to_string(shape.topk),
          fmt::format("{}{}", shape.pool, shape.disjoint ? " each" : "")};
}

// By the method of record; after a dirty flush where the baseline has that alone.
std::string faster_text(const BenchReport& report) {
  int rows = 0, faster = 0;
  for (const BenchLine& line : report.lines) {
    if (!report.comparable() || !line.on_gpu() || !line.shape.baseline) continue;
    const BaselineRow& base = *line.shape.baseline;
    if (!base.us_clean && !base.us_dirty) continue;
    ++rows;
    faster += base.us_clean ? quantile(line.clean, 0.5) < *base.us_clean
                            : quantile(line.dirty, 0.5) < *base.us_dirty;
  }
  return rows == 0 ? "" : fmt::format("faster than the baseline in {} of {} rows\n", faster, rows);
}

std::string times_text(const BenchReport& report) {
  Table table({"backend", "phase", "heads", "tokens", "topk", "pool", "us", "p10", "p90", "base",
               "faster", "dirty us", "base", "faster", "bound us", "by", "of it", "TFLOP/s",
               "TB/s"});
  for (const BenchLine& line : report.lines) {
    if (!line.shape.label.empty()) continue;
    Table::Row row = sizes_of(line.shape);
    if (!line.timed()) {
      row.emplace_back("no");
      table.add(std::move(row));
      continue;
    }
    const Spread clean = spread_of(line.clean);
    const double dirty = quantile(line.dirty, 0.5);
    const BaselineRow base =
        report.baseline ? line.shape.baseline.value_or(BaselineRow{}) : BaselineRow{};
    const Bound bound = bound_of(line, report);
    row.insert(row.end(),
               {us(clean.median), us(clean.p10), us(clean.p90), dash_or(base.us_clean),
                times_as_fast(base.us_clean, clean.median), us(dirty), dash_or(base.us_dirty),
                times_as_fast(base.us_dirty, dirty), bound.us > 0 ? us(bound.us) : "-",
                bound.us > 0 ? (bound.memory ? "memory" : "arithmetic") : "-",
                bound.us > 0 ? fmt::format("{:.0f} %", 100.0 * bound.us / clean.median) : "-",
                fmt::format("{:.1f}", line.work.flops / clean.median * 1e-6),
                fmt::format("{:.2f}", line.work.bytes / clean.median * 1e-6)});
    table.add(std::move(row));
  }
  return table.empty() ? "" : "\n" + table.text() + faster_text(report);
}

struct Ruled {
  const BenchLine* line;
  RuleResult result;
};

// Lines of suites with rules; of a long suite those nearest to breaking theirs.
std::vector<Ruled> ruled_lines(const BenchReport& report) {
  std::vector<Ruled> all;
  for (const BenchLine& line : report.lines)
    if (!line.shape.label.empty()) all.push_back({&line, rule_of(line, report.lines)});
  if (all.size() <= kLongSuite) return all;
  std::ranges::stable_sort(all, std::ranges::greater{}, [](const Ruled& each) {
    return each.result.at_most > 0 ? each.result.ratio / each.result.at_most : 0.0;
  });
  const auto broken = std::ranges::count_if(
      all, [](const Ruled& each) { return each.result.ratio > 0 && !each.result.kept(); });
  all.resize(std::max(kWorstOfSweep, static_cast<std::size_t>(broken)));
  return all;
}

std::string rules_text(const BenchReport& report) {
  Table table({"suite", "case", "backend", "heads", "tokens", "topk", "us", "p10", "p90", "beside",
               "ratio a key", "at most", ""});
  int broken = 0, judged = 0;
  for (const BenchLine& line : report.lines) {
    const RuleResult result = rule_of(line, report.lines);
    judged += result.ratio > 0;
    broken += result.ratio > 0 && !result.kept();
  }
  for (const auto& [line, result] : ruled_lines(report)) {
    const BenchShape& shape = line->shape;
    Table::Row row{shape.suite,
                   shape.label,
                   name_of(shape),
                   std::to_string(shape.heads),
                   std::to_string(shape.tokens()),
                   std::to_string(shape.topk)};
    if (line->timed()) {
      const Spread clean = spread_of(line->clean);
      row.insert(row.end(), {us(clean.median), us(clean.p10), us(clean.p90)});
      if (result.ratio > 0)
        row.insert(row.end(),
                   {shape.beside, fmt::format("{:.3f}", result.ratio),
                    fmt::format("{:.2f}", result.at_most), result.kept() ? "kept" : "BROKEN"});
    } else {
      row.emplace_back("no");
    }
    table.add(std::move(row));
  }
  if (table.empty()) return "";
  return fmt::format("\n{}{} of {} rules kept\n", table.text(), judged - broken, judged);
}

Json spread_json(const std::vector<double>& samples) {
  const Spread spread = spread_of(samples);
  return {{"median_us", spread.median},
          {"p10_us", spread.p10},
          {"p90_us", spread.p90},
          {"samples_us", samples}};
}

Json shape_json(const BenchShape& shape) {
  Json out{{"backend", shape.backend},   {"phase", phase_name(shape.phase)},
           {"heads", shape.heads},       {"topk", shape.topk},
           {"tokens", shape.tokens()},   {"s_q", shape.s_q},
           {"pool", shape.pool},         {"own_pools", shape.disjoint},
           {"features", shape.features}, {"overlap", shape.overlap},
           {"invalid", shape.invalid},   {"random_length", shape.random_length},
           {"padded", shape.padded}};
  if (!shape.suite.empty()) out["suite"] = shape.suite;
  if (!shape.label.empty()) out["case"] = shape.label;
  return out;
}

Json line_json(const BenchLine& line, const BenchReport& report) {
  Json out = shape_json(line.shape);
  if (!line.timed()) {
    out["refused"] = line.refused;
    return out;
  }
  const Bound bound = bound_of(line, report);
  const double typical = quantile(line.clean, 0.5);
  out.update({{"row", line.row},
              {"kv_layout", line.kv_layout},
              {"page_size", line.shape.page_size},
              {"sources", line.sources},
              {"clean", spread_json(line.clean)},
              {"dirty", spread_json(line.dirty)},
              {"activities", line.activities},
              {"workspace_bytes", line.workspace_bytes},
              {"bytes", line.work.bytes},
              {"flops", line.work.flops},
              {"tb_per_s", line.work.bytes / typical * 1e-6},
              {"tflops", line.work.flops / typical * 1e-6}});
  if (bound.us > 0) {
    out["bound_us"] = bound.us;
    out["bound_by"] = bound.memory ? "memory" : "arithmetic";
  }
  if (report.baseline != nullptr && line.shape.baseline) {
    const auto& [theirs_clean, theirs_dirty] =
        std::pair(line.shape.baseline->us_clean, line.shape.baseline->us_dirty);
    Json& base = out["baseline"] = Json::object();
    if (theirs_clean) base["clean_us"] = *theirs_clean;
    if (theirs_dirty) base["dirty_us"] = *theirs_dirty;
  }
  if (const RuleResult result = rule_of(line, report.lines); result.ratio > 0)
    out["rule"] = {{"beside", line.shape.beside},
                   {"ratio", result.ratio},
                   {"at_most", result.at_most},
                   {"kept", result.kept()}};
  return out;
}

}  // namespace

std::string gpu_text(const BenchReport& report) {
  return session_text(report) + times_text(report) + rules_text(report) +
         refusals_text(report.lines);
}

Json ceilings_json(const BenchReport& report) {
  Json out = Json::array();
  for (const CeilingCheck& check : report.ceilings()) {
    Json entry{{"name", check.name}, {"unit", check.unit}, {"baseline", check.there}};
    entry["here"] = check.here > 0 ? Json(check.here) : Json();
    out.push_back(std::move(entry));
  }
  return out;
}

Json clock_json(const BenchSession& session) {
  return {{"most_mhz", session.most_mhz}, {"mhz", session.mhz}};
}

Json gpu_json(const BenchReport& report) {
  const BenchSession& session = report.session;
  Json lines = Json::array();
  for (const BenchLine& line : report.lines) lines.push_back(line_json(line, report));
  Json out{{"device", session.gpu.name},
           {"driver", session.gpu.driver},
           {"date", session.date},
           {"seed", session.seed},
           {"comparable", report.comparable()},
           {"baseline", report.baseline ? report.baseline->what : ""},
           {"ceilings", ceilings_json(report)},
           {"empty_kernel_us", session.empty_kernel_us},
           {"clock", clock_json(session)}};
  if (!session.no_gemm.empty()) out["no_gemm"] = session.no_gemm;
  out["lines"] = std::move(lines);
  return out;
}

}  // namespace dsakit::cli
