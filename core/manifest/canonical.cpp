// Manifest → canonical bytes: sorted keys, no spaces, one final newline; values as parsed.
#include <algorithm>

#include <fmt/format.h>

#include "manifest/json.hpp"
#include "manifest/schema.hpp"

namespace dsakit {
namespace {

// Writes members of one object; callers add keys in ascending order.
class ObjectWriter {
 public:
  explicit ObjectWriter(std::string& out) : out_(out) { out_ += '{'; }
  ~ObjectWriter() { out_ += '}'; }
  ObjectWriter(const ObjectWriter&) = delete;
  ObjectWriter& operator=(const ObjectWriter&) = delete;

  std::string& key(std::string_view name) {
    if (!first_) out_ += ',';
    first_ = false;
    append_json_string(out_, name);
    out_ += ':';
    return out_;
  }
  void raw(std::string_view name, std::string_view json) { key(name) += json; }
  void number(std::string_view name, std::int32_t value) {
    fmt::format_to(std::back_inserter(key(name)), "{}", value);
  }
  // Left out if empty.
  void text(std::string_view name, std::string_view value) {
    if (!value.empty()) append_json_string(key(name), value);
  }

 private:
  std::string& out_;
  bool first_ = true;
};

void write_strings(std::string& out, const std::vector<std::string>& items) {
  out += '[';
  for (const std::string& item : items) {
    if (&item != &items.front()) out += ',';
    append_json_string(out, item);
  }
  out += ']';
}

void write_where(std::string& out, const Where& where) {
  ObjectWriter object(out);
  for (const auto& [name, predicate] : where) object.raw(name, predicate.json);
}

void write_row(std::string& out, const Row& row) {
  ObjectWriter object(out);
  object.text("name", row.name);
  object.text("note", row.note);
  {
    ObjectWriter provides(object.key("provides"));
    for (const auto& [name, value] : row.provides) provides.raw(name, value_json(value));
  }
  object.number("rank", row.rank);
  write_where(object.key("where"), row.where);
  for (const auto& [name, json] : row.extra) object.raw(name, json);
}

void write_dims(std::string& out, const std::vector<Dimension>& dims) {
  ObjectWriter object(out);
  for (const Dimension& dim : dims) {
    ObjectWriter declaration(object.key(dim.name));
    declaration.text("doc", dim.doc);
    if (dim.neutral) declaration.raw("neutral", value_json(*dim.neutral));
    declaration.raw("open", dim.open ? "true" : "false");
    declaration.raw("shared", dim.shared ? "true" : "false");
    declaration.text("type", dim_type_name(dim.type));
  }
}

void write_build(std::string& out, const BuildInfo& build) {
  ObjectWriter object(out);
  object.text("commit", build.commit);
  if (!build.evidence.empty()) {
    ObjectWriter evidence(object.key("evidence"));
    for (const auto& [row, levels] : build.evidence) {
      ObjectWriter by_arch(evidence.key(row));
      for (const auto& [arch, level] : levels) by_arch.text(arch, level);
    }
  }
  if (!build.flags.empty()) {
    ObjectWriter flags(object.key("flags"));
    for (const auto& [language, text] : build.flags) flags.text(language, text);
  }
  if (build.portable) object.raw("portable", "true");
  object.text("sanitizer", build.sanitizer);
  object.text("sources", build.sources);
  if (!build.targets.empty()) write_strings(object.key("targets"), build.targets);
  object.text("toolkit", build.toolkit);
}

}  // namespace

std::string canonical_manifest(const Manifest& manifest) {
  std::string out;
  out.reserve(4096);
  {
    ObjectWriter object(out);
    {
      ObjectWriter abi(object.key("abi"));
      abi.number("max", manifest.abi_max);
      abi.number("min", manifest.abi_min);
    }
    if (manifest.has_build) write_build(object.key("build"), manifest.build);
    if (!manifest.common.empty()) write_where(object.key("common"), manifest.common);
    if (!manifest.conflicts.empty()) write_strings(object.key("conflicts"), manifest.conflicts);
    if (!manifest.dims.empty()) write_dims(object.key("dims"), manifest.dims);
    object.text("id", manifest.id);
    object.text("license", manifest.license);
    std::string& rows = object.key("rows");
    rows += '[';
    for (const Row& row : manifest.rows) {
      if (&row != &manifest.rows.front()) rows += ',';
      write_row(rows, row);
    }
    rows += ']';
    object.number("schema", manifest.schema);
    object.text("summary", manifest.summary);
    object.text("url", manifest.url);
    object.text("vendor", manifest.vendor);
    const auto& version = manifest.version;
    object.raw("version", fmt::format("[{},{},{}]", version[0], version[1], version[2]));
    for (const auto& [name, json] : manifest.extra) object.raw(name, json);
  }
  out += '\n';
  return out;
}

}  // namespace dsakit
