// What the golden tests share: the embedded catalogue under test and requests in the words of a row
// of the enumeration (device, family, dtype, HiSparse, typed ids).
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "catalog/catalog.hpp"
#include "catalog/named.hpp"
#include "manifest/arch.hpp"

namespace dsakit::golden {

using Json = nlohmann::json;
using Texts = std::vector<std::pair<std::string, std::string>>;

inline Texts catalog_texts(std::string_view name) {
  Texts texts;
  for (const NamedCatalog& catalog : named_catalogs()) {
    if (catalog.name != name) continue;
    for (const EmbeddedManifest& manifest : catalog.manifests) {
      texts.emplace_back(manifest.file, manifest.json);
    }
  }
  return texts;
}

inline const Catalog& sglang() {
  static const std::shared_ptr<const Catalog> catalog =
      Catalog::from_texts(catalog_texts("sglang"), "sglang");
  return *catalog;
}

// The request of the enumeration: device facts and family facts, nothing about shapes.
inline Json golden_request(const std::string& device, const std::string& family,
                           const std::string& kv_dtype, bool hisparse) {
  Json features = Json::array();
  if (hisparse) features.push_back("hisparse");
  if (family == "hyv4") features.push_back("attn_sink");
  const KnownDevice* known = find_device(device);
  return {{"platform", known != nullptr ? std::string(known->platform) : "unknown"},
          {"arch", device},
          {"model_family", family},
          {"kv_dtype", kv_dtype},
          {"features", features},
          {"index_kpool", family == "glm5_next" ? 4 : 1}};
}

inline Json with(Json request, std::string_view key, Json value) {
  request[std::string(key)] = std::move(value);
  return request;
}

inline Request parse(const Catalog& catalog, const Json& json) {
  auto request = parse_request(json.dump(), catalog.solver().dimensions(), catalog.name());
  if (!request) throw std::runtime_error("not a request: " + json.dump());
  return *std::move(request);
}

inline Answer resolve(const Catalog& catalog, const Json& json) {
  return catalog.solver().resolve(parse(catalog, json));
}

inline std::string provided(const Answer& answer, std::string_view dim) {
  for (const auto& [name, value] : answer.provides) {
    if (name == dim) return Json::parse(value).get<std::string>();
  }
  return "";
}

inline const std::string& backend(const Answer& answer, Phase phase) {
  return answer.session.backend[index(phase)];
}

// "prefill/decode/kv_layout", or "rejected": what the enumeration compares.
inline std::string outcome(const Answer& answer) {
  if (!answer.ok()) return "rejected";
  return backend(answer, Phase::prefill) + "/" + backend(answer, Phase::decode) + "/" +
         provided(answer, "kv_layout");
}

}  // namespace dsakit::golden
