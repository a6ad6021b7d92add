#include "sdk/conformance/evidence.hpp"

#include <algorithm>
#include <cctype>
#include <map>

#include <fmt/format.h>

namespace dsakit::conformance {
namespace {

Diagnostic no_record(const std::string& id, std::string reason) {
  return Diagnostic(Code::E0121).with("backend", id).with("reason", std::move(reason));
}

// Levels of which a check passed, of a row or (empty name) of the whole plugin.
std::vector<LevelPassed> levels_of(const Report& report, const std::string& row) {
  std::map<int, LevelPassed> levels;
  for (const CheckResult& result : report.results) {
    if (result.row != row) continue;
    LevelPassed& level = levels[result.level];
    level.level = result.level;
    if (result.result == Result::skip) level.skipped.push_back(result.name);
    if (result.result != Result::pass) continue;
    ++level.checks;
    level.cases += result.cases;
  }
  std::vector<LevelPassed> out;
  for (auto& [number, level] : levels)
    if (level.checks > 0) out.push_back(std::move(level));
  return out;
}

std::optional<WorstError> worst_of(const Report& report, const std::string& row,
                                   Worst CheckResult::*of) {
  Worst worst;
  for (const CheckResult& result : report.results) {
    if (result.row != row) continue;
    const Worst& one = result.*of;
    worst.elements += one.elements;
    worst.absolute = std::max(worst.absolute, one.absolute);
    worst.relative = std::max(worst.relative, one.relative);
    worst.of_allowed = std::max(worst.of_allowed, one.of_allowed);
  }
  if (worst.elements == 0) return std::nullopt;
  return WorstError{worst.absolute, worst.relative, worst.of_allowed};
}

// The device that the kit ran a row on; null if it was none that the row takes.
const DetectedDevice* device_of(const Report& report, const Row& row,
                                std::span<const DetectedDevice> devices) {
  const auto ran = std::ranges::find(report.results, row.name, &CheckResult::row);
  const int ordinal = ran == report.results.end() ? -1 : ran->ordinal;
  const auto found = std::ranges::find_if(devices, [&](const DetectedDevice& device) {
    const KnownDevice* known = find_device(device.device);
    const bool used = ordinal < 0 ? device.platform == "cpu"
                                  : device.platform != "cpu" && device.ordinal == ordinal;
    return used && known != nullptr && row_takes(*report.manifest, row, *known);
  });
  return found == devices.end() ? nullptr : &*found;
}

}  // namespace

std::optional<Diagnostic> why_no_record(const Manifest& manifest) {
  if (manifest.build.sources.empty())
    return no_record(manifest.id, "the plugin does not say which sources it was built from")
        .note("dsakit_add_plugin() writes that into the plugin");
  if (!manifest.build.sanitizer.empty())
    return no_record(manifest.id,
                     fmt::format("this build is instrumented ({})", manifest.build.sanitizer));
  return std::nullopt;
}

EvidenceRecord start_record(const Manifest& manifest, const DetectedDevice& device,
                            const std::string& date) {
  EvidenceRecord record;
  record.plugin = manifest.id;
  record.date = date;
  record.device = device.name.empty() ? device.device : device.name;
  record.arch = device.device;
  record.emulated = device.emulated;
  record.driver = device.driver;
  record.runtime = device.platform == "hip" ? device.runtime_hip : device.runtime_cuda;
  record.build = manifest.build;
  return record;
}

tl::expected<std::vector<EvidenceRecord>, Diagnostic> evidence_of(
    const Report& report, std::span<const DetectedDevice> devices, const std::string& date) {
  const Manifest& manifest = *report.manifest;
  if (auto why = why_no_record(manifest)) return tl::unexpected(std::move(*why));
  if (report.count(Result::fail) > 0)
    return tl::unexpected(no_record(report.id, "a check refused the plugin"));
  if (report.count(Result::broken) > 0)
    return tl::unexpected(no_record(report.id, "the kit itself failed in a check"));
  std::vector<EvidenceRecord> records;
  std::map<const DetectedDevice*, std::size_t> record_of;
  for (const Row& row : manifest.rows) {
    const DetectedDevice* device = device_of(report, row, devices);
    RowEvidence evidence{row.name, row_digest(manifest, row), levels_of(report, row.name),
                         worst_of(report, row.name, &CheckResult::out),
                         worst_of(report, row.name, &CheckResult::lse)};
    if (device == nullptr || evidence.levels.empty()) continue;
    const auto [at, added] = record_of.emplace(device, records.size());
    if (added) {
      EvidenceRecord& record = records.emplace_back(start_record(manifest, *device, date));
      record.tier = report.tier == Tier::full ? "full" : "reduced";
      record.levels = levels_of(report, "");
    }
    records[at->second].rows.push_back(std::move(evidence));
  }
  if (records.empty())
    return tl::unexpected(no_record(report.id, "no row was run on a device of this machine"));
  return records;
}

std::string evidence_file(const EvidenceRecord& record) {
  std::string name;
  bool inside = false;  // (R), (TM)
  for (const char c : record.device) {
    if (c == '@') break;  // the clock
    if (c == '(' || c == ')') {
      inside = c == '(';
    } else if (!inside && std::isalnum(static_cast<unsigned char>(c)) != 0) {
      name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!name.empty() && name.back() != '-') {
      name += '-';
    }
  }
  while (name.ends_with('-')) name.pop_back();
  return fmt::format("{}/{}.json", record.plugin, name.empty() ? record.arch : name);
}

}  // namespace dsakit::conformance
