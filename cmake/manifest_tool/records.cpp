// Evidence records: reading them, and whether they are still about a plugin.
#include <cstdio>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "diag/render.hpp"
#include "manifest/plugin_file.hpp"
#include "manifest/schema.hpp"
#include "tool.hpp"

namespace dsakit {
namespace {

constexpr int kStale = 4;

Diagnostic stale(const std::string& file, const Manifest& built, std::string what,
                 std::string reason) {
  return Diagnostic(Code::W0120)
      .with("file", file)
      .with("what", std::move(what))
      .with("backend", built.id)
      .with("reason", std::move(reason))
      .note("`dsakit conform --evidence` makes a record of this build");
}

std::optional<Diagnostic> staleness(const std::string& file, const EvidenceRecord& record,
                                    const Manifest& built) {
  if (auto reason = why_stale(record, built))
    return stale(file, built, "this build", std::move(*reason));
  const auto rows = stale_rows(record, built);
  if (rows.empty()) return std::nullopt;
  return stale(file, built, fmt::format("row {}", fmt::join(rows, ", ")),
               "the row was changed since it ran");
}

}  // namespace

bool read_records(const std::vector<std::string>& files, const std::string& id,
                  std::vector<EvidenceRecord>& records) {
  for (const std::string& file : files) {
    std::string text;
    if (!read_file(file, text)) return false;
    auto record = parse_evidence(text, file);
    if (!record) {
      refuse(record.error());
      return false;
    }
    if (record->plugin != id) {
      refuse(Diagnostic(Code::E0119)
                 .with("file", file)
                 .with("path", "plugin")
                 .with("found", fmt::format("\"{}\"", record->plugin))
                 .with("allowed", fmt::format("\"{}\", whose folder it is in", id)));
      return false;
    }
    records.push_back(std::move(*record));
  }
  return true;
}

int evidence(const EvidenceOptions& options) {
  const auto plugin = read_plugin_file(options.plugin);
  if (!plugin) return refuse(plugin.error());
  const auto parsed = parse_manifest(plugin->manifest_json, options.plugin);
  if (!parsed) return refuse(parsed.error());
  std::vector<EvidenceRecord> records;
  if (!read_records(options.records, parsed->manifest.id, records)) return 1;
  int status = 0;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const auto finding = staleness(options.records[i], records[i], parsed->manifest);
    if (finding) status = kStale;
    fmt::print("{}", finding ? render_text(*finding)
                             : fmt::format("{}: about this build, on {} ({})\n", options.records[i],
                                           records[i].arch, records[i].device));
  }
  return status;
}

}  // namespace dsakit
