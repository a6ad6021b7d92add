#include "vocabulary.hpp"

#include <map>
#include <set>

#include <fmt/format.h>

#include "device/model_config.hpp"
#include "diag/printable.hpp"
#include "manifest/arch.hpp"

namespace dsakit::cli {
namespace {

constexpr std::size_t kWidth = 100;

void collect(const Where& where, const std::string& dim, std::set<std::string>& out) {
  const auto found = where.find(dim);
  if (found == where.end()) return;
  const Predicate& predicate = found->second;
  out.insert(predicate.list.begin(), predicate.list.end());
  out.insert(predicate.includes.begin(), predicate.includes.end());
  if (predicate.subset) out.insert(predicate.subset->begin(), predicate.subset->end());
}

// "  label   a, b, c", wrapped under the first value.
std::string wrapped(const std::string& label, const std::vector<std::string>& values) {
  std::string out = fmt::format("  {:<11}", label);
  std::size_t width = out.size();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string part = values[i] + (i + 1 < values.size() ? "," : "");
    if (width + part.size() + 1 > kWidth) {
      out += "\n" + std::string(13, ' ');
      width = 13;
    } else if (i > 0) {
      out += ' ';
      ++width;
    }
    out += part;
    width += part.size();
  }
  return out + (values.empty() ? "none\n" : "\n");
}

std::vector<std::string> with_spellings(const std::vector<std::string>& tokens) {
  std::vector<std::string> out;
  for (const std::string& token : tokens) {
    const auto all = spellings(token);
    out.push_back(fmt::format("{}", fmt::join(all, " = ")));
  }
  return out;
}

std::string machine_note(const std::vector<std::string>& devices) {
  return printable(fmt::format("  (* = usable on {})", fmt::join(devices, ", "))) + "\n";
}

// The ids of a phase; those that a device of this machine can use carry a star.
std::vector<std::string> marked_ids(const Solver& solver, Phase phase,
                                    const std::vector<std::string>& here) {
  std::map<std::string, bool> usable;
  for (const std::string& device : here) {
    const KnownDevice* known = find_device(device);
    if (!known) continue;
    for (const Choice& choice : solver.choices(phase, std::string(known->platform), device)) {
      usable[choice.id] |= choice.usable;
    }
  }
  std::vector<std::string> out;
  for (const Choice& choice : solver.choices(phase, "", "")) {
    if (choice.usable) out.push_back(choice.id + (usable[choice.id] ? "*" : ""));
  }
  return out;
}

std::string backends_by_phase(const Cli& cli, const Catalog& catalog) {
  std::vector<std::string> here;
  for (const DetectedDevice& device : cli.surroundings().detect().devices) {
    if (std::find(here.begin(), here.end(), device.device) == here.end())
      here.push_back(device.device);
  }
  std::string out;
  for (const Phase phase : kPhases) {
    out += wrapped(std::string(phase_name(phase)), marked_ids(catalog.solver(), phase, here));
  }
  return out + machine_note(here);
}

std::string no_backend(const Catalog& catalog) {
  std::vector<std::string> others = catalog_names();
  std::erase(others, catalog.name());
  return fmt::format(
      "  no backend was found (`dsakit doctor` says where was searched);\n"
      "  --catalog {} --help lists the backends, KV dtypes and features of another catalogue\n",
      fmt::join(others, "|"));
}

}  // namespace

std::vector<std::string> declared_values(const Catalog& catalog, const std::string& dim) {
  std::set<std::string> out;
  for (const CatalogEntry& entry : catalog.entries()) {
    if (entry.status != CatalogEntry::Status::used) continue;
    collect(entry.manifest->common, dim, out);
    for (const Row& row : entry.manifest->rows) collect(row.where, dim, out);
  }
  return {out.begin(), out.end()};
}

std::string vocabulary(const Cli& cli) {
  std::string out = fmt::format("What catalogue `{}` knows:\n", printable(cli.options.catalog));
  const auto advisor = cli.open_advisor();
  if (!advisor) return out + render_text(advisor.error());
  const Catalog& catalog = advisor->catalog();
  const bool empty = catalog.solver().ids().empty();
  out += empty ? no_backend(catalog) : backends_by_phase(cli, catalog);
  std::vector<std::string> devices;
  for (const KnownDevice& device : known_devices()) devices.emplace_back(device.name);
  out += wrapped("devices", devices);
  if (!empty) {
    out += wrapped("kv dtypes", with_spellings(declared_values(catalog, "kv_dtype")));
    out += wrapped("features", declared_values(catalog, "features"));
    out += wrapped("families", declared_values(catalog, "model_family"));
  }
  std::vector<std::string> dims = catalog.solver().dimensions().names();
  std::erase(dims, "phase");
  return out + wrapped("--set", dims);
}

}  // namespace dsakit::cli
