#include <cstdio>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "diag/render.hpp"
#include "manifest/device_code.hpp"
#include "manifest/plugin_file.hpp"
#include "manifest/schema.hpp"
#include "sources.hpp"
#include "tool.hpp"

namespace dsakit {
namespace {

// A rule of a makefile: `target` is made again when one of the files changes.
std::string dependencies(const std::string& target, const std::vector<std::string>& files) {
  const auto escaped = [](const std::string& path) {
    std::string out;
    for (const char c : path) {
      if (c == ' ' || c == '#') out += '\\';
      if (c == '$') out += '$';
      out += c;
    }
    return out;
  };
  std::string out = escaped(target) + ":";
  for (const std::string& file : files) out += " \\\n  " + escaped(file);
  return out + "\n";
}

// What the build knows about the code: sources, flags, and how each row is known to work.
bool describe_build(const EmbedOptions& options, Manifest& manifest) {
  BuildInfo& build = manifest.build;
  manifest.has_build = true;
  build.targets = options.targets;
  build.toolkit = options.toolkit;
  build.sanitizer = options.sanitizer;
  build.commit = options.commit;
  if (!options.source_lists.empty()) {
    SourceSet sources;
    if (!collect_sources(options.source_lists, sources)) return false;
    build.sources = sources.digest;
    build.portable = sources.portable;
    build.flags = sources.flags;
    if (!options.depfile.empty() &&
        !write_file(options.depfile, dependencies(options.json_out, sources.files)))
      return false;
  }
  std::vector<EvidenceRecord> records;
  if (!read_records(options.records, manifest.id, records)) return false;
  write_levels(manifest, records);
  return true;
}

// A build for some AMD GPUs claims nothing for the others. False, with a message, if no row is
// left.
bool keep_rows_with_code(const EmbedOptions& options, Manifest& manifest) {
  const std::size_t before = manifest.rows.size();
  std::erase_if(manifest.rows,
                [&](const Row& row) { return lacks_code(manifest, row, options.targets); });
  if (!manifest.rows.empty() || before == 0) return true;
  fmt::print(stderr, "{}: no row takes a device that {} is code for\n", options.manifest,
             fmt::join(options.targets, ", "));
  return false;
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
  if (!keep_rows_with_code(options, manifest) || !describe_build(options, manifest)) return 1;

  const std::string json = canonical_manifest(manifest);
  if (const auto built = parse_manifest(json, options.manifest, ManifestKind::built); !built) {
    return refuse(built.error());
  }
  const std::vector<std::byte> note = encode_note_descriptor(json);
  const std::string bytes(reinterpret_cast<const char*>(note.data()), note.size());
  return write_file(options.json_out, json) && write_file(options.note_out, bytes) ? 0 : 1;
}

}  // namespace dsakit
