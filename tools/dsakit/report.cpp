#include "report.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "diag/render.hpp"
#include "manifest/arch.hpp"

namespace dsakit::cli {

using Json = nlohmann::ordered_json;

std::map<std::string, Reach> reach_of_backends(const Solver& solver) {
  std::map<std::string, Reach> out;
  for (const std::string& id : solver.ids()) out[id];
  for (const KnownDevice& device : known_devices()) {
    const auto choices = solver.choices(std::string(device.platform), std::string(device.name));
    for (const Phase phase : kPhases) {
      for (const Choice& choice : choices[index(phase)]) {
        if (!choice.usable) continue;
        Reach& reach = out[choice.id];
        reach.phases[index(phase)] = true;
        if (reach.devices.empty() || reach.devices.back() != device.name) {
          reach.devices.emplace_back(device.name);
        }
      }
    }
  }
  return out;
}

bool is_manifest_only(const Catalog& catalog) {
  const auto& entries = catalog.entries();
  return !entries.empty() &&
         std::ranges::none_of(entries, [](const auto& entry) { return entry.plugin.has_value(); });
}

std::string version_of(const Manifest& manifest) {
  return fmt::format("{}", fmt::join(manifest.version, "."));
}

Json diagnostics_json(std::span<const Diagnostic> diagnostics) {
  return Json::parse(render_json(diagnostics));
}

Json searched_json(const Catalog& catalog) {
  Json out = Json::array();
  for (const SearchDir& dir : catalog.searched()) {
    out.push_back({{"path", dir.path}, {"origin", dir.origin}, {"state", dir.state}});
  }
  return out;
}

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace dsakit::cli
