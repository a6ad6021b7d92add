// Finds `id` and `version` in the embedded manifest, so that a plugin's table repeats them from
// their one source. Not a JSON parser: it reads the canonical form that the build embeds, whose
// grammar was checked before.
//
// Invariants: looks at top-level keys only; no allocation; no throw. Any thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace dsakit::sdk {

// The raw value of a top-level key: `"cpu"`, `[0,1,0]`; empty if there is none.
constexpr std::string_view top_level_value(std::string_view json, std::string_view key) {
  int depth = 0;
  bool in_string = false;
  std::size_t string_start = 0;
  std::size_t value_start = 0;
  bool wanted = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c != '"') continue;
      in_string = false;
      const std::string_view text = json.substr(string_start, i - string_start);
      const bool is_key = depth == 1 && i + 1 < json.size() && json[i + 1] == ':';
      if (is_key && text == key) {
        wanted = true;
        value_start = i + 2;
      }
      continue;
    }
    if (wanted && depth == 1 && i > value_start && (c == ',' || c == '}'))
      return json.substr(value_start, i - value_start);
    if (c == '"') {
      in_string = true;
      string_start = i + 1;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return {};
}

// `"cpu"` → `cpu`.
constexpr std::string_view unquoted(std::string_view value) {
  return value.size() < 2 ? std::string_view{} : value.substr(1, value.size() - 2);
}

// `[1,20,3]`, item 1 → 20; 0 if there is none.
constexpr std::uint32_t list_item(std::string_view list, int item) {
  std::uint32_t number = 0;
  int index = 0;
  for (const char c : list) {
    if (c == ',') ++index;
    if (index == item && c >= '0' && c <= '9')
      number = number * 10 + static_cast<std::uint32_t>(c - '0');
  }
  return number;
}

}  // namespace dsakit::sdk
