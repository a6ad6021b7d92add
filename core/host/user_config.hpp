// What a user prefers on this machine, kept in a file: the lowest level of precedence (API argument
// > command line > environment > user configuration > rank).
//
// {"backend": id or {"prefill":id,"decode":id,"mtp":id}, "policy":
// {"prefer":…,"deny":…,"kv_dtype":…}} Pure but for reading the named file; any thread.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include "diag/diagnostic.hpp"
#include "host/environment.hpp"
#include "solver/request.hpp"

namespace dsakit {

struct UserConfig {
  std::string file;                            // empty: there is none
  std::array<std::optional<Typed>, 3> choice;  // by Phase
  Policy policy;
};

// The configuration of the environment's user; an absent file gives an empty one. E0606 if it is
// unusable.
tl::expected<UserConfig, Diagnostic> read_user_config(const Environment& environment);
tl::expected<UserConfig, Diagnostic> parse_user_config(std::string_view json,
                                                       const std::string& file);

// Fills in phases of the request that nobody typed: first from the environment, then from `user`. A
// value for a phase that the request does not have is left alone.
void apply_preferences(Request& request, const Environment& environment, const UserConfig& user);

// The policy in a file, as for --policy. E0101 unreadable, E0602 malformed.
tl::expected<Policy, Diagnostic> read_policy(const std::string& file);

}  // namespace dsakit
