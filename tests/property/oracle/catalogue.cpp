#include <algorithm>

#include "property/oracle/oracle.hpp"
#include "property/oracle/predicates.hpp"

namespace dsakit::oracle {
namespace {

// A range over majors, or any other arch token that names nothing, is a schema error.
bool arch_tokens_are_sound(const Json& where) {
  if (!where.contains("arch") || !where["arch"].is_array()) return true;
  return std::all_of(where["arch"].begin(), where["arch"].end(), [](const Json& token) {
    return devices_of(token.get<std::string>()).has_value();
  });
}

Dim read_dim(const Json& json) {
  Dim dim;
  dim.type = *type_named(json.at("type").get<std::string>());
  if (json.contains("neutral")) dim.neutral = without_aliases(json["neutral"]);
  dim.open = json.value("open", false);
  dim.shared = json.value("shared", false);
  return dim;
}

void add(Row& row, const std::string& dim, const Json& predicate) {
  row.where.emplace_back(dim, without_aliases(predicate));
}

bool same_declaration(const Dim& a, const Dim& b) {
  if (a.type != b.type || a.open != b.open || a.shared != b.shared) return false;
  if (a.neutral.has_value() != b.neutral.has_value()) return false;
  return !a.neutral || same_value(*a.neutral, *b.neutral, a.type);
}

}  // namespace

Catalogue::Catalogue(const std::vector<Json>& manifests) : dims_(builtin_dims()) {
  std::vector<const Json*> kept;
  for (const auto& manifest : manifests) {
    const auto id = manifest.at("id").get<std::string>();
    if (!admit(manifest)) {
      set_aside_.push_back(id);
      continue;
    }
    ids_.push_back(id);
    kept.push_back(&manifest);
  }
  for (const Json* manifest : kept) {
    const auto id = manifest->at("id").get<std::string>();
    for (const auto& other : manifest->value("conflicts", Json::array())) {
      conflicts_.emplace(id, other.get<std::string>());
    }
    for (const auto& json : manifest->at("rows")) {
      Row row{id, json.at("name"), json.value("rank", std::int64_t{0}), {}, {}};
      const Json common = manifest->value("common", Json::object());
      for (const auto& [dim, predicate] : common.items()) add(row, dim, predicate);
      const Json where = json.value("where", Json::object());
      for (const auto& [dim, predicate] : where.items()) add(row, dim, predicate);
      for (const auto& [dim, value] : json.at("provides").items()) row.provides[dim] = value;
      rows_.push_back(std::move(row));
    }
  }
}

bool Catalogue::admit(const Json& manifest) {
  if (!arch_tokens_are_sound(manifest.value("common", Json::object()))) return false;
  for (const auto& row : manifest.at("rows")) {
    if (!arch_tokens_are_sound(row.value("where", Json::object()))) return false;
  }
  const Json declared = manifest.value("dims", Json::object());
  for (const auto& [name, json] : declared.items()) {
    if (builtin_dims().contains(name)) return false;
    const auto known = dims_.find(name);
    if (known != dims_.end() && !same_declaration(known->second, read_dim(json))) return false;
  }
  for (const auto& [name, json] : declared.items()) dims_.emplace(name, read_dim(json));
  return true;
}

bool Catalogue::conflict(const std::string& a, const std::string& b) const {
  return conflicts_.contains({a, b}) || conflicts_.contains({b, a});
}

}  // namespace dsakit::oracle
