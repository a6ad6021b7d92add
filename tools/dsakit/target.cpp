#include "target.hpp"

#include <fmt/format.h>

#include "catalog/text_file.hpp"
#include "manifest/json.hpp"
#include "manifest/schema.hpp"

namespace dsakit::cli {
namespace {

Diagnostic against_rule(const std::string& file, std::string reason) {
  return Diagnostic(Code::W0118).with("file", file).with("reason", std::move(reason));
}

// What the file's dynamic section says against the rules for plugins (framework §7).
void check_link_flags(const PluginFile& plugin, const std::string& file,
                      std::vector<Diagnostic>& out) {
  if (plugin.static_tls) {
    out.push_back(against_rule(file, "it needs static TLS, which runs out in a large process"));
  }
  for (const std::string& needed : plugin.needed) {
    if (is_driver_library(needed)) {
      out.push_back(against_rule(
          file, fmt::format("it needs {}, so it cannot load without a driver", needed)));
    }
  }
  if (plugin.runpath.find("$ORIGIN") == std::string::npos && !plugin.runpath.empty()) {
    out.push_back(
        against_rule(file, fmt::format("its RUNPATH {} names fixed directories", plugin.runpath)));
  }
}

void take_json(Target& target, ManifestKind kind) {
  auto parsed = parse_manifest(target.json, target.file, kind);
  if (!parsed) {
    target.diagnostics.push_back(std::move(parsed.error()));
    return;
  }
  for (Diagnostic& warning : parsed->warnings) target.diagnostics.push_back(std::move(warning));
  for (Diagnostic& finding : lint_rows(parsed->manifest, target.file)) {
    target.diagnostics.push_back(std::move(finding));
  }
  target.manifest = std::make_shared<const Manifest>(std::move(parsed->manifest));
}

// Of a plugin whose headers were read, so that nothing is said about them twice.
void take_device_code(Target& target) {
  auto code = read_device_code(target.file);
  if (!code || !target.manifest) return;
  for (Diagnostic& finding : lint_device_code(*target.manifest, *code, target.file))
    target.diagnostics.push_back(std::move(finding));
  target.device_code = std::move(code->codes);
}

}  // namespace

tl::expected<Target, Diagnostic> read_target(const std::string& file) {
  Target target;
  target.file = file;
  if (file.ends_with(".json")) {
    auto text = read_text_file(file, JsonLimits{}.max_bytes);
    if (!text) return tl::unexpected(std::move(text.error()));
    target.json = std::move(*text);
    take_json(target, ManifestKind::source);
    return target;
  }
  auto plugin = read_plugin_file(file);
  if (!plugin) {
    if (plugin.error().code == Code::E0101) return tl::unexpected(std::move(plugin.error()));
    target.diagnostics.push_back(std::move(plugin.error()));
    return target;
  }
  target.plugin = std::move(*plugin);
  target.json = target.plugin->manifest_json;
  take_json(target, ManifestKind::built);
  check_link_flags(*target.plugin, file, target.diagnostics);
  take_device_code(target);
  return target;
}

}  // namespace dsakit::cli
