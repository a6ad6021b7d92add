#include "manifest/schema.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "diag/nearest.hpp"
#include "manifest/manifest_reader.hpp"

namespace dsakit {
namespace {

constexpr int kSchema = 1;
constexpr std::array<std::string_view, 4> kLevels{"hardware", "emulated", "compiled", "declared"};

tl::unexpected<Diagnostic> wrong(const std::string& file, Refusal refusal) {
  return tl::unexpected(Diagnostic(Code::E0107)
                            .with("file", file)
                            .with("path", std::move(refusal.path))
                            .with("found", std::move(refusal.found))
                            .with("allowed", std::move(refusal.allowed)));
}

// Looks at `schema` before anything else: a newer schema may mean anything by the other keys.
std::optional<Diagnostic> check_schema(JsonValue root, const std::string& file) {
  const JsonPath top;
  if (!root.is_object()) return wrong(file, {top.text(), json_excerpt(root), "an object"}).value();
  const JsonValue schema = root.find("schema");
  const auto number = schema ? read_int(schema, 1) : std::nullopt;
  if (!number) {
    std::string found = schema ? json_excerpt(schema) : "nothing";
    return wrong(file, {top.key("schema").text(), std::move(found), fmt::format("{}", kSchema)})
        .value();
  }
  if (*number == kSchema) return std::nullopt;
  return Diagnostic(Code::E0108)
      .with("file", file)
      .with("found", std::int64_t{*number})
      .with("allowed", std::int64_t{kSchema});
}

}  // namespace

JsonValue ManifestReader::need(JsonValue object, std::string_view key, const JsonPath& path,
                               std::string_view allowed) {
  const JsonValue found = object.find(key);
  if (!found) fail(path.key(key), std::string("nothing"), std::string(allowed));
  return found;
}

bool ManifestReader::want_object(JsonValue value, const JsonPath& path, std::string_view what) {
  return value.is_object() || fail(path, value, std::string(what));
}

void ManifestReader::warn_unknown(JsonValue object, const JsonPath& path, Keys known,
                                  std::map<std::string, std::string>* extra) {
  for (const JsonValue member : object) {
    const std::string_view key = member.key();
    if (std::ranges::find(known, key) != known.end()) continue;
    if (key.starts_with("x-")) {
      if (extra != nullptr) member.append_to((*extra)[std::string(key)]);
      continue;
    }
    Diagnostic warning =
        Diagnostic(Code::W0110).with("file", file_).with("path", path.key(key).text());
    const std::vector<std::string> names(known.begin(), known.end());
    if (const auto nearest = nearest_name(key, names)) {
      warning.notes.push_back(fmt::format("the nearest known key is `{}`", *nearest));
    }
    warnings.push_back(std::move(warning));
  }
}

bool ManifestReader::read_text(JsonValue object, std::string_view key, const JsonPath& path,
                               std::string& out) {
  const JsonValue value = object.find(key);
  if (!value) return true;
  if (!value.is_string()) return fail(path.key(key), value, "a string of at most 256 bytes");
  out = value.text();
  return true;
}

bool ManifestReader::read_flag(JsonValue object, std::string_view key, const JsonPath& path,
                               bool& out) {
  const JsonValue value = object.find(key);
  if (!value) return true;
  if (!value.is_boolean()) return fail(path.key(key), value, "true or false");
  out = value.boolean();
  return true;
}

bool ManifestReader::read_name(JsonValue value, const JsonPath& path, std::string& out) {
  if (!value.is_string() || !is_token(value.text())) {
    return fail(path, value, std::string(kTokenText));
  }
  out = value.text();
  return true;
}

bool ManifestReader::read_id(JsonValue value, const JsonPath& path, std::string& out) {
  if (!read_name(value, path, out)) return false;
  return out != "auto" ||
         fail(path, value, "any token but auto, which asks for an automatic choice");
}

bool ManifestReader::read_version(JsonValue root, const JsonPath& path) {
  constexpr std::string_view kText = "a list of three integers from 0 to 2147483647";
  const JsonValue version = need(root, "version", path, kText);
  if (!version) return false;
  bool good = version.is_array() && version.size() == manifest.version.size();
  std::size_t i = 0;
  for (const JsonValue part : version) {
    const auto number = good ? read_int(part) : std::nullopt;
    good = number.has_value();
    if (good) manifest.version[i++] = *number;
  }
  return good || fail(path.key("version"), version, std::string(kText));
}

bool ManifestReader::read_abi(JsonValue root, const JsonPath& path) {
  constexpr std::string_view kText = R"({"min":a,"max":b} with 1 <= a <= b)";
  const JsonValue abi = need(root, "abi", path, kText);
  if (!abi || !want_object(abi, path.key("abi"), kText)) return false;
  const JsonValue low = abi.find("min"), high = abi.find("max");
  manifest.abi_min = low ? read_int(low, 1).value_or(0) : 0;
  manifest.abi_max = high ? read_int(high, 1).value_or(0) : 0;
  if (manifest.abi_min < 1 || manifest.abi_max < manifest.abi_min) {
    return fail(path.key("abi"), abi, std::string(kText));
  }
  warn_unknown(abi, path.key("abi"), {"min", "max"}, nullptr);
  return true;
}

bool ManifestReader::read_identity(JsonValue root, const JsonPath& path) {
  const JsonValue id = need(root, "id", path, kTokenText);
  if (!id || !read_id(id, path.key("id"), manifest.id)) return false;
  if (!read_version(root, path) || !read_abi(root, path)) return false;
  return read_text(root, "summary", path, manifest.summary) &&
         read_text(root, "vendor", path, manifest.vendor) &&
         read_text(root, "license", path, manifest.license) &&
         read_text(root, "url", path, manifest.url);
}

bool ManifestReader::read_dim(JsonValue value, const JsonPath& path) {
  const std::string_view name = value.key();
  if (!is_token(name)) return fail(path, "name " + json_quoted(name), std::string(kTokenText));
  const auto reserved = reserved_request_keys();
  if (builtin_dimensions().find(name) >= 0 || std::ranges::find(reserved, name) != reserved.end()) {
    return fail(path, std::string("a name that dsakit uses itself"),
                "a new name, such as vendor.name");
  }
  if (!want_object(value, path, "an object of type, neutral, open, shared, doc")) return false;
  Dimension dim;
  dim.name = name;
  constexpr std::string_view kTypeText = "token, int, set, version or arch";
  const JsonValue type = need(value, "type", path, kTypeText);
  if (!type) return false;
  const auto parsed = type.is_string() ? parse_dim_type(type.text()) : std::nullopt;
  if (!parsed) return fail(path.key("type"), type, std::string(kTypeText));
  dim.type = *parsed;
  if (const JsonValue neutral = value.find("neutral")) {
    auto known = read_value(neutral, dim.type);
    if (!known) return fail(path.key("neutral"), neutral, known.error());
    if (!std::holds_alternative<Unknown>(*known)) dim.neutral = std::move(*known);
  }
  if (!read_flag(value, "open", path, dim.open) || !read_flag(value, "shared", path, dim.shared) ||
      !read_text(value, "doc", path, dim.doc)) {
    return false;
  }
  if (!dim.neutral && !dim.open) {
    return fail(path, std::string("neither a neutral value nor open"),
                "`neutral`, or `open`: true");
  }
  warn_unknown(value, path, {"type", "neutral", "open", "shared", "doc"}, nullptr);
  manifest.dims.push_back(std::move(dim));
  return true;
}

bool ManifestReader::read_dims(JsonValue value, const JsonPath& path) {
  if (!want_object(value, path, "an object of dimension declarations")) return false;
  if (value.size() > kMaxValues) {
    return fail(path, fmt::format("{} dimensions", value.size()),
                fmt::format("at most {}", kMaxValues));
  }
  for (const JsonValue declaration : value) {
    if (!read_dim(declaration, path.key(declaration.key()))) return false;
  }
  return true;
}

bool ManifestReader::read_conflicts(JsonValue value, const JsonPath& path) {
  if (!value.is_array() || value.size() > kMaxValues) {
    return fail(path, value, fmt::format("a list of at most {} ids", kMaxValues));
  }
  std::size_t i = 0;
  for (const JsonValue item : value) {
    if (!read_id(item, path.item(i++), manifest.conflicts.emplace_back())) return false;
  }
  auto& ids = manifest.conflicts;
  std::ranges::sort(ids);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return true;
}

bool ManifestReader::read_evidence(JsonValue value, const JsonPath& path) {
  if (!want_object(value, path, "an object of levels by row and arch")) return false;
  for (const JsonValue levels : value) {
    const std::string_view row = levels.key();
    const JsonPath here = path.key(row);
    if (std::ranges::find(manifest.rows, row, &Row::name) == manifest.rows.end()) {
      return fail(here, json_quoted(row), "the name of a row of this file");
    }
    if (!want_object(levels, here, "an object of levels by arch")) return false;
    auto& out = manifest.build.evidence[std::string(row)];
    for (const JsonValue level : levels) {
      const JsonPath arch = here.key(level.key());
      if (!is_token(level.key()))
        return fail(arch, "name " + json_quoted(level.key()), std::string(kTokenText));
      if (!level.is_string() || std::ranges::find(kLevels, level.text()) == kLevels.end()) {
        return fail(arch, level, fmt::format("{}", fmt::join(kLevels, ", ")));
      }
      out.emplace_hint(out.end(), level.key(), level.text());
    }
  }
  return true;
}

bool ManifestReader::read_build(JsonValue value, const JsonPath& path) {
  if (kind_ == ManifestKind::source) {
    return fail(path, value, "nothing: the build writes `build`, never a person");
  }
  if (!want_object(
          value, path,
          "an object of targets, toolkit, flags, sanitizer, commit, sources, portable, evidence"))
    return false;
  manifest.has_build = true;
  BuildInfo& build = manifest.build;
  if (const JsonValue targets = value.find("targets")) {
    const JsonPath list = path.key("targets");
    if (!targets.is_array() || targets.size() > kMaxValues) {
      return fail(list, targets, fmt::format("a list of at most {} tokens", kMaxValues));
    }
    std::size_t i = 0;
    for (const JsonValue target : targets) {
      if (!read_name(target, list.item(i++), build.targets.emplace_back())) return false;
    }
  }
  if (!read_text(value, "toolkit", path, build.toolkit) ||
      !read_text(value, "sanitizer", path, build.sanitizer) ||
      !read_text(value, "commit", path, build.commit) ||
      !read_text(value, "sources", path, build.sources) ||
      !read_flag(value, "portable", path, build.portable)) {
    return false;
  }
  warn_unknown(
      value, path,
      {"targets", "toolkit", "flags", "sanitizer", "commit", "sources", "portable", "evidence"},
      nullptr);
  if (const JsonValue flags = value.find("flags")) {
    const JsonPath here = path.key("flags");
    if (!want_object(flags, here, "an object of flags by language")) return false;
    for (const JsonValue language : flags) {
      std::string& text = build.flags[std::string(language.key())];
      if (!read_text(flags, language.key(), here, text)) return false;
    }
  }
  const JsonValue evidence = value.find("evidence");
  return !evidence || read_evidence(evidence, path.key("evidence"));
}

bool ManifestReader::read(JsonValue root) {
  const JsonPath top;
  if (!read_identity(root, top)) return false;
  const JsonValue dims = root.find("dims"), common = root.find("common"),
                  conflicts = root.find("conflicts"), build = root.find("build");
  if (dims && !read_dims(dims, top.key("dims"))) return false;
  if (common && !read_where(common, top.key("common"), manifest.common)) return false;
  const JsonValue rows = need(root, "rows", top, "a list of rows");
  if (!rows || !read_rows(rows, top.key("rows"))) return false;
  if (conflicts && !read_conflicts(conflicts, top.key("conflicts"))) return false;
  if (build && !read_build(build, top.key("build"))) return false;
  warn_unknown(root, top,
               {"schema", "id", "version", "abi", "summary", "vendor", "license", "url", "dims",
                "common", "rows", "conflicts", "build"},
               &manifest.extra);
  return true;
}

tl::expected<ParsedManifest, Diagnostic> parse_manifest(std::string_view text,
                                                        const std::string& file,
                                                        ManifestKind kind) {
  const auto tree = JsonTree::parse(text);
  if (!tree) {
    return tl::unexpected(Diagnostic(Code::E0106).with("file", file).with("reason", tree.error()));
  }
  const JsonValue root = tree->root();
  if (auto error = check_schema(root, file)) return tl::unexpected(std::move(*error));
  ManifestReader reader(file, kind);
  if (!reader.read(root)) return wrong(file, std::move(reader.refusal));
  reader.manifest.json = canonical_manifest(reader.manifest);
  reader.manifest.json.pop_back();
  return ParsedManifest{std::move(reader.manifest), std::move(reader.warnings)};
}

}  // namespace dsakit
