// dsakit doctor: what is here, what is missing and why, and what would be used.
#include <algorithm>
#include <ostream>
#include <set>

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

// The ids that some request on a device can use in a phase, without naming them.
std::vector<std::string> automatic_ids(const Solver& solver, Phase phase,
                                       const DetectedDevice& device) {
  std::vector<std::string> ids;
  for (const Choice& choice : solver.choices(phase, device.platform, device.device)) {
    if (choice.automatic) ids.push_back(choice.id);
  }
  return ids;
}

std::string device_text(const DetectedDevice& device) {
  std::string out = device.name;
  if (device.memory_bytes > 0) out += fmt::format(", {} MiB", device.memory_bytes >> 20);
  if (!device.driver.empty()) out += fmt::format(", driver {}", device.driver);
  if (!device.runtime_cuda.empty()) out += fmt::format(", CUDA up to {}", device.runtime_cuda);
  if (!device.runtime_hip.empty()) out += fmt::format(", HIP {}", device.runtime_hip);
  return out;
}

// Whether anything can be used on a device of this machine.
bool anything_usable(const Solver& solver, const Detection& detection) {
  return std::any_of(detection.devices.begin(), detection.devices.end(),
                     [&](const DetectedDevice& device) {
                       return std::any_of(kPhases.begin(), kPhases.end(), [&](Phase phase) {
                         return !automatic_ids(solver, phase, device).empty();
                       });
                     });
}

void print_devices(std::ostream& out, const Detection& detection) {
  out << "\ndevices\n";
  Table table({"", "", ""});
  for (const DetectedDevice& device : detection.devices) {
    const std::string known = find_device(device.device) ? "" : "  (unknown to dsakit)";
    table.add({fmt::format("{} {}", device.platform, device.ordinal), device.device,
               device_text(device) + known});
  }
  for (const ProbeNote& note : detection.notes) table.add({note.platform, "-", note.text});
  out << table.text(2);
}

void print_skipped(std::ostream& out, const Cli& cli) {
  if (cli.surroundings().skipped_parts.empty()) return;
  out << "\nnot in this build\n";
  for (const std::string& part : cli.surroundings().skipped_parts) out << "  " << part << '\n';
}

void print_search(std::ostream& out, const Catalog& catalog) {
  if (catalog.searched().empty()) return;
  out << "\nplugin folders\n";
  Table table({"", "", ""});
  for (const SearchDir& dir : catalog.searched()) table.add({dir.path, dir.origin, dir.state});
  out << table.text(2);
}

void print_backends(std::ostream& out, const Catalog& catalog) {
  out << '\n';
  print_line(out, fmt::format("backends of catalogue {}", catalog.name()));
  Table table({"", "", ""});
  for (const CatalogEntry& entry : catalog.entries()) {
    const std::string id = entry.manifest ? entry.manifest->id : "-";
    const bool told = entry.status != CatalogEntry::Status::used && !entry.diagnostics.empty();
    table.add({id, std::string(entry_status_name(entry.status)),
               told ? headline(entry.diagnostics.back()) : entry.file});
  }
  if (table.empty()) table.add({"none", "", ""});
  out << table.text(2);
}

void print_use(std::ostream& out, const Solver& solver, const Detection& detection) {
  out << "\nwhat can be used here without naming it\n";
  Table table({"", "", ""});
  std::set<std::string> seen;
  for (const DetectedDevice& device : detection.devices) {
    std::string name = device.device;
    if (!seen.insert(name).second) continue;
    for (const Phase phase : kPhases) {
      const auto ids = automatic_ids(solver, phase, device);
      table.add({name, std::string(phase_name(phase)),
                 ids.empty() ? "nothing" : fmt::format("{}", fmt::join(ids, ", "))});
      name.clear();
    }
  }
  out << table.text(2);
}

// What the exit code stands for, and what to ask next.
void print_result(std::ostream& out, const Catalog& catalog, bool usable) {
  out << "\nresult\n";
  if (usable) {
    print_line(out,
               fmt::format("  catalogue {} can serve a device of this machine", catalog.name()));
    return;
  }
  print_line(out,
             fmt::format("  catalogue {} cannot serve any device of this machine (exit code {})",
                         catalog.name(), static_cast<int>(Status::environment)));
  if (is_manifest_only(catalog)) {
    print_line(
        out,
        fmt::format("  it is for planning: `dsakit matrix --catalog {}` shows what it serves, and "
                    "--device plans for another machine",
                    catalog.name()));
    return;
  }
  std::vector<std::string> others = catalog_names();
  std::erase(others, catalog.name());
  print_line(
      out,
      fmt::format("  `dsakit list --why` says what became of each file; --catalog {} plans without "
                  "plugins",
                  fmt::join(others, ", ")));
}

void print_environment(std::ostream& out, const Cli& cli, const Advisor& advisor) {
  const Environment& environment = cli.surroundings().environment;
  Table table({"", ""});
  const auto add = [&table](const char* name, const std::optional<std::string>& value) {
    if (value) table.add({name, *value});
  };
  add("DSAKIT_BACKEND", environment.backend);
  add("DSAKIT_BACKEND_PREFILL", environment.backend_prefill);
  add("DSAKIT_BACKEND_DECODE", environment.backend_decode);
  add("DSAKIT_BACKEND_MTP", environment.backend_mtp);
  add("DSAKIT_PLUGIN_PATH", environment.plugin_path);
  add("DSAKIT_PLUGIN_PATH_ADD", environment.plugin_path_add);
  add("DSAKIT_LOG", environment.log);
  if (!environment.backends_disable.empty()) {
    table.add({"DSAKIT_BACKENDS_DISABLE",
               fmt::format("{}", fmt::join(environment.backends_disable, ","))});
  }
  if (!advisor.options().user.file.empty())
    table.add({"configuration", advisor.options().user.file});
  if (!table.empty()) out << "\nsettings\n" << table.text(2);
}

Json doctor_json(const Catalog& catalog, const Detection& detection, const Cli& cli) {
  Json out;
  out["version"] = DSAKIT_VERSION;
  out["devices"] = Json::array();
  for (const DetectedDevice& device : detection.devices) {
    Json entry{{"device", device.device},
               {"platform", device.platform},
               {"ordinal", device.ordinal},
               {"name", device.name},
               {"memory_bytes", device.memory_bytes},
               {"driver", device.driver},
               {"runtime_cuda", device.runtime_cuda},
               {"runtime_hip", device.runtime_hip}};
    for (const Phase phase : kPhases) {
      entry["automatic"][std::string(phase_name(phase))] =
          automatic_ids(catalog.solver(), phase, device);
    }
    out["devices"].push_back(std::move(entry));
  }
  out["usable"] = anything_usable(catalog.solver(), detection);
  out["missing"] = Json::array();
  for (const ProbeNote& note : detection.notes) {
    out["missing"].push_back({{"platform", note.platform}, {"reason", note.text}});
  }
  if (!cli.surroundings().skipped_parts.empty())
    out["not_built"] = cli.surroundings().skipped_parts;
  out["catalog"] = catalog.name();
  out["searched"] = searched_json(catalog);
  out["entries"] = Json::array();
  for (const CatalogEntry& entry : catalog.entries()) {
    Json item{{"file", entry.file}, {"status", entry_status_name(entry.status)}};
    if (entry.manifest) item["id"] = entry.manifest->id;
    item["diagnostics"] = diagnostics_json(entry.diagnostics);
    out["entries"].push_back(std::move(item));
  }
  std::vector<Diagnostic> diagnostics = cli.surroundings().environment.diagnostics;
  diagnostics.insert(diagnostics.end(), catalog.diagnostics().begin(), catalog.diagnostics().end());
  out["diagnostics"] = diagnostics_json(diagnostics);
  return out;
}

int doctor(Cli& cli) {
  const auto advisor = cli.open_advisor();
  if (!advisor) return cli.fail(advisor.error());
  const Catalog& catalog = advisor->catalog();
  const Detection detection = cli.surroundings().detect();
  const bool usable = anything_usable(catalog.solver(), detection);
  if (cli.options.json()) {
    cli.out() << dump(doctor_json(catalog, detection, cli)) << '\n';
  } else {
    std::ostream& out = cli.out();
    out << fmt::format("dsakit    {}\n", DSAKIT_VERSION);
    print_devices(out, detection);
    print_skipped(out, cli);
    print_environment(out, cli, *advisor);
    print_search(out, catalog);
    print_backends(out, catalog);
    print_use(out, catalog.solver(), detection);
    print_result(out, catalog, usable);
    for (const Diagnostic& diagnostic : catalog.diagnostics()) {
      // The folders stand above already.
      if (diagnostic.code != Code::W0114) out << '\n' << render_text(diagnostic, cli.style());
    }
  }
  return static_cast<int>(usable ? Status::yes : Status::environment);
}

}  // namespace

const Command& doctor_command() {
  static constexpr Command kCommand{
      .name = "doctor",
      .about = "what is here, what is missing, what would be used",
      .options = kCatalogOptions | kFormatOption,
      .body = doctor,
      .exit_codes =
          "0 a device of this machine can be served by a backend of the catalogue that need\n"
          "not be named; 2 usage; 3 none can. The last lines of the output say which."};
  return kCommand;
}

}  // namespace dsakit::cli
