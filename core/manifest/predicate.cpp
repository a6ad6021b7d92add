// The predicate language: JSON → Predicate.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "manifest/arch.hpp"
#include "manifest/dimension.hpp"
#include "manifest/json.hpp"
#include "manifest/schema.hpp"
#include "manifest/schema_detail.hpp"

namespace dsakit {
namespace {

using nlohmann::json;

using Status = tl::expected<void, Refusal>;

// Reads the value of one operator into the predicate and appends its canonical JSON to
// predicate.json.
using ReadOperand = Status (*)(const json&, const JsonPath&, Predicate&);

Status read_bound(const json& value, const JsonPath& path, std::int32_t lowest,
                  std::optional<std::int32_t>& bound, std::string& text) {
  bound = read_int(value, lowest);
  if (!bound) return refuse(path, value, fmt::format("an integer from {} to 2147483647", lowest));
  fmt::format_to(std::back_inserter(text), "{}", *bound);
  return {};
}

Status read_tokens(const json& value, const JsonPath& path, bool arch,
                   std::vector<std::string>& tokens, std::string& text) {
  if (!value.is_array()) return refuse(path, value, "a list of tokens");
  if (value.size() > kMaxValues) {
    return tl::unexpected(Refusal{path.text(), fmt::format("{} values", value.size()),
                                  fmt::format("at most {}", kMaxValues)});
  }
  tokens.reserve(value.size());
  text += '[';
  for (std::size_t i = 0; i < value.size(); ++i) {
    const auto token = read_token(value[i]);
    if (!token) return refuse(path.item(i), value[i], std::string(kTokenText));
    std::string why;
    if (arch && !parse_arch_token(*token, why)) return refuse(path.item(i), value[i], why);
    if (std::ranges::find(tokens, *token) != tokens.end()) continue;
    if (!tokens.empty()) text += ',';
    append_json_string(text, *token);
    tokens.emplace_back(*token);
  }
  text += ']';
  std::ranges::sort(tokens);
  return {};
}

Status read_numbers(const json& value, const JsonPath& path, Predicate& out) {
  if (!value.is_array()) return refuse(path, value, "a list of integers");
  if (value.size() > kMaxValues) {
    return tl::unexpected(Refusal{path.text(), fmt::format("{} values", value.size()),
                                  fmt::format("at most {}", kMaxValues)});
  }
  auto& numbers = out.one_of.emplace();
  out.json += '[';
  for (std::size_t i = 0; i < value.size(); ++i) {
    std::optional<std::int32_t> number;
    std::string text;
    if (auto status = read_bound(value[i], path.item(i), 0, number, text); !status) return status;
    if (std::ranges::find(numbers, *number) != numbers.end()) continue;
    if (!numbers.empty()) out.json += ',';
    out.json += text;
    numbers.push_back(*number);
  }
  out.json += ']';
  std::ranges::sort(numbers);
  return {};
}

Status read_version_bound(const json& value, const JsonPath& path, std::optional<Version>& bound,
                          std::string& text) {
  if (value.is_string()) bound = parse_version(value.get_ref<const std::string&>());
  if (!bound) return refuse(path, value, "a version: a string of 1 to 4 dotted integers");
  append_json_string(text, value.get_ref<const std::string&>());
  return {};
}

struct Operator {
  std::string_view name;
  DimType type;
  ReadOperand read;
};

// The operators that this version knows.
constexpr Operator kOperators[] = {
    {"min", DimType::integer,
     [](const json& v, const JsonPath& p, Predicate& out) {
       return read_bound(v, p, 0, out.min, out.json);
     }},
    {"max", DimType::integer,
     [](const json& v, const JsonPath& p, Predicate& out) {
       return read_bound(v, p, 0, out.max, out.json);
     }},
    {"multiple_of", DimType::integer,
     [](const json& v, const JsonPath& p, Predicate& out) {
       return read_bound(v, p, 1, out.multiple_of, out.json);
     }},
    {"one_of", DimType::integer,
     [](const json& v, const JsonPath& p, Predicate& out) { return read_numbers(v, p, out); }},
    {"pow2", DimType::integer,
     [](const json& v, const JsonPath& p, Predicate& out) -> Status {
       if (read_int(v) != 1) return refuse(p, v, "1");
       out.pow2 = true;
       out.json += '1';
       return {};
     }},
    {"subset", DimType::set,
     [](const json& v, const JsonPath& p, Predicate& out) {
       return read_tokens(v, p, false, out.subset.emplace(), out.json);
     }},
    {"includes", DimType::set,
     [](const json& v, const JsonPath& p, Predicate& out) {
       return read_tokens(v, p, false, out.includes, out.json);
     }},
    {"none_of", DimType::set,
     [](const json& v, const JsonPath& p, Predicate& out) {
       return read_tokens(v, p, false, out.none_of, out.json);
     }},
    {"min", DimType::version,
     [](const json& v, const JsonPath& p, Predicate& out) {
       return read_version_bound(v, p, out.from, out.json);
     }},
    {"below", DimType::version,
     [](const json& v, const JsonPath& p, Predicate& out) {
       return read_version_bound(v, p, out.below, out.json);
     }},
};

const Operator* find_operator(std::string_view name, std::optional<DimType> type) {
  for (const Operator& op : kOperators) {
    if (op.name == name && (!type || op.type == *type)) return &op;
  }
  return nullptr;
}

std::string allowed_predicate(std::optional<DimType> type) {
  const bool list = !type || *type == DimType::token || *type == DimType::arch;
  std::string operators;
  for (const Operator& op : kOperators) {
    if (type && op.type != *type) continue;
    if (!type && find_operator(op.name, std::nullopt) != &op) continue;
    operators += (operators.empty() ? "" : ", ") + std::string(op.name);
  }
  if (operators.empty()) return "\"*\" or a list of tokens";
  return fmt::format("\"*\"{} or an object of {}", list ? ", a list of tokens" : "", operators);
}

// The type that an object's operators speak of, for a dimension declared elsewhere.
DimType guess_type(const json& object) {
  for (const auto& [name, operand] : object.items()) {
    const Operator* op = find_operator(name, std::nullopt);
    if (op == nullptr) continue;
    const bool both =
        find_operator(name, DimType::integer) && find_operator(name, DimType::version);
    if (!both) return op->type;
    if (operand.is_string()) return DimType::version;
  }
  return DimType::integer;
}

Predicate::Kind kind_of(DimType type) {
  switch (type) {
    case DimType::integer:
      return Predicate::Kind::integer;
    case DimType::set:
      return Predicate::Kind::set;
    case DimType::version:
      return Predicate::Kind::version;
    case DimType::token:
    case DimType::arch:
      return Predicate::Kind::list;
  }
  return Predicate::Kind::any;
}

tl::expected<Predicate, Refusal> read_object(const json& value, DimType type,
                                             const JsonPath& path) {
  Predicate result;
  result.kind = kind_of(type);
  if (result.kind == Predicate::Kind::list && value.empty()) {
    return refuse(path, value, allowed_predicate(type));
  }
  result.json = "{";
  for (const auto& [name, operand] : value.get_ref<const json::object_t&>()) {
    if (result.json.size() > 1) result.json += ',';
    append_json_string(result.json, name);
    result.json += ':';
    if (const Operator* op = find_operator(name, type)) {
      if (auto status = op->read(operand, path.key(name), result); !status) {
        return tl::unexpected(std::move(status).error());
      }
    } else if (find_operator(name, std::nullopt) != nullptr) {
      return refuse(path.key(name), operand,
                    fmt::format("no such operator here: the dimension is of type {}, "
                                "which takes {}",
                                dim_type_name(type), allowed_predicate(type)));
    } else {
      if (result.unknown_operator.empty()) result.unknown_operator = name;
      result.json += canonical_json(operand);
    }
  }
  result.json += '}';
  return result;
}

}  // namespace

std::optional<std::int32_t> read_int(const json& value, std::int32_t lowest) {
  if (!value.is_number_integer()) return std::nullopt;
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > INT32_MAX) return std::nullopt;
  const auto number = value.get<std::int64_t>();
  if (number < lowest || number > INT32_MAX) return std::nullopt;
  return static_cast<std::int32_t>(number);
}

std::optional<std::string_view> read_token(const json& value) {
  if (!value.is_string()) return std::nullopt;
  const std::string_view text = value.get_ref<const std::string&>();
  if (!is_token(text)) return std::nullopt;
  return resolve_alias(text);
}

tl::expected<Predicate, Refusal> read_predicate(const json& value, std::optional<DimType> type,
                                                const JsonPath& path) {
  if (value.is_string() && value.get_ref<const std::string&>() == "*") {
    Predicate any;
    any.json = "\"*\"";
    return any;
  }
  const bool list = !type || *type == DimType::token || *type == DimType::arch;
  if (value.is_array() && list) {
    Predicate result;
    result.kind = Predicate::Kind::list;
    auto status = read_tokens(value, path, type == DimType::arch, result.list, result.json);
    if (!status) return tl::unexpected(std::move(status).error());
    return result;
  }
  if (value.is_object()) return read_object(value, type ? *type : guess_type(value), path);
  return refuse(path, value, allowed_predicate(type));
}

tl::expected<Predicate, Diagnostic> parse_predicate(const json& value, std::optional<DimType> type,
                                                    const std::string& file,
                                                    const std::string& path) {
  auto result = read_predicate(value, type, JsonPath(path));
  if (result) return std::move(*result);
  Refusal& refusal = result.error();
  return tl::unexpected(Diagnostic(Code::E0107)
                            .with("file", file)
                            .with("path", std::move(refusal.path))
                            .with("found", std::move(refusal.found))
                            .with("allowed", std::move(refusal.allowed)));
}

bool predicate_fits(const Predicate& predicate, DimType type) {
  const bool list_type = type == DimType::token || type == DimType::arch;
  switch (predicate.kind) {
    case Predicate::Kind::any:
      return true;
    case Predicate::Kind::set:
      return type == DimType::set;
    case Predicate::Kind::version:
      return type == DimType::version;
    case Predicate::Kind::list:
      return type == DimType::token ||
             (type == DimType::arch &&
              std::ranges::all_of(predicate.list, [](const std::string& token) {
                std::string why;
                return parse_arch_token(token, why).has_value();
              }));
    case Predicate::Kind::integer:
      break;
  }
  const bool silent = !predicate.min && !predicate.max && !predicate.multiple_of &&
                      !predicate.one_of && !predicate.pow2;
  if (silent && !predicate.unknown_operator.empty()) return true;
  return type == DimType::integer || (silent && !list_type);
}

tl::expected<Value, std::string> parse_value(const json& value, DimType type) {
  if (value.is_null()) return Value(Unknown{});
  switch (type) {
    case DimType::token:
    case DimType::arch:
      if (const auto token = read_token(value)) return Value(Token(*token));
      return tl::unexpected(std::string(kTokenText));
    case DimType::integer:
      if (const auto number = read_int(value)) return Value(*number);
      return tl::unexpected(std::string("an integer from 0 to 2147483647"));
    case DimType::version:
      if (value.is_string()) {
        if (auto version = parse_version(value.get_ref<const std::string&>()))
          return Value(*version);
      }
      return tl::unexpected(std::string("a string of 1 to 4 dotted integers, such as \"12.8\""));
    case DimType::set:
      break;
  }
  Set set;
  std::string text;
  if (!value.is_array() || !read_tokens(value, JsonPath(), false, set, text)) {
    return tl::unexpected(
        fmt::format("a list of at most {} tokens of a-z 0-9 _ . + -", kMaxValues));
  }
  return Value(std::move(set));
}

}  // namespace dsakit
