// Typed, bounded access to the values of a config.json. A language model inside a multimodal file
// keeps its values in `text_config`, which wins over the top level; null counts as absent, 0 does
// not.
//
// Invariants: the first wrong value is kept as error() and later reads return nothing, so a caller
// reads everything and looks once. One thread per instance.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "diag/diagnostic.hpp"

namespace dsakit {

class ConfigReader {
 public:
  // `root` must outlive the reader. A root that is no object, or a text_config that is none, is an
  // error().
  ConfigReader(const nlohmann::json& root, std::string file);

  struct Range {
    int min, max;
  };
  // Where a key is looked for first; the other place comes second.
  enum class Where : std::uint8_t { text, top };
  // The first of `keys` that is there, as an integer within `range`.
  std::optional<int> integer(std::initializer_list<std::string_view> keys, Range range);
  std::optional<bool> flag(std::string_view key);
  std::optional<std::vector<std::string>> strings(std::string_view key, Where first = Where::text);
  std::optional<std::vector<int>> integers(std::string_view key, Range range);

  bool has(std::string_view key) const { return find(key).value != nullptr; }
  // Whether the key is read from text_config.
  bool nested(std::string_view key) const { return find(key).nested; }

  const std::optional<Diagnostic>& error() const { return error_; }
  // Keeps E0502 about the value at `path` unless an earlier one is kept.
  void reject(const std::string& path, std::string found, std::string allowed);

 private:
  struct Found {
    const nlohmann::json* value = nullptr;
    bool nested = false;
    std::string path;
  };
  Found find(std::string_view key, Where first = Where::text) const;
  // `found` if it is an array of a bounded number of entries.
  const nlohmann::json* array(const Found& found);
  std::optional<int> bounded(const nlohmann::json& value, const std::string& path, Range range);

  const nlohmann::json& root_;
  const nlohmann::json* text_ = nullptr;
  std::string file_;
  std::optional<Diagnostic> error_;
};

}  // namespace dsakit
