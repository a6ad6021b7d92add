#include "bench/times_record.hpp"

#include <algorithm>
#include <set>

#include "bench/statistics.hpp"
#include "sdk/conformance/evidence.hpp"
#include "writing.hpp"

namespace dsakit::cli {
namespace {

TimedShape timed_shape(const BenchLine& line, bool with_baseline) {
  const BenchShape& from = line.shape;
  TimedShape shape;
  shape.row = line.row;
  shape.phase = phase_name(from.phase);
  shape.suite = from.suite;
  shape.label = from.label;
  shape.heads = static_cast<int>(from.heads);
  shape.topk = static_cast<int>(from.topk);
  shape.tokens = static_cast<int>(from.tokens());
  shape.s_q = static_cast<int>(from.s_q);
  shape.pool = static_cast<int>(from.pool);
  shape.page_size = static_cast<int>(from.page_size);
  shape.own_pools = from.disjoint;
  shape.features = from.features;
  shape.clean = line.clean;
  shape.dirty = line.dirty;
  if (with_baseline && from.baseline) {
    shape.baseline_clean = from.baseline->us_clean;
    shape.baseline_dirty = from.baseline->us_dirty;
  }
  return shape;
}

constexpr double kShortCall = 30;  // microseconds
constexpr std::size_t kCallsOfShort = 50, kCallsOfOthers = 20;

Diagnostic no_times(const std::string& backend, std::string reason) {
  return Diagnostic(Code::E0121).with("backend", backend).with("reason", std::move(reason));
}

// Whether a line has fewer calls than a record needs: 50 of short ones, 20 of others.
bool too_few_calls(const BenchLine& line) {
  if (!line.on_gpu()) return false;
  return line.clean.size() <
         (quantile(line.clean, 0.5) < kShortCall ? kCallsOfShort : kCallsOfOthers);
}

}  // namespace

MeasuredTimes times_of(const BenchReport& report, const std::string& backend) {
  const BenchSession& session = report.session;
  MeasuredTimes times;
  times.date = session.date;
  times.seed = static_cast<int>(session.seed);
  times.empty_kernel = session.empty_kernel_us;
  if (report.baseline) times.baseline = report.baseline->what;
  for (const CeilingCheck& check : report.ceilings())
    times.ceilings.push_back({check.name, check.unit, check.here, check.there});
  if (!session.mhz.empty()) {
    const auto [least, most] = std::ranges::minmax(session.mhz);
    const std::vector<double> all(session.mhz.begin(), session.mhz.end());
    times.clock = {least, static_cast<int>(quantile(all, 0.5)), most};
  }
  for (const BenchLine& line : report.lines)
    if (line.on_gpu() && line.shape.backend == backend)
      times.shapes.push_back(timed_shape(line, report.baseline != nullptr));
  return times;
}

tl::expected<std::vector<std::string>, Diagnostic> write_times(const BenchReport& report,
                                                               const Catalog& catalog,
                                                               const std::string& folder) {
  std::set<std::string> backends;
  for (const BenchLine& line : report.lines)
    if (line.on_gpu()) backends.insert(line.shape.backend);
  if (backends.empty())
    return tl::make_unexpected(
        no_times(report.lines.front().shape.backend, "no shape was timed on a GPU"));
  if (std::ranges::any_of(report.lines, too_few_calls))
    return tl::make_unexpected(no_times(
        *backends.begin(), "a time under 30 us needs 50 calls, any other 20; leave --calls out"));
  std::vector<std::string> files;
  for (const std::string& backend : backends) {
    const CatalogEntry* entry = catalog.find(backend);
    if (entry == nullptr) continue;
    if (auto why = conformance::why_no_record(*entry->manifest))
      return tl::make_unexpected(std::move(*why));
    if (is_void(report.ceilings()))
      return tl::make_unexpected(
          no_times(backend, "a ceiling of this session is more than 3 % off: the run is void"));
    EvidenceRecord record =
        conformance::start_record(*entry->manifest, report.session.gpu, report.session.date);
    record.times = times_of(report, backend);
    auto file = write_record(folder, std::move(record));
    if (!file) return tl::make_unexpected(std::move(file.error()));
    files.push_back(std::move(*file));
  }
  return files;
}

}  // namespace dsakit::cli
