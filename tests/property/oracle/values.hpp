// The oracle's own idea of dimensions, devices and values, written from framework §3 and nothing
// else: the judge of the solver must not share its tables. Values and predicates stay JSON
// throughout. Pure; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace dsakit::oracle {

using Json = nlohmann::json;

enum class Type : std::uint8_t { token, arch, integer, set, version };

struct Dim {
  Type type = Type::token;
  std::optional<Json> neutral;
  bool open = false;
  bool shared = false;
  bool operator==(const Dim&) const = default;
};

using Dims = std::map<std::string, Dim>;

const Dims& builtin_dims();
std::optional<Type> type_named(const std::string& name);

// Names of the devices that the oracle knows.
const std::vector<std::string>& devices();
// Compute capability major of an NVIDIA device; 0 for any other.
int nvidia_major(const std::string& device);
// Devices that an arch token names; nothing for a token that is an error.
std::optional<std::vector<std::string>> devices_of(const std::string& arch_token);

// bfloat16 → bf16, in a string, in each string of an array, and in the values of an object.
Json without_aliases(const Json& value);

// Four numbers, missing parts 0; nothing if malformed.
std::optional<std::vector<std::int64_t>> version_parts(const std::string& text);

// Whether `value` is a JSON value that a dimension of `type` can take.
bool well_typed(const Json& value, Type type);
// Equality of two values of one type: sets by content, versions by number, tokens by alias.
bool same_value(const Json& a, const Json& b, Type type);

}  // namespace dsakit::oracle
