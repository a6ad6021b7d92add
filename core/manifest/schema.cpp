#include "manifest/schema.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "diag/nearest.hpp"
#include "manifest/manifest_reader.hpp"

namespace dsakit {
namespace {

using nlohmann::json;

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
std::optional<Diagnostic> check_schema(const json& root, const std::string& file) {
  const JsonPath top;
  if (!root.is_object()) return wrong(file, {top.text(), json_excerpt(root), "an object"}).value();
  const auto schema = root.find("schema");
  const std::string found = schema == root.end() ? "nothing" : json_excerpt(*schema);
  const auto number = schema == root.end() ? std::nullopt : read_int(*schema, 1);
  if (!number)
    return wrong(file, {top.key("schema").text(), found, fmt::format("{}", kSchema)}).value();
  if (*number == kSchema) return std::nullopt;
  return Diagnostic(Code::E0108)
      .with("file", file)
      .with("found", std::int64_t{*number})
      .with("allowed", std::int64_t{kSchema});
}

}  // namespace

const json* ManifestReader::find(const json& object, std::string_view key) const {
  const auto& members = object.get_ref<const json::object_t&>();
  const auto found = members.find(key);
  return found == members.end() ? nullptr : &found->second;
}

const json* ManifestReader::need(const json& object, std::string_view key, const JsonPath& path,
                                 std::string_view allowed) {
  const json* found = find(object, key);
  if (found == nullptr) fail(path.key(key), std::string("nothing"), std::string(allowed));
  return found;
}

bool ManifestReader::want_object(const json& value, const JsonPath& path, std::string_view what) {
  return value.is_object() || fail(path, value, std::string(what));
}

void ManifestReader::warn_unknown(const json& object, const JsonPath& path, Keys known,
                                  std::map<std::string, std::string>* extra) {
  for (const auto& [key, value] : object.get_ref<const json::object_t&>()) {
    if (std::ranges::find(known, key) != known.end()) continue;
    if (key.starts_with("x-")) {
      if (extra != nullptr) extra->emplace(key, canonical_json(value));
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

bool ManifestReader::read_text(const json& object, std::string_view key, const JsonPath& path,
                               std::string& out) {
  const json* value = find(object, key);
  if (value == nullptr) return true;
  if (!value->is_string()) return fail(path.key(key), *value, "a string of at most 256 bytes");
  out = value->get_ref<const std::string&>();
  return true;
}

bool ManifestReader::read_flag(const json& object, std::string_view key, const JsonPath& path,
                               bool& out) {
  const json* value = find(object, key);
  if (value == nullptr) return true;
  if (!value->is_boolean()) return fail(path.key(key), *value, "true or false");
  out = value->get<bool>();
  return true;
}

bool ManifestReader::read_name(const json& value, const JsonPath& path, std::string& out) {
  if (!value.is_string() || !is_token(value.get_ref<const std::string&>())) {
    return fail(path, value, std::string(kTokenText));
  }
  out = value.get_ref<const std::string&>();
  return true;
}

bool ManifestReader::read_id(const json& value, const JsonPath& path, std::string& out) {
  if (!read_name(value, path, out)) return false;
  return out != "auto" ||
         fail(path, value, "any token but auto, which asks for an automatic choice");
}

bool ManifestReader::read_identity(const json& root, const JsonPath& path) {
  const json* id = need(root, "id", path, kTokenText);
  if (id == nullptr || !read_id(*id, path.key("id"), manifest.id)) return false;

  constexpr std::string_view kVersionText = "a list of three integers from 0 to 2147483647";
  const json* version = need(root, "version", path, kVersionText);
  if (version == nullptr) return false;
  bool good = version->is_array() && version->size() == manifest.version.size();
  for (std::size_t i = 0; good && i < manifest.version.size(); ++i) {
    const auto part = read_int((*version)[i]);
    good = part.has_value();
    manifest.version[i] = part.value_or(0);
  }
  if (!good) return fail(path.key("version"), *version, std::string(kVersionText));

  constexpr std::string_view kAbiText = R"({"min":a,"max":b} with 1 <= a <= b)";
  const json* abi = need(root, "abi", path, kAbiText);
  if (abi == nullptr || !want_object(*abi, path.key("abi"), kAbiText)) return false;
  const json* low = find(*abi, "min");
  const json* high = find(*abi, "max");
  const auto min = low != nullptr ? read_int(*low, 1) : std::nullopt;
  const auto max = high != nullptr ? read_int(*high, 1) : std::nullopt;
  if (!min || !max || *min > *max) return fail(path.key("abi"), *abi, std::string(kAbiText));
  manifest.abi_min = *min;
  manifest.abi_max = *max;
  warn_unknown(*abi, path.key("abi"), {"min", "max"}, nullptr);

  return read_text(root, "summary", path, manifest.summary) &&
         read_text(root, "vendor", path, manifest.vendor) &&
         read_text(root, "license", path, manifest.license) &&
         read_text(root, "url", path, manifest.url);
}

bool ManifestReader::read_dim(const std::string& name, const json& value, const JsonPath& path) {
  if (!is_token(name)) return fail(path, "name " + json_excerpt(name), std::string(kTokenText));
  const auto reserved = reserved_request_keys();
  if (builtin_dimensions().find(name) >= 0 || std::ranges::find(reserved, name) != reserved.end()) {
    return fail(path, std::string("a name that dsakit uses itself"),
                "a new name, such as vendor.name");
  }
  if (!want_object(value, path, "an object of type, neutral, open, shared, doc")) return false;
  Dimension dim;
  dim.name = name;
  constexpr std::string_view kTypeText = "token, int, set, version or arch";
  const json* type = need(value, "type", path, kTypeText);
  if (type == nullptr) return false;
  const auto parsed =
      type->is_string() ? parse_dim_type(type->get_ref<const std::string&>()) : std::nullopt;
  if (!parsed) return fail(path.key("type"), *type, std::string(kTypeText));
  dim.type = *parsed;
  if (const json* neutral = find(value, "neutral")) {
    auto known = parse_value(*neutral, dim.type);
    if (!known) return fail(path.key("neutral"), *neutral, known.error());
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

bool ManifestReader::read_dims(const json& value, const JsonPath& path) {
  if (!want_object(value, path, "an object of dimension declarations")) return false;
  if (value.size() > kMaxValues) {
    return fail(path, fmt::format("{} dimensions", value.size()),
                fmt::format("at most {}", kMaxValues));
  }
  for (const auto& [name, declaration] : value.get_ref<const json::object_t&>()) {
    if (!read_dim(name, declaration, path.key(name))) return false;
  }
  return true;
}

bool ManifestReader::read_conflicts(const json& value, const JsonPath& path) {
  if (!value.is_array() || value.size() > kMaxValues) {
    return fail(path, value, fmt::format("a list of at most {} ids", kMaxValues));
  }
  for (std::size_t i = 0; i < value.size(); ++i) {
    std::string id;
    if (!read_id(value[i], path.item(i), id)) return false;
    manifest.conflicts.push_back(std::move(id));
  }
  auto& ids = manifest.conflicts;
  std::ranges::sort(ids);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return true;
}

bool ManifestReader::read_evidence(const json& value, const JsonPath& path) {
  if (!want_object(value, path, "an object of levels by row and arch")) return false;
  for (const auto& [row, levels] : value.get_ref<const json::object_t&>()) {
    const JsonPath here = path.key(row);
    if (std::ranges::find(manifest.rows, row, &Row::name) == manifest.rows.end()) {
      return fail(here, json(row), "the name of a row of this file");
    }
    if (!want_object(levels, here, "an object of levels by arch")) return false;
    auto& out = manifest.build.evidence[row];
    for (const auto& [arch, level] : levels.get_ref<const json::object_t&>()) {
      if (!is_token(arch))
        return fail(here.key(arch), "name " + json_excerpt(arch), std::string(kTokenText));
      const bool good =
          level.is_string() &&
          std::ranges::find(kLevels, level.get_ref<const std::string&>()) != kLevels.end();
      if (!good) return fail(here.key(arch), level, fmt::format("{}", fmt::join(kLevels, ", ")));
      out.emplace(arch, level.get_ref<const std::string&>());
    }
  }
  return true;
}

bool ManifestReader::read_build(const json& value, const JsonPath& path) {
  if (kind_ == ManifestKind::source) {
    return fail(path, value, "nothing: the build writes `build`, never a person");
  }
  if (!want_object(value, path, "an object of targets, toolkit, sanitizer, commit, evidence"))
    return false;
  manifest.has_build = true;
  BuildInfo& build = manifest.build;
  if (const json* targets = find(value, "targets")) {
    if (!targets->is_array() || targets->size() > kMaxValues) {
      return fail(path.key("targets"), *targets,
                  fmt::format("a list of at most {} tokens", kMaxValues));
    }
    const JsonPath list = path.key("targets");
    for (std::size_t i = 0; i < targets->size(); ++i) {
      if (!read_name((*targets)[i], list.item(i), build.targets.emplace_back())) return false;
    }
  }
  if (!read_text(value, "toolkit", path, build.toolkit) ||
      !read_text(value, "sanitizer", path, build.sanitizer) ||
      !read_text(value, "commit", path, build.commit)) {
    return false;
  }
  warn_unknown(value, path, {"targets", "toolkit", "sanitizer", "commit", "evidence"}, nullptr);
  const json* evidence = find(value, "evidence");
  return evidence == nullptr || read_evidence(*evidence, path.key("evidence"));
}

bool ManifestReader::read(const json& root) {
  const JsonPath top;
  if (!read_identity(root, top)) return false;
  if (const json* dims = find(root, "dims"); dims && !read_dims(*dims, top.key("dims")))
    return false;
  if (const json* common = find(root, "common")) {
    if (!read_where(*common, top.key("common"), manifest.common)) return false;
  }
  const json* rows = need(root, "rows", top, "a list of rows");
  if (rows == nullptr || !read_rows(*rows, top.key("rows"))) return false;
  if (const json* conflicts = find(root, "conflicts")) {
    if (!read_conflicts(*conflicts, top.key("conflicts"))) return false;
  }
  if (const json* build = find(root, "build"); build && !read_build(*build, top.key("build")))
    return false;
  warn_unknown(root, top,
               {"schema", "id", "version", "abi", "summary", "vendor", "license", "url", "dims",
                "common", "rows", "conflicts", "build"},
               &manifest.extra);
  return true;
}

tl::expected<ParsedManifest, Diagnostic> parse_manifest(std::string_view text,
                                                        const std::string& file,
                                                        ManifestKind kind) {
  auto root = parse_strict_json(text);
  if (!root) {
    return tl::unexpected(
        Diagnostic(Code::E0106).with("file", file).with("reason", std::move(root).error()));
  }
  if (auto error = check_schema(*root, file)) return tl::unexpected(std::move(*error));
  ManifestReader reader(file, kind);
  if (!reader.read(*root)) return wrong(file, std::move(reader.refusal));
  reader.manifest.json = canonical_manifest(reader.manifest);
  reader.manifest.json.pop_back();
  return ParsedManifest{std::move(reader.manifest), std::move(reader.warnings)};
}

}  // namespace dsakit
