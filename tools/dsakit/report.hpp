// Parts that list, inspect, lint, matrix and doctor print alike. Verdicts come from the solver.
// Pure; any thread.
#pragma once

#include <array>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "catalog/catalog.hpp"
#include "solver/solver.hpp"

namespace dsakit::cli {

// Where some request can use a backend, by name at least.
struct Reach {
  std::vector<std::string> devices;  // known devices, in their table's order
  std::array<bool, 3> phases{};      // by Phase, on any of them
};

std::map<std::string, Reach> reach_of_backends(const Solver& solver);

// Whether the catalogue has backends, and only their manifests: good for planning, nothing to load.
bool is_manifest_only(const Catalog& catalog);

std::string version_of(const Manifest& manifest);  // "1.0.0"

nlohmann::ordered_json diagnostics_json(std::span<const Diagnostic> diagnostics);
nlohmann::ordered_json searched_json(const Catalog& catalog);

// One line; bytes that are not UTF-8 are replaced.
std::string dump(const nlohmann::ordered_json& json);

}  // namespace dsakit::cli
