#include <algorithm>
#include <cstdio>
#include <functional>
#include <set>

#include <fmt/format.h>

#include "diag/render.hpp"
#include "manifest/arch.hpp"
#include "manifest/plugin_file.hpp"
#include "manifest/schema.hpp"
#include "tool.hpp"

namespace dsakit {
namespace {

// The devices that a dimension of a row leaves, by platform or by arch.
bool accepts(const Where& where, const std::string& dim, const KnownDevice& device) {
  const auto found = where.find(dim);
  if (found == where.end()) return true;
  const Predicate& predicate = found->second;
  if (!predicate.unknown_operator.empty()) return false;
  if (predicate.kind == Predicate::Kind::any) return true;
  return std::ranges::any_of(predicate.list, [&](const std::string& token) {
    if (dim == "platform") return token == device.platform;
    std::string why;
    const auto arch = parse_arch_token(token, why);
    return arch && std::ranges::find(arch->devices, device.name) != arch->devices.end();
  });
}

// `compiled` for each row and device that the row serves and the file holds code for. Better levels
// come from measurements alone.
void add_evidence(Manifest& manifest) {
  std::set<std::string_view> covered;
  for (const std::string& target : manifest.build.targets) {
    std::string why;
    const auto arch = parse_arch_token(target, why);
    if (arch) covered.insert(arch->devices.begin(), arch->devices.end());
  }
  for (const Row& row : manifest.rows) {
    for (const KnownDevice& device : known_devices()) {
      bool serves = covered.contains(device.name);
      for (const Where& where : {std::cref(manifest.common), std::cref(row.where)}) {
        serves = serves && accepts(where, "platform", device) && accepts(where, "arch", device);
      }
      if (serves) manifest.build.evidence[row.name].emplace(device.name, "compiled");
    }
  }
}

int refuse(const Diagnostic& diagnostic) {
  fmt::print(stderr, "{}", render_text(diagnostic));
  return 1;
}

}  // namespace

int embed(const EmbedOptions& options) {
  std::string source;
  if (!read_file(options.manifest, source)) return 1;
  auto parsed = parse_manifest(source, options.manifest, ManifestKind::source);
  if (!parsed) return refuse(parsed.error());
  Manifest& manifest = parsed->manifest;

  std::vector<Diagnostic> findings = std::move(parsed->warnings);
  for (Diagnostic& finding : lint_rows(manifest, options.manifest))
    findings.push_back(std::move(finding));
  for (const Diagnostic& finding : findings) refuse(finding);
  if (!findings.empty() && !options.allow_warnings) {
    fmt::print(stderr, "{} finding(s); dsakit_add_plugin(… ALLOW_WARNINGS) accepts them\n",
               findings.size());
    return 1;
  }
  if (manifest.id != options.id) {
    return refuse(
        Diagnostic(Code::E0107)
            .with("file", options.manifest)
            .with("path", "id")
            .with("found", fmt::format("\"{}\"", manifest.id))
            .with("allowed", fmt::format("\"{}\", the id that CMake builds", options.id)));
  }
  manifest.has_build = true;
  manifest.build.targets = options.targets;
  manifest.build.toolkit = options.toolkit;
  manifest.build.sanitizer = options.sanitizer;
  manifest.build.commit = options.commit;
  add_evidence(manifest);

  const std::string json = canonical_manifest(manifest);
  if (const auto built = parse_manifest(json, options.manifest, ManifestKind::built); !built) {
    return refuse(built.error());
  }
  const std::vector<std::byte> note = encode_note_descriptor(json);
  const std::string bytes(reinterpret_cast<const char*>(note.data()), note.size());
  return write_file(options.json_out, json) && write_file(options.note_out, bytes) ? 0 : 1;
}

}  // namespace dsakit
