// What schema.cpp and predicate.cpp share: the place inside a manifest that is being read, and a
// refusal of what stands there. Private to core/manifest. Paths live on the stack and cost nothing
// until a message needs their text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include "manifest/json_tree.hpp"
#include "manifest/value.hpp"

namespace dsakit {

inline constexpr std::size_t kMaxRows = 64;
inline constexpr std::size_t kMaxPredicates = 32;
inline constexpr std::size_t kMaxValues = 64;

inline constexpr std::string_view kTokenText = "a token of 1 to 64 characters a-z 0-9 _ . + -";

// One step of a JSON path. A parent must outlive its children.
class JsonPath {
 public:
  JsonPath() = default;
  // A path that is already text.
  explicit JsonPath(std::string_view text) : text_(text) {}

  JsonPath key(std::string_view name) const { return {this, name, -1}; }
  JsonPath item(std::size_t index) const { return {this, {}, static_cast<int>(index)}; }

  // rows[0].where["acme.tile"].min; "the top level" for the root.
  std::string text() const;

 private:
  JsonPath(const JsonPath* parent, std::string_view text, int index)
      : parent_(parent), text_(text), index_(index) {}
  void append(std::string& out) const;

  const JsonPath* parent_ = nullptr;
  std::string_view text_;
  int index_ = -1;
};

struct Refusal {
  std::string path, found, allowed;
};
using Status = tl::expected<void, Refusal>;

// `found` is cut to a short piece of JSON.
tl::unexpected<Refusal> refuse(const JsonPath& path, JsonValue found, std::string allowed);

// `text` as a short piece of JSON.
std::string json_quoted(std::string_view text);

// An integer of lowest…2^31−1.
std::optional<std::int32_t> read_int(JsonValue value, std::int32_t lowest = 0);

// A token with aliases resolved, or null.
std::optional<std::string_view> read_token(JsonValue value);

// Fills `out`, which is empty before.
Status read_predicate(JsonValue value, std::optional<DimType> type, const JsonPath& path,
                      Predicate& out);

// parse_value() for values of a manifest.
tl::expected<Value, std::string> read_value(JsonValue value, DimType type);

}  // namespace dsakit
