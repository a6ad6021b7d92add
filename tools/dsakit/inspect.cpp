// dsakit inspect: everything that a plugin file, a manifest or a backend of the catalogue claims,
// and what is wrong with it. Nothing is loaded.
#include <filesystem>
#include <ostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "command.hpp"
#include "diag/nearest.hpp"
#include "host/status.hpp"
#include "print.hpp"
#include "report.hpp"
#include "table.hpp"
#include "target.hpp"

namespace dsakit::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Inspected {
  Target target;
  std::string status;  // what the catalogue does with it; empty for a file that was named
};

bool names_file(const std::string& text) {
  std::error_code error;
  return text.find('/') != std::string::npos || std::filesystem::is_regular_file(text, error);
}

Inspected from_entry(const CatalogEntry& entry) {
  Inspected out;
  out.status = entry_status_name(entry.status);
  out.target.file = entry.file;
  out.target.plugin = entry.plugin;
  out.target.manifest = entry.manifest;
  out.target.diagnostics = entry.diagnostics;
  if (entry.manifest) out.target.json = entry.manifest->json;
  return out;
}

// Files of the catalogue with this id, the used one first; a file that could not be read counts by
// name.
std::vector<Inspected> by_id(const Catalog& catalog, const std::string& id) {
  std::vector<Inspected> out;
  for (const CatalogEntry& entry : catalog.entries()) {
    const bool same = entry.manifest
                          ? entry.manifest->id == id
                          : std::filesystem::path(entry.file).stem() == "libdsakit_" + id;
    if (!same) continue;
    const bool used = entry.status == CatalogEntry::Status::used;
    out.insert(used ? out.begin() : out.end(), from_entry(entry));
  }
  return out;
}

Diagnostic unknown_id(const Catalog& catalog, const std::string& id) {
  Diagnostic unknown = Diagnostic(Code::E0201).with("backend", id).with("catalog", catalog.name());
  if (const auto near = nearest_of_all(id, catalog.solver().ids())) {
    unknown = std::move(unknown)
                  .with("nearest", *near)
                  .note(fmt::format("the nearest name is `{}`", *near));
  }
  return unknown;
}

Json plugin_json(const PluginFile& plugin) {
  return {{"size", plugin.size},
          {"soname", plugin.soname},
          {"needed", plugin.needed},
          {"runpath", plugin.runpath},
          {"static_tls", plugin.static_tls}};
}

Json inspected_json(const Inspected& inspected) {
  const Target& target = inspected.target;
  Json out;
  out["file"] = target.file;
  if (!inspected.status.empty()) out["status"] = inspected.status;
  if (target.plugin) out["plugin"] = plugin_json(*target.plugin);
  Json manifest = Json::parse(target.json, nullptr, false);
  out["manifest"] = manifest.is_discarded() ? Json() : std::move(manifest);
  out["valid"] = !target.broken();
  out["diagnostics"] = diagnostics_json(target.diagnostics);
  return out;
}

std::vector<std::string> where_lines(const Where& where) {
  std::vector<std::string> out;
  for (const auto& [dim, predicate] : where) {
    out.push_back(fmt::format("{}: {}", dim, predicate_text(predicate)));
  }
  if (out.empty()) out.emplace_back("nothing");
  return out;
}

std::string evidence_text(const BuildInfo& build, const std::string& row) {
  std::string out;
  const auto levels = build.evidence.find(row);
  if (levels == build.evidence.end()) return "";
  for (const auto& [arch, level] : levels->second)
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", arch, level);
  return out;
}

void add_if(Table& table, const char* name, const std::string& text) {
  if (!text.empty()) table.add({name, text});
}

void add_plugin(Table& table, const PluginFile& plugin) {
  table.add({"size", fmt::format("{} bytes", plugin.size)});
  add_if(table, "soname", plugin.soname);
  add_if(table, "needs", fmt::format("{}", fmt::join(plugin.needed, ", ")));
  add_if(table, "runpath", plugin.runpath);
  if (plugin.static_tls) table.add({"static TLS", "yes"});
}

void print_rows(std::ostream& out, const Manifest& manifest) {
  for (const Row& row : manifest.rows) {
    out << '\n';
    print_line(out, fmt::format("row {}", row.name));
    Table table({"", ""});
    table.add({"rank", row.rank == 0 ? "0, only when named" : std::to_string(row.rank)});
    table.add({"serves", where_lines(row.where)});
    std::vector<std::string> provides;
    for (const auto& [dim, value] : row.provides) {
      provides.push_back(fmt::format("{}: {}", dim, value_text(value)));
    }
    table.add({"provides", provides});
    add_if(table, "evidence", evidence_text(manifest.build, row.name));
    add_if(table, "note", row.note);
    out << table.text(2);
  }
}

void add_manifest(Table& table, const Manifest& manifest) {
  table.add({"id", manifest.id});
  table.add({"version", version_of(manifest)});
  table.add({"schema", std::to_string(manifest.schema)});
  table.add({"plugin ABI", fmt::format("{} to {}", manifest.abi_min, manifest.abi_max)});
  add_if(table, "summary", manifest.summary);
  add_if(table, "vendor", manifest.vendor);
  add_if(table, "license", manifest.license);
  add_if(table, "url", manifest.url);
  add_if(table, "conflicts", fmt::format("{}", fmt::join(manifest.conflicts, ", ")));
  for (const Dimension& dim : manifest.dims) {
    table.add({"dimension",
               fmt::format("{}: {}, neutral {}{}{}  {}", dim.name, dim_type_name(dim.type),
                           dim.neutral ? value_text(*dim.neutral) : "none",
                           dim.open ? ", open" : "", dim.shared ? ", shared" : "", dim.doc)});
  }
  if (manifest.has_build) {
    table.add({"built for", fmt::format("{}", fmt::join(manifest.build.targets, ", "))});
    add_if(table, "toolkit", manifest.build.toolkit);
    for (const auto& [language, flags] : manifest.build.flags)
      table.add({"flags", fmt::format("{}: {}", language, flags)});
    add_if(table, "sources", manifest.build.sources);
    add_if(table, "sanitizer", manifest.build.sanitizer);
    add_if(table, "commit", manifest.build.commit);
  }
  if (!manifest.common.empty()) table.add({"all rows", where_lines(manifest.common)});
}

void print_text(const Cli& cli, const Inspected& inspected) {
  const Target& target = inspected.target;
  std::ostream& out = cli.out();
  Table table({"", ""});
  table.add(
      {"file", target.file + (inspected.status.empty() ? "" : "  (" + inspected.status + ")")});
  if (target.plugin) add_plugin(table, *target.plugin);
  if (target.manifest) add_manifest(table, *target.manifest);
  out << table.text();
  if (target.manifest) {
    print_rows(out, *target.manifest);
  } else if (!target.json.empty()) {
    const Json manifest = Json::parse(target.json, nullptr, false);
    if (!manifest.is_discarded()) {
      out << "\nmanifest, as it stands in the file\n"
          << manifest.dump(2, ' ', true, Json::error_handler_t::replace) << '\n';
    }
  }
  if (!target.diagnostics.empty()) out << '\n';
  for (const Diagnostic& diagnostic : target.diagnostics)
    out << render_text(diagnostic, cli.style());
}

int print_all(const Cli& cli, const std::vector<Inspected>& all, const std::string& catalog) {
  bool valid = true;
  Json list = Json::array();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (cli.options.json()) {
      list.push_back(inspected_json(all[i]));
    } else {
      if (i > 0) cli.out() << '\n';
      print_text(cli, all[i]);
    }
    valid = valid && (!all[i].target.broken() || i > 0);
  }
  if (cli.options.json()) {
    Json out;
    if (!catalog.empty()) out["catalog"] = catalog;
    out["files"] = std::move(list);
    cli.out() << dump(out) << '\n';
  }
  return static_cast<int>(valid ? Status::yes : Status::no);
}

int inspect_file(Cli& cli, const std::string& file) {
  auto target = read_target(file);
  if (!target) return cli.fail(target.error());
  return print_all(cli, {{std::move(*target), ""}}, "");
}

int inspect(Cli& cli) {
  const std::string& name = cli.options.targets.front();
  if (names_file(name)) return inspect_file(cli, name);
  const auto advisor = cli.open_advisor();
  if (!advisor) return cli.fail(advisor.error());
  const Catalog& catalog = advisor->catalog();
  const auto found = by_id(catalog, name);
  if (found.empty() && (name.ends_with(".so") || name.ends_with(".json")))
    return inspect_file(cli, name);  // it is not there, and the reason says so
  if (found.empty()) return cli.fail(unknown_id(catalog, name));
  if (!cli.options.json()) print_line(cli.out(), fmt::format("catalog   {}", catalog.name()));
  return print_all(cli, found, catalog.name());
}

}  // namespace

const Command& inspect_command() {
  static constexpr Command kCommand{
      .name = "inspect",
      .about = "all that a backend or a file claims; nothing is loaded",
      .options = kCatalogOptions | kFormatOption,
      .body = inspect,
      .target = "target",
      .target_about = "a backend of the catalogue, a plugin file or a manifest",
      .min_targets = 1,
      .max_targets = 1,
      .help =
          "Example:\n"
          "  dsakit inspect --catalog sglang flashmla_kv\n",
      .exit_codes =
          "0 it can be used; 1 it is broken, or the catalogue has no such backend;\n"
          "2 usage; 3 the file cannot be read."};
  return kCommand;
}

}  // namespace dsakit::cli
