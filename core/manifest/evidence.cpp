#include "manifest/evidence.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <set>

#include <fmt/format.h>

#include "manifest/json.hpp"
#include "manifest/sha256.hpp"

namespace dsakit {
namespace {

constexpr std::array<std::string_view, 4> kWorstToBest{"declared", "compiled", "emulated",
                                                       "hardware"};

bool takes(const Where& where, const std::string& dim, const KnownDevice& device) {
  const auto found = where.find(dim);
  if (found == where.end()) return true;
  const Predicate& predicate = found->second;
  if (!predicate.unknown_operator.empty()) return false;
  if (predicate.kind == Predicate::Kind::any) return true;
  return std::ranges::any_of(predicate.list, [&](const std::string& token) {
    if (dim == "platform") return token == device.platform;
    std::string why;
    const auto arch = parse_arch_token(token, why);
    return arch && std::ranges::find(arch->devices, device.name) != arch->devices.end();
  });
}

std::set<std::string_view> devices_of(const std::string& target) {
  std::string why;
  const auto arch = parse_arch_token(target, why);
  return arch ? std::set<std::string_view>(arch->devices.begin(), arch->devices.end())
              : std::set<std::string_view>();
}

// "GNU 12" of "GNU 12.2.0": other releases of a major version are taken for the same compiler.
std::vector<std::string> compilers(const std::string& toolkit) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at <= toolkit.size();) {
    const std::size_t end = std::min(toolkit.find(", ", at), toolkit.size());
    const std::string one = toolkit.substr(at, end - at);
    out.push_back(one.substr(0, one.find('.')));
    at = end + 2;
  }
  return out;
}

void raise(std::string& level, std::string_view to) {
  const auto place = [](std::string_view name) { return std::ranges::find(kWorstToBest, name); };
  if (place(level) < place(to)) level = to;
}

// Whether all that a row computes is exact: products in another arithmetic are a GPU's own, and
// some emulate what others have instructions for.
bool is_exact(const Manifest& manifest, const Row& row) {
  return std::ranges::all_of(
      std::array{std::cref(manifest.common), std::cref(row.where)}, [](const Where& where) {
        const auto found = where.find("compute");
        return found == where.end() ||
               std::ranges::find(found->second.list, "exact") != found->second.list.end();
      });
}

// Whether what runs on one device is what runs on another.
bool same_code(const BuildInfo& build, bool exact, const std::string& one,
               const std::string& other) {
  if (one == other) return true;
  const KnownDevice *here = find_device(one), *there = find_device(other);
  if (build.portable && exact && here != nullptr && there != nullptr &&
      here->platform == there->platform)
    return true;
  return std::ranges::any_of(build.targets, [&](const std::string& target) {
    const auto devices = devices_of(target);
    return devices.contains(one) && devices.contains(other);
  });
}

// Adds a record of this row to its levels.
void raise_row(const Manifest& built, const Row& row, const EvidenceRecord& record,
               std::map<std::string, std::string>& levels) {
  const bool exact = is_exact(built, row);
  for (auto& [device, level] : levels) {
    if (same_code(built.build, exact, record.arch, device))
      raise(level, device == record.arch && !record.emulated ? "hardware" : "emulated");
  }
}

const Row* find_row(const Manifest& manifest, std::string_view name) {
  const auto found = std::ranges::find(manifest.rows, name, &Row::name);
  return found == manifest.rows.end() ? nullptr : &*found;
}

}  // namespace

bool RowEvidence::proven() const {
  const auto has = [this](int level) {
    return std::ranges::find(levels, level, &LevelPassed::level) != levels.end();
  };
  return has(3) && has(4);
}

std::string row_digest(const Manifest& manifest, const Row& row) {
  std::set<std::string> claims;
  for (const Where& where : {std::cref(manifest.common), std::cref(row.where)}) {
    for (const auto& [dim, predicate] : where)
      claims.insert(fmt::format("serves {} {}", dim, predicate.json));
  }
  for (const auto& [dim, value] : row.provides)
    claims.insert(fmt::format("provides {} {}", dim, value_json(value)));
  std::string text;
  for (const std::string& claim : claims) text += claim + '\n';
  return sha256(text);
}

bool row_takes(const Manifest& manifest, const Row& row, const KnownDevice& device) {
  return std::ranges::all_of(
      std::array{std::cref(manifest.common), std::cref(row.where)}, [&](const Where& where) {
        return takes(where, "platform", device) && takes(where, "arch", device);
      });
}

std::optional<std::string> why_stale(const EvidenceRecord& record, const Manifest& built) {
  if (built.build.sources != record.build.sources) return "it was made from other sources";
  if (!built.build.sanitizer.empty()) return "this build is instrumented";
  if (compilers(built.build.toolkit) != compilers(record.build.toolkit))
    return fmt::format("it was made with {}, this build with {}", record.build.toolkit,
                       built.build.toolkit);
  return std::nullopt;
}

void keep_other_part(EvidenceRecord& fresh, const EvidenceRecord& before) {
  if (before.plugin != fresh.plugin || before.device != fresh.device ||
      before.build.sources != fresh.build.sources ||
      compilers(before.build.toolkit) != compilers(fresh.build.toolkit))
    return;
  if (!fresh.times) fresh.times = before.times;
  if (fresh.judged() || !before.judged()) return;
  fresh.date = before.date;
  fresh.tier = before.tier;
  fresh.levels = before.levels;
  fresh.rows = before.rows;
}

std::vector<std::string> stale_rows(const EvidenceRecord& record, const Manifest& built) {
  std::vector<std::string> out;
  for (const RowEvidence& evidence : record.rows) {
    const Row* row = find_row(built, evidence.row);
    if (row == nullptr || row_digest(built, *row) != evidence.digest) out.push_back(evidence.row);
  }
  return out;
}

void write_levels(Manifest& built, std::span<const EvidenceRecord> records) {
  std::set<std::string_view> covered;
  for (const std::string& target : built.build.targets) covered.merge(devices_of(target));
  for (const Row& row : built.rows) {
    for (const KnownDevice& device : known_devices()) {
      if (covered.contains(device.name) && row_takes(built, row, device))
        built.build.evidence[row.name].emplace(device.name, "compiled");
    }
  }
  for (const EvidenceRecord& record : records) {
    if (why_stale(record, built)) continue;
    for (const RowEvidence& evidence : record.rows) {
      const auto levels = built.build.evidence.find(evidence.row);
      if (levels == built.build.evidence.end() || !evidence.proven()) continue;
      if (row_digest(built, *find_row(built, evidence.row)) == evidence.digest)
        raise_row(built, *find_row(built, evidence.row), record, levels->second);
    }
  }
}

std::string evidence_level(const Manifest& manifest, std::string_view row,
                           std::string_view device) {
  const auto by_row = manifest.build.evidence.find(std::string(row));
  if (by_row == manifest.build.evidence.end()) return "declared";
  if (const auto exact = by_row->second.find(std::string(device)); exact != by_row->second.end())
    return exact->second;
  for (const auto& [arch, level] : by_row->second) {
    if (devices_of(arch).contains(device)) return level;
  }
  return "declared";
}

}  // namespace dsakit
