// The only file that reads the environment: DSAKIT_* variables and what search paths need, once,
// with AT_SECURE honoured (framework §5 precedence, §1 decision 10).
//
// Invariants: under AT_SECURE nothing is read and W0603 says so; an empty value is as good as none;
// a relative XDG_DATA_HOME is ignored. [any-thread]; callers keep the value.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "diag/diagnostic.hpp"

namespace dsakit {

struct Environment {
  std::optional<std::string> backend, backend_prefill, backend_decode, backend_mtp;
  std::optional<std::string> plugin_path, plugin_path_add;  // colon-separated
  std::vector<std::string> backends_disable;                // globs, comma-separated
  std::optional<std::string> log;
  std::string xdg_data_home;            // resolved: $XDG_DATA_HOME or $HOME/.local/share
  std::string xdg_config_home;          // resolved: $XDG_CONFIG_HOME or $HOME/.config
  bool no_color = false;                // NO_COLOR is set, or TERM says that the terminal has none
  std::vector<Diagnostic> diagnostics;  // W0601 unknown DSAKIT_*, W0603
};

// The process's environment.
Environment read_environment();
// From "NAME=value" strings (tests).
Environment parse_environment(const std::vector<std::string>& entries, bool secure);

// The DSAKIT_* variables that mean something, for help texts.
std::vector<std::string> environment_variables();

}  // namespace dsakit
