#include "host/environment.hpp"

#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "diag/nearest.hpp"

namespace dsakit {
namespace {

constexpr std::string_view kPrefix = "DSAKIT_";

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    std::string_view entry = text.substr(0, comma);
    text.remove_prefix(comma == text.npos ? text.size() : comma + 1);
    while (entry.starts_with(' ')) entry.remove_prefix(1);
    while (entry.ends_with(' ')) entry.remove_suffix(1);
    if (!entry.empty()) out.emplace_back(entry);
  }
  return out;
}

struct Variable {
  std::string_view name;
  void (*set)(Environment&, std::string_view value);
};

template <std::optional<std::string> Environment::*Member>
void set_text(Environment& environment, std::string_view value) {
  environment.*Member = value;
}

// The DSAKIT_* variables there are; a new one is a new line.
constexpr Variable kVariables[] = {
    {"DSAKIT_BACKEND", set_text<&Environment::backend>},
    {"DSAKIT_BACKEND_PREFILL", set_text<&Environment::backend_prefill>},
    {"DSAKIT_BACKEND_DECODE", set_text<&Environment::backend_decode>},
    {"DSAKIT_BACKEND_MTP", set_text<&Environment::backend_mtp>},
    {"DSAKIT_PLUGIN_PATH", set_text<&Environment::plugin_path>},
    {"DSAKIT_PLUGIN_PATH_ADD", set_text<&Environment::plugin_path_add>},
    {"DSAKIT_BACKENDS_DISABLE",
     [](Environment& environment, std::string_view value) {
       environment.backends_disable = split_list(value);
     }},
    {"DSAKIT_LOG", set_text<&Environment::log>},
};

Diagnostic unknown_variable(std::string_view name, const std::string& entry) {
  Diagnostic d =
      Diagnostic(Code::W0601).with("name", std::string(name)).from({entry, "environment"});
  const std::vector<std::string> known = environment_variables();
  if (const auto near = nearest_of_all(name, known)) {
    d = std::move(d).with("nearest", *near);
    d.notes.push_back(fmt::format("the nearest known variable is `{}`", *near));
  }
  return d;
}

void read_variable(Environment& environment, std::string_view name, std::string_view value,
                   const std::string& entry) {
  const auto it = std::ranges::find(kVariables, name, &Variable::name);
  if (it == std::end(kVariables)) {
    environment.diagnostics.push_back(unknown_variable(name, entry));
  } else if (!value.empty()) {
    it->set(environment, value);
  }
}

}  // namespace

std::vector<std::string> environment_variables() {
  std::vector<std::string> names;
  for (const Variable& variable : kVariables) names.emplace_back(variable.name);
  return names;
}

Environment parse_environment(const std::vector<std::string>& entries, bool secure) {
  Environment environment;
  if (secure) {
    environment.diagnostics.emplace_back(Code::W0603);
    return environment;
  }
  std::string_view home;
  for (const std::string& entry : entries) {
    const std::size_t equals = entry.find('=');
    if (equals == entry.npos) continue;
    const std::string_view name = std::string_view(entry).substr(0, equals);
    const std::string_view value = std::string_view(entry).substr(equals + 1);
    if (name.starts_with(kPrefix)) {
      read_variable(environment, name, value, entry);
    } else if (name == "NO_COLOR") {
      environment.no_color |= !value.empty();
    } else if (name == "TERM") {
      environment.no_color |= value == "dumb";
    } else if (name == "XDG_DATA_HOME" && value.starts_with('/')) {
      environment.xdg_data_home = value;
    } else if (name == "XDG_CONFIG_HOME" && value.starts_with('/')) {
      environment.xdg_config_home = value;
    } else if (name == "HOME" && value.starts_with('/')) {
      home = value;
    }
  }
  if (environment.xdg_data_home.empty() && !home.empty()) {
    environment.xdg_data_home = fmt::format("{}/.local/share", home);
  }
  if (environment.xdg_config_home.empty() && !home.empty()) {
    environment.xdg_config_home = fmt::format("{}/.config", home);
  }
  return environment;
}

Environment read_environment() {
  std::vector<std::string> entries;
  const bool secure = ::getauxval(AT_SECURE) != 0;
  if (!secure && ::environ != nullptr) {
    for (char** entry = ::environ; *entry != nullptr; ++entry) entries.emplace_back(*entry);
  }
  return parse_environment(entries, secure);
}

}  // namespace dsakit
