#include "run/job_report.hpp"

#include <algorithm>
#include <numeric>
#include <ostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "manifest/dimension.hpp"
#include "report.hpp"
#include "table.hpp"

namespace dsakit::cli {
namespace {

using Json = nlohmann::ordered_json;

double total(const PhaseReport& phase) {
  return std::accumulate(phase.seconds.begin(), phase.seconds.end(), 0.0);
}

std::string verdict_of(const PhaseReport& phase) {
  if (!phase.repeatable) return "differs when repeated";
  if (phase.checked.pass) return "ok";
  const auto& checked = phase.checked;
  return fmt::format("{} of {} values outside, LSE {} of {}", checked.out.outside,
                     checked.out.elements, checked.lse.outside, checked.lse.elements);
}

std::string cache_text(const JobReport& report) {
  if (report.appended == 0) return "rows as they were given";
  const std::string bytes =
      report.wrong_rows == 0
          ? "bytes as the reference codec writes them"
          : fmt::format("{} rows DIFFER from the reference codec's", report.wrong_rows);
  return fmt::format("{} rows appended by {} in {}, {}", report.appended,
                     report.appended_by_backend ? "the backend" : "the reference codec",
                     duration_text(report.append_seconds), bytes);
}

Json comparison_json(const conformance::Comparison& comparison) {
  return {{"elements", comparison.elements},
          {"outside", comparison.outside},
          {"max_error", comparison.max_absolute},
          {"cosine", comparison.cosine}};
}

Json phase_json(const PhaseReport& phase) {
  return {{"phase", phase.phase},
          {"backend", phase.backend},
          {"row", phase.row},
          {"verdict", phase.pass() ? "pass" : "fail"},
          {"tokens", phase.tokens},
          {"calls", phase.seconds.size()},
          {"seconds", phase.seconds},
          {"median_seconds", median(phase.seconds)},
          {"kv_bytes", phase.bytes},
          {"flops", phase.flops},
          {"gb_per_s", phase.bytes / total(phase) * 1e-9},
          {"gflops", phase.flops / total(phase) * 1e-9},
          {"repeatable", phase.repeatable},
          {"rows_checked", phase.checked.rows},
          {"out", comparison_json(phase.checked.out)},
          {"lse", comparison_json(phase.checked.lse)}};
}

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) return 0.0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::string duration_text(double seconds) {
  if (seconds >= 1.0) return fmt::format("{:.2f} s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.2f} ms", seconds * 1e3);
  return fmt::format("{:.2f} us", seconds * 1e6);
}

void print_job(std::ostream& out, const JobReport& report) {
  out << fmt::format("\ndevice    {}\nworkload  {}\n          {} heads, topk {}, pages of {}\n",
                     report.device, report.workload, report.heads, report.topk, report.page_size);
  out << fmt::format("cache     {:.1f} MiB of {}: {}\n",
                     static_cast<double>(report.cache_bytes) / (1 << 20), report.kv_layout,
                     cache_text(report));
  out << fmt::format("indices   {}\n\n", report.indices);
  Table table({"phase", "backend", "tokens", "a call", "GB/s", "GFLOP/s", "rows checked",
               "max error", "LSE error", ""});
  for (const PhaseReport& phase : report.phases) {
    table.add({phase.phase, phase.backend, std::to_string(phase.tokens),
               duration_text(median(phase.seconds)),
               fmt::format("{:.2f}", phase.bytes / total(phase) * 1e-9),
               fmt::format("{:.1f}", phase.flops / total(phase) * 1e-9),
               std::to_string(phase.checked.rows),
               fmt::format("{:.2e}", phase.checked.out.max_absolute),
               fmt::format("{:.2e}", phase.checked.lse.max_absolute), verdict_of(phase)});
  }
  out << table.text() << '\n' << (report.pass() ? "PASS" : "FAIL") << '\n';
}

std::string job_json(const JobReport& report, const Answer& answer) {
  Json out{{"verdict", report.pass() ? "pass" : "fail"},
           {"device", report.device},
           {"answer", Json::parse(to_json(answer))},
           {"workload", report.workload},
           {"heads", report.heads},
           {"topk", report.topk},
           {"page_size", report.page_size},
           {"cache",
            {{"kv_layout", report.kv_layout},
             {"bytes", report.cache_bytes},
             {"appended", report.appended},
             {"appended_by_backend", report.appended_by_backend},
             {"append_seconds", report.append_seconds},
             {"wrong_rows", report.wrong_rows}}},
           {"overlap", report.overlap},
           {"phases", Json::array()}};
  for (const PhaseReport& phase : report.phases) out["phases"].push_back(phase_json(phase));
  return dump(out);
}

}  // namespace dsakit::cli
