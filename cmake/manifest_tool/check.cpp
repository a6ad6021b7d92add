#include <algorithm>
#include <array>
#include <cstdio>

#include <fmt/format.h>

#include "diag/render.hpp"
#include "manifest/plugin_file.hpp"
#include "tool.hpp"

namespace dsakit {
namespace {

// Libraries of GPU drivers: a plugin that needs one cannot be loaded on a machine without the
// driver.
constexpr std::array<std::string_view, 2> kDriverLibraries{"libcuda.so", "libnvidia-ml.so"};

}  // namespace

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
    const bool driver =
        std::ranges::any_of(kDriverLibraries, [&](auto name) { return needed.starts_with(name); });
    if (driver) problem("it needs " + needed + ", which only machines with that GPU have");
  }
  return problems == 0 ? 0 : 1;
}

}  // namespace dsakit
