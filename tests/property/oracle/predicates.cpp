#include "property/oracle/predicates.hpp"

#include <algorithm>
#include <numeric>
#include <set>

namespace dsakit::oracle {
namespace {

constexpr std::int64_t kMaxInt = 2147483647;

bool contains(const Json& list, const Json& item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

bool is_power_of_two(std::int64_t value) {
  for (std::int64_t power = 1; power <= value; power *= 2) {
    if (power == value) return true;
  }
  return false;
}

bool integer_accepts(const Json& predicate, std::int64_t value) {
  for (const auto& [op, arg] : predicate.items()) {
    if (op == "min" && value < arg.get<std::int64_t>()) return false;
    if (op == "max" && value > arg.get<std::int64_t>()) return false;
    if (op == "multiple_of" && value % arg.get<std::int64_t>() != 0) return false;
    if (op == "one_of" && !contains(arg, value)) return false;
    if (op == "pow2" && !is_power_of_two(value)) return false;
  }
  return true;
}

// R4, word by word.
bool set_accepts(const Json& predicate, const Json& requested) {
  static const Json none = Json::array();
  const auto list = [&](const char* op) -> const Json& {
    return predicate.contains(op) ? predicate[op] : none;
  };
  const Json& includes = list("includes");
  const Json& limit = predicate.contains("subset") ? predicate["subset"] : includes;
  const Json& forbidden = list("none_of");
  for (const auto& element : requested) {
    if (!contains(limit, element) || contains(forbidden, element)) return false;
  }
  return std::all_of(includes.begin(), includes.end(),
                     [&](const Json& element) { return contains(requested, element); });
}

bool version_accepts(const Json& predicate, const std::string& text) {
  const auto value = *version_parts(text);
  if (predicate.is_array()) {
    return std::any_of(predicate.begin(), predicate.end(), [&](const Json& v) {
      return *version_parts(v.get<std::string>()) == value;
    });
  }
  if (predicate.contains("min") && value < *version_parts(predicate["min"].get<std::string>())) {
    return false;
  }
  return !predicate.contains("below") ||
         value < *version_parts(predicate["below"].get<std::string>());
}

// Without a list or pow2 the conjunction is "a multiple of L in [low, high]", where L is the least
// common multiple, so the first multiple at or above `low` decides. A list, or the 31 powers of
// two, is tried whole.
std::vector<Json> integer_candidates(const std::vector<Json>& predicates) {
  std::vector<Json> candidates;
  std::int64_t low = 0;
  std::int64_t step = 1;
  for (const auto& predicate : predicates) {
    if (is_star(predicate)) continue;
    if (predicate.contains("one_of")) {
      const auto values = predicate["one_of"].get<std::vector<Json>>();
      candidates.insert(candidates.end(), values.begin(), values.end());
    }
    if (predicate.contains("pow2")) {
      for (std::int64_t power = 1; power <= kMaxInt; power *= 2) candidates.emplace_back(power);
    }
    if (predicate.contains("min")) low = std::max(low, predicate["min"].get<std::int64_t>());
    if (predicate.contains("multiple_of") && step <= kMaxInt) {
      step = std::lcm(step, predicate["multiple_of"].get<std::int64_t>());
    }
  }
  const std::int64_t first = (low + step - 1) / step * step;
  if (first <= kMaxInt) candidates.emplace_back(first);
  return candidates;
}

// Every accepted set holds the union of all `includes`, and leaving out anything else never breaks
// a limit or a `none_of`: that union is accepted if any set is.
std::vector<Json> set_candidates(const std::vector<Json>& predicates) {
  std::set<std::string> smallest;
  for (const auto& predicate : predicates) {
    if (is_star(predicate) || !predicate.contains("includes")) continue;
    for (const auto& element : predicate["includes"]) smallest.insert(element.get<std::string>());
  }
  return {Json(smallest)};
}

// A conjunction of lower and upper bounds holds somewhere exactly if it holds at the greatest lower
// bound.
std::vector<Json> version_candidates(const std::vector<Json>& predicates) {
  Json greatest = "0";
  std::vector<Json> candidates;
  for (const auto& predicate : predicates) {
    if (is_star(predicate)) continue;
    if (predicate.is_array()) {
      candidates.insert(candidates.end(), predicate.begin(), predicate.end());
    } else if (predicate.contains("min") && *version_parts(predicate["min"].get<std::string>()) >
                                                *version_parts(greatest.get<std::string>())) {
      greatest = predicate["min"];
    }
  }
  candidates.push_back(greatest);
  return candidates;
}

std::vector<Json> token_candidates(const std::vector<Json>& predicates) {
  for (const auto& predicate : predicates) {
    if (!is_star(predicate)) return predicate.get<std::vector<Json>>();
  }
  return {Json("anything")};
}

std::vector<Json> candidates_of(const std::vector<Json>& predicates, Type type) {
  switch (type) {
    case Type::token:
      return token_candidates(predicates);
    case Type::arch:
      return {devices().begin(), devices().end()};
    case Type::integer:
      return integer_candidates(predicates);
    case Type::set:
      return set_candidates(predicates);
    case Type::version:
      return version_candidates(predicates);
  }
  return {};
}

std::string four_parts(const std::vector<std::int64_t>& parts) {
  std::string text;
  for (const auto part : parts) text.append(std::to_string(part)).append(".");
  text.pop_back();
  return text;
}

}  // namespace

bool is_star(const Json& predicate) {
  return predicate == "*";
}

bool has_unknown_operator(const Json& predicate, Type type) {
  if (!predicate.is_object()) return false;
  static const std::map<Type, std::set<std::string>> operators{
      {Type::token, {}},
      {Type::arch, {}},
      {Type::integer, {"min", "max", "multiple_of", "one_of", "pow2"}},
      {Type::set, {"subset", "includes", "none_of"}},
      {Type::version, {"min", "below"}}};
  const auto& known = operators.at(type);
  for (const auto& [op, arg] : predicate.items()) {
    if (!known.contains(op)) return true;
  }
  return false;
}

bool accepts(const Json& predicate, const Json& value, Type type) {
  if (is_star(predicate)) return true;
  if (has_unknown_operator(predicate, type)) return false;
  switch (type) {
    case Type::token:
      return contains(predicate, value);
    case Type::arch:
      return std::any_of(predicate.begin(), predicate.end(), [&](const Json& token) {
        const auto named = devices_of(token.get<std::string>());
        return named && std::find(named->begin(), named->end(), value) != named->end();
      });
    case Type::integer:
      return integer_accepts(predicate, value.get<std::int64_t>());
    case Type::set:
      return set_accepts(predicate, value);
    case Type::version:
      return version_accepts(predicate, value.get<std::string>());
  }
  return false;
}

Json equals_predicate(const Json& neutral, Type type) {
  if (type == Type::integer) return {{"one_of", Json::array({neutral})}};
  if (type == Type::set) return {{"subset", neutral}, {"includes", neutral}};
  return Json::array({neutral});
}

std::optional<Json> common_value(const std::vector<Json>& predicates, Type type) {
  std::vector<Json> plain;
  for (const auto& predicate : predicates) plain.push_back(without_aliases(predicate));
  for (const auto& candidate : candidates_of(plain, type)) {
    if (std::all_of(plain.begin(), plain.end(),
                    [&](const Json& p) { return accepts(p, candidate, type); })) {
      return candidate;
    }
  }
  return std::nullopt;
}

Json normalised(const Json& predicate) {
  Json copy = without_aliases(predicate);
  const auto sort_unique = [](Json& list) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  };
  if (copy.is_array()) sort_unique(copy);
  if (!copy.is_object()) return copy;
  for (const auto& [op, arg] : copy.items()) {
    if (arg.is_array()) sort_unique(arg);
    if (arg.is_string()) {
      if (const auto parts = version_parts(arg.get<std::string>())) arg = four_parts(*parts);
    }
  }
  return copy;
}

}  // namespace dsakit::oracle
