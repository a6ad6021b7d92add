// The plugins of this build as a catalogue, and what it answers about real models in one line. Any
// thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "catalog/catalog.hpp"
#include "device/model_config.hpp"
#include "diag/render.hpp"

namespace dsakit::test {

// PLUGIN_DIR is a definition of the test's target.
inline const Catalog& local_catalog() {
  static const std::shared_ptr<const Catalog> catalog =
      Catalog::open_plugins({{PLUGIN_DIR, "API", true, ""}});
  return *catalog;
}

// "prefill/decode[/mtp]/kv_layout" for a model of tests/golden/models, or why not. `change` may
// type backends into the request.
inline std::string resolve_model(
    const std::string& model, const RequestOptions& options,
    const std::function<void(Request&)>& change = [](Request&) {}) {
  const auto facts =
      read_model_config(std::string(DSAKIT_TESTS_DIR) + "/golden/models/" + model + ".json");
  if (!facts) return render_text(facts.error());
  auto request = make_request(*facts, options);
  if (!request) return render_text(request.error());
  change(*request);
  const dsakit::Answer answer = local_catalog().solver().resolve(*request);
  if (!answer.ok()) return to_json(answer);
  std::string text;
  for (const std::string& backend : answer.session.backend)
    if (!backend.empty()) text += backend + "/";
  for (const auto& [dim, value] : answer.provides)
    if (dim == "kv_layout") text += value;
  return text;
}

}  // namespace dsakit::test
