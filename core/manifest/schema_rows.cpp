// Rows of a manifest: predicates, what a row provides, its rank.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "manifest/manifest_reader.hpp"

namespace dsakit {
namespace {

constexpr std::string_view kLayoutKey = "kv_layout";

}  // namespace

const Dimension* ManifestReader::find_dim(std::string_view name) const {
  const DimensionTable& builtin = builtin_dimensions();
  if (const int index = builtin.find(name); index >= 0) return &builtin.at(index);
  const auto found = std::ranges::find(manifest.dims, name, &Dimension::name);
  return found == manifest.dims.end() ? nullptr : &*found;
}

bool ManifestReader::read_where(JsonValue value, const JsonPath& path, Where& out) {
  if (!want_object(value, path, "an object of predicates by dimension")) return false;
  if (value.size() > kMaxPredicates) {
    return fail(path, fmt::format("{} predicates", value.size()),
                fmt::format("at most {}", kMaxPredicates));
  }
  for (const JsonValue written : value) {
    const std::string_view name = written.key();
    const JsonPath here = path.key(name);
    if (name == kLayoutKey)
      return fail(here, written, "nothing: a layout is said in `provides` alone");
    if (!is_token(name)) return fail(here, "name " + json_quoted(name), std::string(kTokenText));
    const Dimension* dim = find_dim(name);
    Predicate& predicate = out.emplace_hint(out.end(), name, Predicate{})->second;
    auto status = read_predicate(written, dim != nullptr ? std::optional(dim->type) : std::nullopt,
                                 here, predicate);
    if (!status) {
      refusal = std::move(status).error();
      return false;
    }
    if (dim == nullptr || dim->values.empty()) continue;
    for (const std::string& token : predicate.list) {
      if (std::ranges::find(dim->values, token) != dim->values.end()) continue;
      return fail(here, json_quoted(token), fmt::format("{}", fmt::join(dim->values, ", ")));
    }
  }
  return true;
}

bool ManifestReader::read_provides(JsonValue value, const JsonPath& path, Row& row) {
  if (!want_object(value, path, "an object of values by dimension")) return false;
  if (!need(value, kLayoutKey, path, "the name of the KV layout that the row reads or writes"))
    return false;
  for (const JsonValue stated : value) {
    const std::string_view name = stated.key();
    const JsonPath here = path.key(name);
    DimType type = DimType::token;
    if (name != kLayoutKey) {
      const Dimension* dim = find_dim(name);
      if (dim == nullptr || !dim->shared) {
        return fail(here, stated,
                    "kv_layout, and dimensions that are shared and known to this file");
      }
      type = dim->type;
    }
    auto parsed = read_value(stated, type);
    if (!parsed || std::holds_alternative<Unknown>(*parsed)) {
      return fail(here, stated, parsed ? "a known value" : parsed.error());
    }
    row.provides.emplace_hint(row.provides.end(), name, std::move(*parsed));
  }
  return true;
}

bool ManifestReader::read_row(JsonValue value, const JsonPath& path) {
  if (!want_object(value, path, "an object of name, where, rank, provides, note")) return false;
  Row& row = manifest.rows.emplace_back();
  const JsonValue name = need(value, "name", path, kTokenText);
  if (!name || !read_name(name, path.key("name"), row.name)) return false;
  for (const Row& earlier : manifest.rows) {
    if (&earlier != &row && earlier.name == row.name) {
      return fail(path.key("name"), name, "a name that no earlier row of this file has");
    }
  }
  if (const JsonValue where = value.find("where")) {
    if (!read_where(where, path.key("where"), row.where)) return false;
  }
  if (const JsonValue rank = value.find("rank")) {
    const auto number = read_int(rank);
    if (!number) return fail(path.key("rank"), rank, "an integer from 0 to 2147483647");
    row.rank = *number;
  }
  const JsonValue provides = need(value, "provides", path, "an object with at least kv_layout");
  if (!provides || !read_provides(provides, path.key("provides"), row)) return false;
  warn_unknown(value, path, {"name", "where", "rank", "provides", "note"}, &row.extra);
  return read_text(value, "note", path, row.note);
}

bool ManifestReader::read_rows(JsonValue value, const JsonPath& path) {
  if (!value.is_array()) return fail(path, value, "a list of rows");
  if (value.size() > kMaxRows) {
    return fail(path, fmt::format("{} rows", value.size()), fmt::format("at most {}", kMaxRows));
  }
  manifest.rows.reserve(value.size());
  std::size_t i = 0;
  for (const JsonValue row : value) {
    if (!read_row(row, path.item(i++))) return false;
  }
  return true;
}

}  // namespace dsakit
