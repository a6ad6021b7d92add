// The walk from a parsed JSON document to a Manifest, one member function for each part of the
// schema. Private to core/manifest: schema.cpp reads what stands once in a file, schema_rows.cpp
// its rows.
#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "manifest/json.hpp"
#include "manifest/schema.hpp"
#include "manifest/schema_detail.hpp"

namespace dsakit {

// Walks one manifest. Each read_* returns false after it has set `refusal`; the first refusal ends
// the walk.
class ManifestReader {
 public:
  ManifestReader(const std::string& file, ManifestKind kind) : file_(file), kind_(kind) {}

  bool read(const nlohmann::json& root);

  Manifest manifest;
  std::vector<Diagnostic> warnings;
  Refusal refusal;

 private:
  using Keys = std::initializer_list<std::string_view>;

  bool fail(const JsonPath& path, std::string found, std::string allowed) {
    refusal = {path.text(), std::move(found), std::move(allowed)};
    return false;
  }
  bool fail(const JsonPath& path, const nlohmann::json& found, std::string allowed) {
    return fail(path, json_excerpt(found), std::move(allowed));
  }

  // The member, or null; null and a refusal if `allowed` is given and it is missing.
  const nlohmann::json* find(const nlohmann::json& object, std::string_view key) const;
  const nlohmann::json* need(const nlohmann::json& object, std::string_view key,
                             const JsonPath& path, std::string_view allowed);

  bool want_object(const nlohmann::json& value, const JsonPath& path, std::string_view what);
  void warn_unknown(const nlohmann::json& object, const JsonPath& path, Keys known,
                    std::map<std::string, std::string>* extra);

  bool read_text(const nlohmann::json& object, std::string_view key, const JsonPath& path,
                 std::string& out);
  bool read_flag(const nlohmann::json& object, std::string_view key, const JsonPath& path,
                 bool& out);
  bool read_name(const nlohmann::json& value, const JsonPath& path, std::string& out);
  bool read_id(const nlohmann::json& value, const JsonPath& path, std::string& out);
  bool read_identity(const nlohmann::json& root, const JsonPath& path);
  bool read_dims(const nlohmann::json& value, const JsonPath& path);
  bool read_dim(const std::string& name, const nlohmann::json& value, const JsonPath& path);
  bool read_where(const nlohmann::json& value, const JsonPath& path, Where& out);
  bool read_provides(const nlohmann::json& value, const JsonPath& path, Row& row);
  bool read_row(const nlohmann::json& value, const JsonPath& path);
  bool read_rows(const nlohmann::json& value, const JsonPath& path);
  bool read_conflicts(const nlohmann::json& value, const JsonPath& path);
  bool read_build(const nlohmann::json& value, const JsonPath& path);
  bool read_evidence(const nlohmann::json& value, const JsonPath& path);

  const Dimension* find_dim(std::string_view name) const;

  const std::string& file_;
  ManifestKind kind_;
};

}  // namespace dsakit
