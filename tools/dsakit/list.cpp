// dsakit list: the backends of a catalogue; with --why every file that was looked at.
#include <ostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "command.hpp"
#include "host/status.hpp"
#include "manifest/arch.hpp"
#include "print.hpp"
#include "report.hpp"
#include "table.hpp"

namespace dsakit::cli {
namespace {

using Json = nlohmann::ordered_json;
using EntryStatus = CatalogEntry::Status;

constexpr std::size_t kDevicesShown = 6;

std::string phases_of(const Reach& reach) {
  std::string out;
  for (const Phase phase : kPhases) {
    if (!reach.phases[index(phase)]) continue;
    if (!out.empty()) out += ' ';
    out += phase_name(phase);
  }
  return out;
}

std::string devices_of(const Reach& reach) {
  std::string out;
  for (std::size_t i = 0; i < std::min(reach.devices.size(), kDevicesShown); ++i) {
    out += (i > 0 ? " " : "") + reach.devices[i];
  }
  if (reach.devices.size() > kDevicesShown) {
    out += fmt::format(" +{}", reach.devices.size() - kDevicesShown);
  }
  return out;
}

Json entry_json(const CatalogEntry& entry, const std::map<std::string, Reach>& reaches) {
  Json out;
  out["file"] = entry.file;
  out["status"] = entry_status_name(entry.status);
  if (entry.manifest) {
    out["id"] = entry.manifest->id;
    out["version"] = version_of(*entry.manifest);
    out["summary"] = entry.manifest->summary;
  }
  if (entry.status == EntryStatus::used) {
    const Reach& reach = reaches.at(entry.manifest->id);
    out["devices"] = reach.devices;
    out["phases"] = Json::array();
    for (const Phase phase : kPhases) {
      if (reach.phases[index(phase)]) out["phases"].push_back(phase_name(phase));
    }
  }
  out["diagnostics"] = diagnostics_json(entry.diagnostics);
  return out;
}

void print_json(const Cli& cli, const Catalog& catalog,
                const std::map<std::string, Reach>& reaches) {
  Json out;
  out["catalog"] = catalog.name();
  out["entries"] = Json::array();
  for (const CatalogEntry& entry : catalog.entries())
    out["entries"].push_back(entry_json(entry, reaches));
  out["searched"] = searched_json(catalog);
  out["diagnostics"] = diagnostics_json(catalog.diagnostics());
  cli.out() << dump(out) << '\n';
}

void print_backends(const Cli& cli, const Catalog& catalog,
                    const std::map<std::string, Reach>& reaches) {
  Table table({"backend", "version", "phases", "devices", "summary"});
  std::size_t other = 0;
  for (const CatalogEntry& entry : catalog.entries()) {
    if (entry.status != EntryStatus::used) {
      ++other;
      continue;
    }
    const Reach& reach = reaches.at(entry.manifest->id);
    table.add({entry.manifest->id, version_of(*entry.manifest), phases_of(reach), devices_of(reach),
               entry.manifest->summary});
  }
  print_line(cli.out(), fmt::format("catalog   {}", catalog.name()));
  if (!table.empty()) cli.out() << '\n' << table.text();
  if (other > 0 && !cli.options.why) {
    cli.out() << fmt::format("\n{} more file{} not used; --why says why\n", other,
                             other == 1 ? " is" : "s are");
  }
}

void print_why(const Cli& cli, const Catalog& catalog) {
  Table searched({"", "", ""});
  for (const SearchDir& dir : catalog.searched()) searched.add({dir.path, dir.origin, dir.state});
  if (!searched.empty()) cli.out() << "\nsearched, in this order\n" << searched.text(2);
  if (!catalog.entries().empty()) cli.out() << "\nfiles\n";
  for (const CatalogEntry& entry : catalog.entries()) {
    print_line(cli.out(), fmt::format("  {}  {}", entry.file, entry_status_name(entry.status)));
    if (entry.status == EntryStatus::disabled)
      cli.out() << "   = note: DSAKIT_BACKENDS_DISABLE names its id\n";
    for (const Diagnostic& diagnostic : entry.diagnostics)
      cli.out() << render_text(diagnostic, cli.style());
  }
}

int list(Cli& cli) {
  const auto advisor = cli.open_advisor();
  if (!advisor) return cli.fail(advisor.error());
  const Catalog& catalog = advisor->catalog();
  const auto reaches = reach_of_backends(catalog.solver());
  if (cli.options.json()) {
    print_json(cli, catalog, reaches);
  } else {
    print_backends(cli, catalog, reaches);
    if (cli.options.why) print_why(cli, catalog);
    for (const Diagnostic& diagnostic : catalog.diagnostics()) cli.warn(diagnostic);
  }
  return static_cast<int>(catalog.solver().ids().empty() ? Status::environment : Status::yes);
}

}  // namespace

const Command& list_command() {
  static constexpr Command kCommand{
      .name = "list",
      .about = "the backends of a catalogue",
      .options = kWhyOption | kCatalogOptions | kFormatOption,
      .body = list,
      .exit_codes = "0 there is a backend, 2 usage, 3 there is none."};
  return kCommand;
}

}  // namespace dsakit::cli
