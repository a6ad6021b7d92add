// Where plugins are looked for, and which files of a folder are plugin files (framework §6).
//
// Invariants: never the current directory, never LD_LIBRARY_PATH, never recursive; only names of
// the form libdsakit_*.so, in bytewise order, at most kMaxPluginFiles a directory. Reads
// directories, opens no file; reentrant, any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/catalog.hpp"

namespace dsakit {

inline constexpr std::size_t kMaxPluginFiles = 1024;

// The directory of the file (library or program) that holds this code, absolute; empty if unknown.
std::string library_directory();

// What the environment says about where to look; colon-separated lists.
struct SearchVariables {
  std::optional<std::string> path_add;  // DSAKIT_PLUGIN_PATH_ADD
  std::optional<std::string> path;      // DSAKIT_PLUGIN_PATH
  std::string data_home;                // XDG_DATA_HOME or its default
};

// The search order: `first` (named by the caller, shown as `first_origin`), DSAKIT_PLUGIN_PATH_ADD,
// then either DSAKIT_PLUGIN_PATH or the default places around `library_dir`, in the user's data and
// the system.
std::vector<SearchDir> plugin_search_path(const std::vector<std::string>& first,
                                          std::string_view first_origin,
                                          const SearchVariables& variables,
                                          const std::string& library_dir = library_directory());

// Names in a folder that start and end as given, bytewise sorted.
struct FolderListing {
  std::vector<std::string> names;
  std::string error;     // why it could not be listed; empty if it could
  bool missing = false;  // … because it does not exist
};
FolderListing list_folder(const std::string& folder, std::string_view prefix,
                          std::string_view suffix);

// Glob with `*` and `?` only, over the whole text.
bool glob_match(std::string_view pattern, std::string_view text);

}  // namespace dsakit
