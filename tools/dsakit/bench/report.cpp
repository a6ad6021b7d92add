#include "bench/report.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/gpu_report.hpp"
#include "run/job_report.hpp"
#include "table.hpp"

namespace dsakit::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string cpu_text(const std::vector<BenchLine>& lines) {
  Table table({"backend", "phase", "layout", "heads", "topk", "tokens", "calls", "median", "best",
               "GB/s", "GFLOP/s"});
  for (const BenchLine& line : lines) {
    const BenchShape& shape = line.shape;
    Table::Row row{shape.backend.empty() ? "-" : shape.backend,
                   phase_name(shape.phase),
                   line.kv_layout,
                   std::to_string(shape.heads),
                   std::to_string(shape.topk),
                   std::to_string(shape.tokens())};
    if (line.timed()) {
      const double typical = median(line.seconds);
      row.insert(row.end(), {std::to_string(line.seconds.size()), duration_text(typical),
                             duration_text(*std::ranges::min_element(line.seconds)),
                             fmt::format("{:.2f}", line.work.bytes / typical * 1e-9),
                             fmt::format("{:.1f}", line.work.flops / typical * 1e-9)});
    } else {
      row.emplace_back("no");
    }
    table.add(std::move(row));
  }
  return table.text() + refusals_text(lines);
}

Json cpu_json(const std::vector<BenchLine>& lines) {
  Json out = Json::array();
  for (const BenchLine& line : lines) {
    Json entry{{"backend", line.shape.backend},
               {"phase", phase_name(line.shape.phase)},
               {"heads", line.shape.heads},
               {"topk", line.shape.topk},
               {"tokens", line.shape.tokens()}};
    if (!line.timed()) {
      entry["refused"] = line.refused;
    } else {
      const double typical = median(line.seconds);
      entry.update({{"row", line.row},
                    {"kv_layout", line.kv_layout},
                    {"device", line.device},
                    {"calls", line.seconds.size()},
                    {"median_seconds", typical},
                    {"best_seconds", *std::ranges::min_element(line.seconds)},
                    {"kv_bytes", line.work.bytes},
                    {"flops", line.work.flops},
                    {"gb_per_s", line.work.bytes / typical * 1e-9},
                    {"gflops", line.work.flops / typical * 1e-9}});
    }
    out.push_back(std::move(entry));
  }
  return out;
}

}  // namespace

std::string shape_text(const BenchShape& shape) {
  return fmt::format("{}, {} heads, {} tokens, topk {} of {} rows", phase_name(shape.phase),
                     shape.heads, shape.tokens(), shape.topk, shape.pool);
}

std::string refusals_text(const std::vector<BenchLine>& lines) {
  std::string out;
  for (const BenchLine& line : lines) {
    if (line.timed()) continue;
    if (out.empty()) out = "\nnot timed\n";
    const std::string& label = line.shape.label;
    out += fmt::format("  {}{}: {}\n", shape_text(line.shape),
                       label.empty() ? "" : fmt::format(" ({})", label), printable(line.refused));
  }
  return out;
}

std::string bench_text(const BenchReport& report) {
  return report.on_gpu ? gpu_text(report) : cpu_text(report.lines);
}

Json bench_json(const BenchReport& report) {
  return report.on_gpu ? gpu_json(report) : cpu_json(report.lines);
}

}  // namespace dsakit::cli
