#include "manifest/value.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "manifest/json.hpp"

namespace dsakit {
namespace {

constexpr std::array<std::string_view, 5> kTypeNames{"token", "int", "set", "version", "arch"};

template <class... Ts>
struct Overload : Ts... {
  using Ts::operator()...;
};
template <class... Ts>
Overload(Ts...) -> Overload<Ts...>;

// sm_90 before sm_100: runs of digits compare as numbers, so lists read in the order people expect.
bool natural_less(std::string_view a, std::string_view b) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (!digit(a[i]) || !digit(b[j])) {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i, ++j;
      continue;
    }
    std::size_t end_a = i, end_b = j;
    while (end_a < a.size() && digit(a[end_a])) ++end_a;
    while (end_b < b.size() && digit(b[end_b])) ++end_b;
    if (end_a - i != end_b - j) return end_a - i < end_b - j;
    const int order = a.substr(i, end_a - i).compare(b.substr(j, end_b - j));
    if (order != 0) return order < 0;
    i = end_a, j = end_b;
  }
  return a.size() - i < b.size() - j;
}

std::string names_text(std::vector<std::string> names) {
  std::ranges::sort(names, natural_less);
  return fmt::format("{}", fmt::join(names, ", "));
}

void add_part(std::string& out, std::string_view part) {
  if (!out.empty()) out += ", ";
  out += part;
}

std::string integer_text(const Predicate& p) {
  std::string out;
  if (p.one_of)
    add_part(out, p.one_of->empty() ? "nothing" : fmt::format("{}", fmt::join(*p.one_of, ", ")));
  if (p.min && p.max) {
    add_part(out, *p.min == *p.max ? fmt::format("{}", *p.min)
                                   : fmt::format("{} to {}", *p.min, *p.max));
  } else if (p.min) {
    add_part(out, fmt::format("{} or more", *p.min));
  } else if (p.max) {
    add_part(out, fmt::format("up to {}", *p.max));
  }
  if (p.multiple_of) add_part(out, fmt::format("multiples of {}", *p.multiple_of));
  if (p.pow2) add_part(out, "powers of two");
  return out.empty() ? "anything" : out;
}

std::string set_text(const Predicate& p) {
  std::string out;
  if (p.subset && !p.subset->empty()) add_part(out, "any of " + names_text(*p.subset));
  if (!p.includes.empty())
    add_part(out, (out.empty() ? "exactly " : "always with ") + names_text(p.includes));
  if (out.empty()) return "none";
  if (!p.none_of.empty()) add_part(out, "never " + names_text(p.none_of));
  return out;
}

std::string version_range_text(const Predicate& p) {
  std::string out;
  if (p.from) add_part(out, version_text(*p.from) + " or newer");
  if (p.below) add_part(out, "below " + version_text(*p.below));
  return out.empty() ? "anything" : out;
}

}  // namespace

std::string_view dim_type_name(DimType type) {
  return kTypeNames[static_cast<std::size_t>(type)];
}

std::optional<DimType> parse_dim_type(std::string_view name) {
  const auto found = std::ranges::find(kTypeNames, name);
  if (found == kTypeNames.end()) return std::nullopt;
  return static_cast<DimType>(found - kTypeNames.begin());
}

bool is_token(std::string_view text) {
  if (text.empty() || text.size() > 64) return false;
  return std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '+' ||
           c == '-';
  });
}

std::string value_json(const Value& value) {
  std::string out;
  std::visit(Overload{
                 [&](const Unknown&) { out = "null"; },
                 [&](const Token& token) { append_json_string(out, token); },
                 [&](std::int32_t number) { out = fmt::format("{}", number); },
                 [&](const Set& set) {
                   out = "[";
                   for (const std::string& element : set) {
                     if (out.size() > 1) out += ',';
                     append_json_string(out, element);
                   }
                   out += ']';
                 },
                 [&](const Version& version) { append_json_string(out, version_text(version)); },
             },
             value);
  return out;
}

std::string value_text(const Value& value) {
  return std::visit(Overload{
                        [](const Unknown&) -> std::string { return "unknown"; },
                        [](const Token& token) -> std::string { return token; },
                        [](std::int32_t number) { return fmt::format("{}", number); },
                        [](const Set& set) { return fmt::format("{{{}}}", fmt::join(set, ", ")); },
                        [](const Version& version) { return version_text(version); },
                    },
                    value);
}

std::optional<Version> parse_version(std::string_view text) {
  Version version;
  const char* cursor = text.data();
  const char* const end = cursor + text.size();
  while (version.parts.size() < 4) {
    std::int32_t part = 0;
    if (cursor == end || *cursor == '-') return std::nullopt;
    const auto [next, error] = std::from_chars(cursor, end, part);
    if (error != std::errc{}) return std::nullopt;
    version.parts.push_back(part);
    cursor = next;
    if (cursor == end) {
      while (version.parts.size() > 1 && version.parts.back() == 0) version.parts.pop_back();
      return version;
    }
    if (*cursor != '.') return std::nullopt;
    ++cursor;
  }
  return std::nullopt;
}

std::string version_text(const Version& version) {
  return fmt::format("{}", fmt::join(version.parts, "."));
}

std::string predicate_text(const Predicate& predicate) {
  if (!predicate.unknown_operator.empty()) {
    return fmt::format("only what operator `{}` of a newer dsakit says",
                       predicate.unknown_operator);
  }
  switch (predicate.kind) {
    case Predicate::Kind::any:
      return "anything";
    case Predicate::Kind::list:
      return predicate.list.empty() ? "nothing" : names_text(predicate.list);
    case Predicate::Kind::integer:
      return integer_text(predicate);
    case Predicate::Kind::set:
      return set_text(predicate);
    case Predicate::Kind::version:
      return version_range_text(predicate);
  }
  return {};
}

}  // namespace dsakit
