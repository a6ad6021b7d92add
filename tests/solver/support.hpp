// Small catalogues for tests of the solver: manifests as JSON, with every dimension that a row must
// mention open unless the test says otherwise.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "manifest/schema.hpp"
#include "solver/solver.hpp"

namespace dsakit::solver_test {

using Json = nlohmann::json;

inline Json row(const std::string& name, const Json& where = Json::object(), int rank = 100,
                const std::string& layout = "bf16_1152") {
  return {{"name", name}, {"where", where}, {"rank", rank}, {"provides", {{"kv_layout", layout}}}};
}

inline Json manifest(const std::string& id, const std::vector<Json>& rows,
                     const Json& common = Json::object()) {
  Json out{{"schema", 1}, {"id", id}, {"version", {1, 0, 0}}, {"abi", {{"min", 1}, {"max", 1}}}};
  for (const char* key : {"summary", "vendor", "license", "url"}) out[key] = "test";
  for (const char* dim : {"platform", "arch", "phase", "model_family", "kv_dtype", "page_size",
                          "heads", "topk", "d_qk", "d_v"}) {
    out["common"][dim] = "*";
  }
  out["common"].update(common);
  out["rows"] = rows;
  return out;
}

inline Solver solver_of(const std::vector<Json>& manifests) {
  std::vector<SolverInput> inputs;
  for (const Json& json : manifests) {
    auto parsed = parse_manifest(json.dump(), json["id"]);
    if (!parsed) throw std::runtime_error("not a manifest: " + json.dump());
    inputs.push_back({std::make_shared<const Manifest>(std::move(parsed->manifest)), json["id"]});
  }
  return Solver::compile(inputs, "test");
}

inline Request request_of(const Solver& solver, const Json& json) {
  auto request = parse_request(json.dump(), solver.dimensions(), solver.catalog());
  if (!request) throw std::runtime_error("not a request: " + json.dump());
  return *std::move(request);
}

// The suggested changes, as JSON text.
inline std::vector<std::string> suggested(const Answer& answer) {
  std::vector<std::string> out;
  for (const Suggestion& suggestion : answer.suggestions) out.push_back(suggestion.json);
  return out;
}

inline bool has_note(const Answer& answer, const std::string& part) {
  for (const Diagnostic& diagnostic : answer.diagnostics) {
    for (const std::string& note : diagnostic.notes) {
      if (note.find(part) != std::string::npos) return true;
    }
  }
  return false;
}

}  // namespace dsakit::solver_test
