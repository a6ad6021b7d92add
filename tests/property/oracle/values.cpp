#include "property/oracle/values.hpp"

#include <algorithm>

namespace dsakit::oracle {
namespace {

constexpr std::int64_t kMaxInt = 2147483647;

std::vector<std::string> as_sorted_set(const Json& value) {
  auto items = without_aliases(value).get<std::vector<std::string>>();
  std::sort(items.begin(), items.end());
  items.erase(std::unique(items.begin(), items.end()), items.end());
  return items;
}

// 90 for "sm_90"; nothing unless the rest is digits alone.
std::optional<int> sm_number(const std::string& token) {
  if (token.size() < 5 || token.size() > 6 || token.rfind("sm_", 0) != 0) return std::nullopt;
  int number = 0;
  for (char c : token.substr(3)) {
    if (c < '0' || c > '9') return std::nullopt;
    number = number * 10 + (c - '0');
  }
  return number;
}

std::vector<std::string> known_between(int low, int high) {
  std::vector<std::string> found;
  for (const auto& device : devices()) {
    const auto number = sm_number(device);
    if (number && *number >= low && *number <= high) found.push_back(device);
  }
  return found;
}

}  // namespace

const Dims& builtin_dims() {
  static const Dims table{
      {"platform", {Type::token, {}, false, false}},
      {"arch", {Type::arch, {}, false, false}},
      {"phase", {Type::token, {}, false, false}},
      {"model_family", {Type::token, {}, false, false}},
      {"kv_dtype", {Type::token, {}, false, false}},
      {"kv_scale", {Type::token, Json("any"), false, false}},
      {"page_size", {Type::integer, {}, false, false}},
      {"heads", {Type::integer, {}, false, false}},
      {"topk", {Type::integer, {}, false, false}},
      {"d_qk", {Type::integer, {}, false, false}},
      {"d_v", {Type::integer, {}, false, false}},
      {"index_kpool", {Type::integer, Json(1), false, false}},
      {"index_mode", {Type::token, Json("physical"), false, false}},
      {"invalid_index", {Type::token, Json("any_out_of_range"), false, false}},
      {"q_dtype", {Type::token, Json("bf16"), false, false}},
      {"out_dtype", {Type::token, Json("bf16"), false, false}},
      {"lse", {Type::token, Json("natural"), false, false}},
      {"lse_sink", {Type::token, Json("excluded"), false, false}},
      {"lse_empty", {Type::token, Json("plus_inf"), false, false}},
      {"compute", {Type::token, Json("exact"), false, false}},
      {"features", {Type::set, Json::array(), false, false}},
      {"runtime_cuda", {Type::version, {}, true, false}},
      {"runtime_hip", {Type::version, {}, true, false}},
      {"driver", {Type::version, {}, true, false}},
  };
  return table;
}

std::optional<Type> type_named(const std::string& name) {
  if (name == "token") return Type::token;
  if (name == "arch") return Type::arch;
  if (name == "int") return Type::integer;
  if (name == "set") return Type::set;
  if (name == "version") return Type::version;
  return std::nullopt;
}

const std::vector<std::string>& devices() {
  static const std::vector<std::string> known{
      "sm_75",  "sm_80",  "sm_86",  "sm_87",  "sm_89",  "sm_90",  "sm_100",  "sm_103",
      "sm_110", "sm_120", "sm_121", "gfx90a", "gfx942", "gfx950", "gfx1250", "cpu"};
  return known;
}

int nvidia_major(const std::string& device) {
  const auto number = sm_number(device);
  return number ? *number / 10 : 0;
}

std::optional<std::vector<std::string>> devices_of(const std::string& arch_token) {
  if (std::find(devices().begin(), devices().end(), arch_token) != devices().end()) {
    return std::vector<std::string>{arch_token};
  }
  if (const auto dash = arch_token.find('-'); dash != std::string::npos) {
    const auto low = sm_number(arch_token.substr(0, dash));
    const auto high = sm_number(arch_token.substr(dash + 1));
    if (!low || !high || *low / 10 != *high / 10) return std::nullopt;
    return known_between(*low, *high);
  }
  const std::string body = arch_token.substr(0, arch_token.size() - 1);
  const auto number = sm_number(body);
  if (number && arch_token.back() == 'a') return known_between(*number, *number);
  if (number && arch_token.back() == 'f') return known_between(*number, *number / 10 * 10 + 9);
  return std::nullopt;
}

Json without_aliases(const Json& value) {
  if (value.is_string()) return value == "bfloat16" ? Json("bf16") : value;
  Json copy = value;
  if (value.is_array() || value.is_object()) {
    for (auto& item : copy) item = without_aliases(item);
  }
  return copy;
}

std::optional<std::vector<std::int64_t>> version_parts(const std::string& text) {
  std::vector<std::int64_t> parts(1, 0);
  bool digit_seen = false;
  for (char c : text) {
    if (c == '.') {
      if (!digit_seen || parts.size() == 4) return std::nullopt;
      parts.push_back(0);
      digit_seen = false;
    } else if (c >= '0' && c <= '9') {
      digit_seen = true;
      parts.back() = parts.back() * 10 + (c - '0');
      if (parts.back() > kMaxInt) return std::nullopt;
    } else {
      return std::nullopt;
    }
  }
  if (!digit_seen) return std::nullopt;
  parts.resize(4, 0);
  return parts;
}

bool well_typed(const Json& value, Type type) {
  switch (type) {
    case Type::token:
      return value.is_string();
    case Type::arch:
      return value.is_string() &&
             std::find(devices().begin(), devices().end(), value) != devices().end();
    case Type::integer:
      return value.is_number_integer() && value >= 0 && value <= kMaxInt;
    case Type::set:
      return value.is_array() &&
             std::all_of(value.begin(), value.end(), [](const Json& v) { return v.is_string(); });
    case Type::version:
      return value.is_string() && version_parts(value.get<std::string>()).has_value();
  }
  return false;
}

bool same_value(const Json& a, const Json& b, Type type) {
  if (type == Type::set) return as_sorted_set(a) == as_sorted_set(b);
  if (type == Type::version) {
    return version_parts(a.get<std::string>()) == version_parts(b.get<std::string>());
  }
  return without_aliases(a) == without_aliases(b);
}

}  // namespace dsakit::oracle
