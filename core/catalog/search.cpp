#include "catalog/search.hpp"

#include <link.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <system_error>

namespace dsakit {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPluginSubdir = "dsakit/plugins";

// Which loaded file covers `address`: its name as the dynamic linker has it, "" for the program
// itself.
struct FileOfAddress {
  std::uintptr_t address = 0;
  bool found = false;
  std::string name;
};

int match_object(dl_phdr_info* info, std::size_t, void* data) {
  auto& query = *static_cast<FileOfAddress*>(data);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    const std::uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
    if (query.address >= begin && query.address - begin < segment.p_memsz) {
      query.found = true;
      query.name = info->dlpi_name ? info->dlpi_name : "";
      return 1;
    }
  }
  return 0;
}

std::vector<std::string> split_path(const std::string& text) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(':', begin), text.size());
    // An empty part would mean the current directory, which is never searched.
    if (end > begin) parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

void append_variable(const std::optional<std::string>& value, std::string_view name,
                     std::vector<SearchDir>& out) {
  if (!value) return;
  for (std::string& path : split_path(*value)) {
    out.push_back({std::move(path), std::string(name), true, ""});
  }
}

void append_defaults(const SearchVariables& variables, const std::string& library_dir,
                     std::vector<SearchDir>& out) {
  const auto add = [&out](const fs::path& base, std::string_view origin) {
    out.push_back(
        {(base / kPluginSubdir).lexically_normal().string(), std::string(origin), false, ""});
  };
  if (!library_dir.empty()) add(fs::path(library_dir) / ".." / "lib", "beside libdsakit");
  if (fs::path(variables.data_home).is_absolute()) add(variables.data_home, "XDG_DATA_HOME");
  add("/usr/local/lib", "system");
  add(fs::path("/usr/lib") / DSAKIT_LIBRARY_TRIPLET, "system");
}

}  // namespace

std::string library_directory() {
  FileOfAddress query;
  query.address = reinterpret_cast<std::uintptr_t>(&match_object);
  dl_iterate_phdr(&match_object, &query);
  if (!query.found) return "";
  std::error_code error;
  const fs::path file = query.name.empty() ? fs::read_symlink("/proc/self/exe", error)
                                           : fs::canonical(query.name, error);
  return error ? "" : file.parent_path().string();
}

std::vector<SearchDir> plugin_search_path(const std::vector<std::string>& first,
                                          std::string_view first_origin,
                                          const SearchVariables& variables,
                                          const std::string& library_dir) {
  std::vector<SearchDir> dirs;
  for (const std::string& path : first) {
    std::error_code error;
    const fs::path absolute = fs::absolute(path, error);
    dirs.push_back({error || path.empty() ? path : absolute.lexically_normal().string(),
                    std::string(first_origin), true, ""});
  }
  append_variable(variables.path_add, "DSAKIT_PLUGIN_PATH_ADD", dirs);
  if (variables.path) {
    append_variable(variables.path, "DSAKIT_PLUGIN_PATH", dirs);
  } else {
    append_defaults(variables, library_dir, dirs);
  }
  return dirs;
}

FolderListing list_folder(const std::string& folder, std::string_view prefix,
                          std::string_view suffix) {
  FolderListing listing;
  std::error_code error;
  fs::directory_iterator it(folder, error);
  if (error) {
    listing.error = error.message();
    listing.missing = error == std::errc::no_such_file_or_directory;
    return listing;
  }
  for (const fs::directory_iterator end; it != end; it.increment(error)) {
    std::string name = it->path().filename().string();
    if (name.size() > prefix.size() + suffix.size() && name.starts_with(prefix) &&
        name.ends_with(suffix)) {
      listing.names.push_back(std::move(name));
    }
  }
  if (error) listing.error = error.message();
  std::sort(listing.names.begin(), listing.names.end());
  return listing;
}

bool glob_match(std::string_view pattern, std::string_view text) {
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;
  std::size_t resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

}  // namespace dsakit
