#include <cstdio>

#include <fmt/format.h>

#include "diag/render.hpp"
#include "manifest/device_code.hpp"
#include "manifest/plugin_file.hpp"
#include "manifest/schema.hpp"
#include "tool.hpp"

namespace dsakit {
int check(const CheckOptions& options) {
  std::string json;
  if (!read_file(options.json, json)) return 1;
  const auto plugin = read_plugin_file(options.plugin);
  if (!plugin) {
    fmt::print(stderr, "{}", render_text(plugin.error()));
    return 1;
  }
  int problems = 0;
  const auto problem = [&](const std::string& text) {
    fmt::print(stderr, "dsakit-manifest: {}: {}\n", options.plugin, text);
    ++problems;
  };
  if (plugin->manifest_json != json)
    problem("the embedded manifest is not the one of " + options.json);
  if (plugin->static_tls) problem("it uses static TLS, of which a process has little");
  for (const std::string& needed : plugin->needed) {
    if (is_driver_library(needed))
      problem("it needs " + needed + ", which only machines with that GPU have");
  }
  const auto parsed = parse_manifest(json, options.json);
  const auto code = read_device_code(options.plugin);
  if (parsed && code) {
    for (const Diagnostic& finding : lint_device_code(parsed->manifest, *code, options.plugin))
      problem(headline(finding));
  }
  return problems == 0 ? 0 : 1;
}

}  // namespace dsakit
