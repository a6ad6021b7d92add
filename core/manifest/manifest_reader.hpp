// The walk from a parsed JSON document to a Manifest, one member function for each part of the
// schema. Private to core/manifest: schema.cpp reads what stands once in a file, schema_rows.cpp
// its rows.
#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "manifest/json_tree.hpp"
#include "manifest/schema.hpp"
#include "manifest/schema_detail.hpp"

namespace dsakit {

// Walks one manifest. Each read_* returns false after it has set `refusal`; the first refusal ends
// the walk.
class ManifestReader {
 public:
  ManifestReader(const std::string& file, ManifestKind kind) : file_(file), kind_(kind) {}

  bool read(JsonValue root);

  Manifest manifest;
  std::vector<Diagnostic> warnings;
  Refusal refusal;

 private:
  using Keys = std::initializer_list<std::string_view>;

  bool fail(const JsonPath& path, std::string found, std::string allowed) {
    refusal = {path.text(), std::move(found), std::move(allowed)};
    return false;
  }
  bool fail(const JsonPath& path, JsonValue found, std::string allowed) {
    return fail(path, json_excerpt(found), std::move(allowed));
  }

  // The member; none and a refusal if it is missing.
  JsonValue need(JsonValue object, std::string_view key, const JsonPath& path,
                 std::string_view allowed);

  bool want_object(JsonValue value, const JsonPath& path, std::string_view what);
  void warn_unknown(JsonValue object, const JsonPath& path, Keys known,
                    std::map<std::string, std::string>* extra);

  bool read_text(JsonValue object, std::string_view key, const JsonPath& path, std::string& out);
  bool read_flag(JsonValue object, std::string_view key, const JsonPath& path, bool& out);
  bool read_name(JsonValue value, const JsonPath& path, std::string& out);
  bool read_id(JsonValue value, const JsonPath& path, std::string& out);
  bool read_version(JsonValue root, const JsonPath& path);
  bool read_abi(JsonValue root, const JsonPath& path);
  bool read_identity(JsonValue root, const JsonPath& path);
  bool read_dims(JsonValue value, const JsonPath& path);
  bool read_dim(JsonValue value, const JsonPath& path);
  bool read_where(JsonValue value, const JsonPath& path, Where& out);
  bool read_provides(JsonValue value, const JsonPath& path, Row& row);
  bool read_row(JsonValue value, const JsonPath& path);
  bool read_rows(JsonValue value, const JsonPath& path);
  bool read_conflicts(JsonValue value, const JsonPath& path);
  bool read_build(JsonValue value, const JsonPath& path);
  bool read_evidence(JsonValue value, const JsonPath& path);

  const Dimension* find_dim(std::string_view name) const;

  const std::string& file_;
  ManifestKind kind_;
};

}  // namespace dsakit
