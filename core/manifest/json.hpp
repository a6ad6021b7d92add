// Strict, bounded JSON: what manifests, requests and policies are read with. nlohmann-json does the
// parsing; a SAX handler enforces framework §3: UTF-8, no duplicate keys, integers only, bounded
// depth and strings. Include <nlohmann/json.hpp> users only in .cpp files. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>
#include <tl/expected.hpp>

namespace dsakit {

struct JsonLimits {
  std::size_t max_bytes = 64 * 1024;
  int max_depth = 8;
  std::size_t max_string = 256;
  std::size_t max_items = 65536;  // values in all
  bool integers_only = true;      // a number with '.', 'e' or beyond int64 is refused
};

// The parsed value, or a reason such as "duplicate key `id` in rows[0]".
tl::expected<nlohmann::json, std::string> parse_strict_json(std::string_view text,
                                                            const JsonLimits& limits = {});

// Sorted keys, no spaces, no final newline. Equal values give equal bytes.
std::string canonical_json(const nlohmann::json& value);

// Appends `text` as a JSON string, quotes included. Invalid UTF-8 becomes U+FFFD.
void append_json_string(std::string& out, std::string_view text);

// `value` for a message: the JSON value cut to at most 60 bytes.
std::string json_excerpt(const nlohmann::json& value);

}  // namespace dsakit
