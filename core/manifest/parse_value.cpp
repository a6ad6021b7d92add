// Values of dimensions from JSON, both from the tree of a manifest and from a library value of a
// request.
#include <algorithm>

#include <fmt/format.h>

#include "manifest/dimension.hpp"
#include "manifest/schema.hpp"
#include "manifest/schema_detail.hpp"

namespace dsakit {
namespace {

using nlohmann::json;
using Result = tl::expected<Value, std::string>;

// What the two kinds of JSON have in common.
std::optional<std::string_view> text_of(JsonValue value) {
  return value.is_string() ? std::optional(value.text()) : std::nullopt;
}
std::optional<std::string_view> text_of(const json& value) {
  if (!value.is_string()) return std::nullopt;
  return value.get_ref<const std::string&>();
}
std::optional<std::int64_t> integer_of(JsonValue value) {
  return value.is_integer() ? std::optional(value.integer()) : std::nullopt;
}
std::optional<std::int64_t> integer_of(const json& value) {
  if (!value.is_number_integer()) return std::nullopt;
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > INT32_MAX) return std::nullopt;
  return value.get<std::int64_t>();
}

template <class Json>
std::optional<Token> token_of(const Json& value) {
  const auto text = text_of(value);
  if (!text || !is_token(*text)) return std::nullopt;
  return Token(resolve_alias(*text));
}

template <class Json>
Result set_of(const Json& value) {
  bool good = value.is_array() && value.size() <= kMaxValues;
  Set set;
  if (good) {
    for (const auto& item : value) {
      auto token = token_of(item);
      good = good && token;
      if (token) set.push_back(std::move(*token));
    }
  }
  if (!good) {
    return tl::unexpected(
        fmt::format("a list of at most {} tokens of a-z 0-9 _ . + -", kMaxValues));
  }
  std::ranges::sort(set);
  set.erase(std::unique(set.begin(), set.end()), set.end());
  return Value(std::move(set));
}

template <class Json>
Result value_of(const Json& value, DimType type) {
  if (value.is_null()) return Value(Unknown{});
  switch (type) {
    case DimType::token:
    case DimType::arch:
      if (auto token = token_of(value)) return Value(std::move(*token));
      return tl::unexpected(std::string(kTokenText));
    case DimType::integer: {
      const auto number = integer_of(value);
      if (number && *number >= 0 && *number <= INT32_MAX)
        return Value(static_cast<std::int32_t>(*number));
      return tl::unexpected(std::string("an integer from 0 to 2147483647"));
    }
    case DimType::version: {
      const auto text = text_of(value);
      if (auto version = text ? parse_version(*text) : std::nullopt)
        return Value(std::move(*version));
      return tl::unexpected(std::string("a string of 1 to 4 dotted integers, such as \"12.8\""));
    }
    case DimType::set:
      break;
  }
  return set_of(value);
}

}  // namespace

Result read_value(JsonValue value, DimType type) {
  return value_of(value, type);
}

Result parse_value(const json& value, DimType type) {
  return value_of(value, type);
}

}  // namespace dsakit
