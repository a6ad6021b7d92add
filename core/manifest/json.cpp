#include "manifest/json.hpp"

#include <array>

#include "manifest/json_tree.hpp"

namespace dsakit {
namespace {

using nlohmann::json;

// Characters that stand for themselves in a JSON string.
constexpr std::array<bool, 256> kPlain = [] {
  std::array<bool, 256> plain{};
  for (std::size_t c = ' '; c <= '~'; ++c) plain[c] = c != '"' && c != '\\';
  return plain;
}();

std::string cut(std::string text) {
  constexpr std::size_t kMax = 60;
  if (text.size() <= kMax) return text;
  std::size_t end = kMax - 3;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  text.resize(end);
  return text + "...";
}

}  // namespace

tl::expected<json, std::string> parse_strict_json(std::string_view text, const JsonLimits& limits) {
  const auto tree = JsonTree::parse(text, limits);
  if (!tree) return tl::unexpected(tree.error());
  return tree->root().to_json();
}

std::string canonical_json(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

void append_json_string(std::string& out, std::string_view text) {
  bool plain = true;
  for (const char c : text) plain &= kPlain[static_cast<unsigned char>(c)];
  if (!plain) {
    out += canonical_json(json(text));
    return;
  }
  out += '"';
  out += text;
  out += '"';
}

std::string json_excerpt(const json& value) {
  return cut(canonical_json(value));
}

std::string json_excerpt(const JsonValue& value) {
  std::string text;
  value.append_to(text);
  return cut(std::move(text));
}

}  // namespace dsakit
