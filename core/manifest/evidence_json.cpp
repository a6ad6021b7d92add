// Evidence records as JSON. Stricter than manifests: an unknown key refuses the record, since
// nothing may be claimed that this version does not understand.
#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "manifest/evidence.hpp"
#include "manifest/evidence_reader.hpp"
#include "manifest/json.hpp"
#include "manifest/sha256.hpp"
#include "manifest/value.hpp"

namespace dsakit {
namespace {

using nlohmann::json;
using Ordered = nlohmann::ordered_json;
using detail::EvidenceReader;
using detail::read_times;
using detail::times_json;

constexpr int kRecordSchema = 1;
constexpr JsonLimits kLimits{.max_bytes = 2 * 1024 * 1024, .integers_only = false};

LevelPassed read_level(EvidenceReader& in, const json& value, const std::string& path) {
  LevelPassed out;
  if (!in.keys(value, path, {"level", "checks", "cases"}, {"skipped"})) return out;
  out.level = in.number(value["level"], path + ".level", 0, 5);
  out.checks = in.number(value["checks"], path + ".checks", 1, 1 << 20);
  out.cases = in.number(value["cases"], path + ".cases", 0, 1 << 30);
  if (value.contains("skipped")) {
    out.skipped = in.list<std::string>(
        value["skipped"], path + ".skipped",
        [&](const json& name, const std::string& here) { return in.word(name, here); });
  }
  return out;
}

// Levels in ascending order, each once.
std::vector<LevelPassed> read_levels(EvidenceReader& in, const json& value,
                                     const std::string& path) {
  auto out = in.list<LevelPassed>(value, path, [&](const json& item, const std::string& here) {
    return read_level(in, item, here);
  });
  if (std::ranges::adjacent_find(out, std::greater_equal{}, &LevelPassed::level) != out.end())
    in.fail(path, "levels out of order", "each level once, ascending");
  return out;
}

std::optional<WorstError> read_error(EvidenceReader& in, const json& row, const char* what,
                                     const std::string& path) {
  const std::string here = path + ".worst_error." + what;
  const json& errors = row["worst_error"];
  if (!errors.contains(what) ||
      !in.keys(errors[what], here, {"absolute", "relative", "of_allowed"}))
    return std::nullopt;
  return WorstError{in.measure(errors[what]["absolute"], here + ".absolute", HUGE_VAL),
                    in.measure(errors[what]["relative"], here + ".relative", HUGE_VAL),
                    in.measure(errors[what]["of_allowed"], here + ".of_allowed", 1.0)};
}

RowEvidence read_row(EvidenceReader& in, const json& value, const std::string& path) {
  RowEvidence out;
  if (!in.keys(value, path, {"row", "digest", "levels"}, {"worst_error"})) return out;
  out.row = in.word(value["row"], path + ".row");
  out.digest = in.digest(value["digest"], path + ".digest");
  out.levels = read_levels(in, value["levels"], path + ".levels");
  if (value.contains("worst_error") &&
      in.keys(value["worst_error"], path + ".worst_error", {}, {"out", "lse"})) {
    out.out = read_error(in, value, "out", path);
    out.lse = read_error(in, value, "lse", path);
  }
  return out;
}

void read_device(EvidenceReader& in, const json& value, EvidenceRecord& out) {
  if (!in.keys(value, "device", {"name", "arch"}, {"driver", "runtime", "emulated"})) return;
  out.device = in.text(value["name"], "device.name");
  out.arch = in.word(value["arch"], "device.arch");
  if (!in.refusal && find_device(out.arch) == nullptr)
    in.fail("device.arch", json_excerpt(value["arch"]), "a device that dsakit knows");
  if (value.contains("driver")) out.driver = in.text(value["driver"], "device.driver");
  if (value.contains("runtime")) out.runtime = in.text(value["runtime"], "device.runtime");
  if (value.contains("emulated")) out.emulated = in.flag(value["emulated"], "device.emulated");
}

void read_build(EvidenceReader& in, const json& value, BuildInfo& out) {
  if (!in.keys(value, "build", {"sources", "targets", "toolkit"}, {"flags", "commit"})) return;
  out.sources = in.digest(value["sources"], "build.sources");
  out.targets = in.list<std::string>(
      value["targets"], "build.targets",
      [&](const json& item, const std::string& path) { return in.word(item, path); });
  out.toolkit = in.text(value["toolkit"], "build.toolkit");
  if (value.contains("commit")) out.commit = in.text(value["commit"], "build.commit");
  if (!value.contains("flags")) return;
  if (!value["flags"].is_object()) {
    in.fail("build.flags", json_excerpt(value["flags"]), "an object of flags by language");
    return;
  }
  for (const auto& [language, flags] : value["flags"].items())
    out.flags[language] = in.text(flags, "build.flags." + language);
}

EvidenceRecord read_record(EvidenceReader& in, const json& root) {
  EvidenceRecord out;
  std::vector<std::string> needed{"schema", "plugin", "date", "device", "build"};
  const bool judged = !root.is_object() || !root.contains("times") || root.contains("tier") ||
                      root.contains("levels") || root.contains("rows");
  if (judged) needed.insert(needed.end(), {"tier", "levels", "rows"});
  if (!in.keys(root, "", needed, {"times"})) return out;
  in.number(root["schema"], "schema", kRecordSchema, kRecordSchema);
  out.plugin = in.word(root["plugin"], "plugin");
  out.date = in.text(root["date"], "date");
  in.check_date(out.date, "date");
  read_device(in, root["device"], out);
  read_build(in, root["build"], out.build);
  if (root.contains("times")) out.times = read_times(in, root["times"], "times");
  if (!judged) return out;
  out.tier = in.word(root["tier"], "tier");
  if (out.tier != "reduced" && out.tier != "full")
    in.fail("tier", json_excerpt(root["tier"]), "reduced or full");
  out.levels = read_levels(in, root["levels"], "levels");
  out.rows = in.list<RowEvidence>(
      root["rows"], "rows",
      [&](const json& item, const std::string& path) { return read_row(in, item, path); });
  for (std::size_t i = 0; i < out.rows.size(); ++i) {
    const auto first = std::ranges::find(out.rows, out.rows[i].row, &RowEvidence::row);
    if (first != out.rows.begin() + static_cast<std::ptrdiff_t>(i))
      in.fail(fmt::format("rows[{}].row", i), json_excerpt(out.rows[i].row), "each row once");
  }
  return out;
}

Ordered levels_json(const std::vector<LevelPassed>& levels) {
  Ordered out = Ordered::array();
  for (const LevelPassed& level : levels) {
    Ordered item{{"level", level.level}, {"checks", level.checks}, {"cases", level.cases}};
    if (!level.skipped.empty()) item["skipped"] = level.skipped;
    out.push_back(std::move(item));
  }
  return out;
}

// Three digits are as many as an error has.
double rounded(double value) {
  return std::stod(fmt::format("{:.2e}", value));
}

Ordered row_json(const RowEvidence& row) {
  Ordered out{{"row", row.row}, {"digest", row.digest}, {"levels", levels_json(row.levels)}};
  const auto add = [&out](const char* name, const std::optional<WorstError>& error) {
    if (!error) return;
    out["worst_error"][name] = {{"absolute", rounded(error->absolute)},
                                {"relative", rounded(error->relative)},
                                {"of_allowed", rounded(error->of_allowed)}};
  };
  add("out", row.out);
  add("lse", row.lse);
  return out;
}

// A list with an item a line.
std::string lines(const Ordered& list) {
  std::string out;
  for (const Ordered& item : list) out += (out.empty() ? "\n  " : ",\n  ") + item.dump();
  return "[" + out + "]";
}

}  // namespace

tl::expected<EvidenceRecord, Diagnostic> parse_evidence(std::string_view text,
                                                        const std::string& file) {
  const auto root = parse_strict_json(text, kLimits);
  if (!root) {
    return tl::unexpected(Diagnostic(Code::E0106).with("file", file).with("reason", root.error()));
  }
  EvidenceReader reader(file);
  EvidenceRecord record = read_record(reader, *root);
  if (reader.refusal) return tl::unexpected(std::move(*reader.refusal));
  return record;
}

std::string evidence_json(const EvidenceRecord& record) {
  Ordered device{{"name", record.device}, {"arch", record.arch}};
  if (!record.driver.empty()) device["driver"] = record.driver;
  if (!record.runtime.empty()) device["runtime"] = record.runtime;
  if (record.emulated) device["emulated"] = true;
  Ordered build{{"sources", record.build.sources},
                {"targets", record.build.targets},
                {"toolkit", record.build.toolkit}};
  if (!record.build.flags.empty()) build["flags"] = record.build.flags;
  if (!record.build.commit.empty()) build["commit"] = record.build.commit;
  Ordered rows = Ordered::array();
  for (const RowEvidence& row : record.rows) rows.push_back(row_json(row));
  Ordered out{{"schema", kRecordSchema},
              {"plugin", record.plugin},
              {"date", record.date},
              {"device", std::move(device)},
              {"build", std::move(build)}};
  if (record.judged()) {
    out["tier"] = record.tier;
    out["levels"] = levels_json(record.levels);
    out["rows"] = std::move(rows);
  }
  std::string text;
  for (const auto& [key, value] : out.items()) {
    text += text.empty() ? "{\n" : ",\n";
    text += fmt::format(" \"{}\": {}", key, value.is_array() ? lines(value) : value.dump());
  }
  if (record.times) text += ",\n \"times\": " + times_json(*record.times);
  return text + "\n}\n";
}

}  // namespace dsakit
