// Values that dimensions take, and the predicates that rows write over them.
//
// Invariants: a token or set element is already alias-resolved (`bfloat16` is `bf16`); a Set is
// sorted and unique; a Version is canonical ("12.8", no trailing ".0"). Value types; no thread
// affinity.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace dsakit {

enum class DimType : std::uint8_t { token, integer, set, version, arch };

// "token", "int", "set", "version", "arch": the spelling of manifests.
std::string_view dim_type_name(DimType type);
std::optional<DimType> parse_dim_type(std::string_view name);

// Whether `text` matches [a-z0-9_.+-]{1,64}.
bool is_token(std::string_view text);

struct Unknown {
  bool operator==(const Unknown&) const = default;
};
using Token = std::string;  // also an arch device such as "sm_90"
using Set = std::vector<std::string>;
struct Version {
  std::vector<std::int32_t> parts;  // 1–4, trailing zeros removed, never empty
  bool operator==(const Version&) const = default;
  auto operator<=>(const Version&) const = default;
};
using Value = std::variant<Unknown, Token, std::int32_t, Set, Version>;

// JSON text of a value: "bf16", 64, ["hisparse"], "12.8", null.
std::string value_json(const Value& value);
// The same for people: bf16, 64, {hisparse}, 12.8, unknown.
std::string value_text(const Value& value);
// 1–4 dotted integers 0…2^31−1; nothing if malformed.
std::optional<Version> parse_version(std::string_view text);
std::string version_text(const Version& version);

// What a row writes for one dimension, as parsed; its meaning is framework §3's predicate language.
struct Predicate {
  enum class Kind : std::uint8_t {
    any,      // "*"
    list,     // ["a","b"] over tokens or arch tokens
    integer,  // {"min","max","multiple_of","one_of","pow2"}
    set,      // {"subset","includes","none_of"}
    version,  // {"min","below"}
  };
  // Parsed without a type, {} and objects of unknown operators alone are Kind::integer.
  Kind kind = Kind::any;
  std::string json;  // canonical JSON as written, aliases resolved
  std::string
      unknown_operator;  // an operator that this version does not know: no value satisfies it

  std::vector<std::string> list;  // list: sorted, unique

  std::optional<std::int32_t> min, max, multiple_of;  // integer
  std::optional<std::vector<std::int32_t>> one_of;    // integer; sorted, unique
  bool pow2 = false;                                  // integer

  std::optional<Set> subset;  // set
  Set includes, none_of;      // set

  std::optional<Version> from, below;  // version: "min", "below"
};

// The names a predicate accepts, for people: "sm_90, sm_100f", "1 to 128, multiples of 16",
// "anything".
std::string predicate_text(const Predicate& predicate);

}  // namespace dsakit
