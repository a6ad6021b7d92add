// The predicate language: JSON → Predicate.
#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "manifest/arch.hpp"
#include "manifest/dimension.hpp"
#include "manifest/json.hpp"
#include "manifest/schema.hpp"
#include "manifest/schema_detail.hpp"

namespace dsakit {
namespace {

// Reads the value of one operator into the predicate and appends its canonical JSON to
// predicate.json.
using ReadOperand = Status (*)(JsonValue, const JsonPath&, Predicate&);

void append_integer(std::string& out, std::int32_t number) {
  std::array<char, 11> digits;
  const auto end = std::to_chars(digits.begin(), digits.end(), number).ptr;
  out.append(digits.begin(), end);
}

// Tokens need no escapes.
void append_token(std::string& out, std::string_view token) {
  out += '"';
  out += token;
  out += '"';
}

Status read_bound(JsonValue value, const JsonPath& path, std::int32_t lowest,
                  std::optional<std::int32_t>& bound, std::string& text) {
  bound = read_int(value, lowest);
  if (!bound) return refuse(path, value, fmt::format("an integer from {} to 2147483647", lowest));
  append_integer(text, *bound);
  return {};
}

Status read_tokens(JsonValue value, const JsonPath& path, bool arch,
                   std::vector<std::string>& tokens, std::string& text) {
  if (!value.is_array()) return refuse(path, value, "a list of tokens");
  if (value.size() > kMaxValues) {
    return tl::unexpected(Refusal{path.text(), fmt::format("{} values", value.size()),
                                  fmt::format("at most {}", kMaxValues)});
  }
  tokens.reserve(value.size());
  text += '[';
  std::size_t i = 0;
  for (const JsonValue item : value) {
    const auto token = read_token(item);
    if (!token) return refuse(path.item(i), item, std::string(kTokenText));
    std::string why;
    if (arch && !parse_arch_token(*token, why)) return refuse(path.item(i), item, why);
    ++i;
    if (std::ranges::find(tokens, *token) != tokens.end()) continue;
    if (!tokens.empty()) text += ',';
    append_token(text, *token);
    tokens.emplace_back(*token);
  }
  text += ']';
  std::ranges::sort(tokens);
  return {};
}

Status read_numbers(JsonValue value, const JsonPath& path, Predicate& out) {
  if (!value.is_array()) return refuse(path, value, "a list of integers");
  if (value.size() > kMaxValues) {
    return tl::unexpected(Refusal{path.text(), fmt::format("{} values", value.size()),
                                  fmt::format("at most {}", kMaxValues)});
  }
  auto& numbers = out.one_of.emplace();
  out.json += '[';
  std::size_t i = 0;
  for (const JsonValue item : value) {
    const auto number = read_int(item);
    if (!number) return refuse(path.item(i), item, "an integer from 0 to 2147483647");
    ++i;
    if (std::ranges::find(numbers, *number) != numbers.end()) continue;
    if (!numbers.empty()) out.json += ',';
    append_integer(out.json, *number);
    numbers.push_back(*number);
  }
  out.json += ']';
  std::ranges::sort(numbers);
  return {};
}

Status read_version_bound(JsonValue value, const JsonPath& path, std::optional<Version>& bound,
                          std::string& text) {
  if (value.is_string()) bound = parse_version(value.text());
  if (!bound) return refuse(path, value, "a version: a string of 1 to 4 dotted integers");
  append_json_string(text, value.text());
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
     [](JsonValue v, const JsonPath& p, Predicate& out) {
       return read_bound(v, p, 0, out.min, out.json);
     }},
    {"max", DimType::integer,
     [](JsonValue v, const JsonPath& p, Predicate& out) {
       return read_bound(v, p, 0, out.max, out.json);
     }},
    {"multiple_of", DimType::integer,
     [](JsonValue v, const JsonPath& p, Predicate& out) {
       return read_bound(v, p, 1, out.multiple_of, out.json);
     }},
    {"one_of", DimType::integer,
     [](JsonValue v, const JsonPath& p, Predicate& out) { return read_numbers(v, p, out); }},
    {"pow2", DimType::integer,
     [](JsonValue v, const JsonPath& p, Predicate& out) -> Status {
       if (read_int(v) != 1) return refuse(p, v, "1");
       out.pow2 = true;
       out.json += '1';
       return {};
     }},
    {"subset", DimType::set,
     [](JsonValue v, const JsonPath& p, Predicate& out) {
       return read_tokens(v, p, false, out.subset.emplace(), out.json);
     }},
    {"includes", DimType::set,
     [](JsonValue v, const JsonPath& p, Predicate& out) {
       return read_tokens(v, p, false, out.includes, out.json);
     }},
    {"none_of", DimType::set,
     [](JsonValue v, const JsonPath& p, Predicate& out) {
       return read_tokens(v, p, false, out.none_of, out.json);
     }},
    {"min", DimType::version,
     [](JsonValue v, const JsonPath& p, Predicate& out) {
       return read_version_bound(v, p, out.from, out.json);
     }},
    {"below", DimType::version,
     [](JsonValue v, const JsonPath& p, Predicate& out) {
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
DimType guess_type(JsonValue object) {
  for (const JsonValue operand : object) {
    const std::string_view name = operand.key();
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

Status read_object(JsonValue value, DimType type, const JsonPath& path, Predicate& out) {
  out.kind = kind_of(type);
  if (out.kind == Predicate::Kind::list && value.empty())
    return refuse(path, value, allowed_predicate(type));
  out.json.reserve(64);
  out.json = '{';
  for (const JsonValue operand : value) {
    const std::string_view name = operand.key();
    if (out.json.size() > 1) out.json += ',';
    append_json_string(out.json, name);
    out.json += ':';
    if (const Operator* op = find_operator(name, type)) {
      if (auto status = op->read(operand, path.key(name), out); !status) return status;
    } else if (find_operator(name, std::nullopt) != nullptr) {
      return refuse(
          path.key(name), operand,
          fmt::format("no such operator here: the dimension is of type {}, which takes {}",
                      dim_type_name(type), allowed_predicate(type)));
    } else {
      if (out.unknown_operator.empty()) out.unknown_operator = name;
      operand.append_to(out.json);
    }
  }
  out.json += '}';
  return {};
}

}  // namespace

std::optional<std::int32_t> read_int(JsonValue value, std::int32_t lowest) {
  if (!value.is_integer() || value.integer() < lowest || value.integer() > INT32_MAX)
    return std::nullopt;
  return static_cast<std::int32_t>(value.integer());
}

std::optional<std::string_view> read_token(JsonValue value) {
  if (!value.is_string() || !is_token(value.text())) return std::nullopt;
  return resolve_alias(value.text());
}

Status read_predicate(JsonValue value, std::optional<DimType> type, const JsonPath& path,
                      Predicate& out) {
  if (value.is_string() && value.text() == "*") {
    out.json = "\"*\"";
    return {};
  }
  const bool list = !type || *type == DimType::token || *type == DimType::arch;
  if (value.is_array() && list) {
    out.kind = Predicate::Kind::list;
    return read_tokens(value, path, type == DimType::arch, out.list, out.json);
  }
  if (value.is_object()) return read_object(value, type ? *type : guess_type(value), path, out);
  return refuse(path, value, allowed_predicate(type));
}

tl::expected<Predicate, Diagnostic> parse_predicate(const nlohmann::json& value,
                                                    std::optional<DimType> type,
                                                    const std::string& file,
                                                    const std::string& path) {
  const auto tree = JsonTree::parse(canonical_json(value));
  if (!tree) {
    return tl::unexpected(Diagnostic(Code::E0106).with("file", file).with("reason", tree.error()));
  }
  Predicate result;
  auto status = read_predicate(tree->root(), type, JsonPath(path), result);
  if (status) return result;
  Refusal& refusal = status.error();
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

}  // namespace dsakit
