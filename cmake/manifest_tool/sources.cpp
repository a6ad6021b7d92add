#include "sources.hpp"

#include <algorithm>
#include <filesystem>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "manifest/sha256.hpp"
#include "tool.hpp"

namespace dsakit {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostFlags = 250;  // bytes; a manifest's strings are short

// `folder` is not empty.
bool is_inside(const fs::path& file, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), file.begin(), file.end()).first ==
         folder.end();
}

// The file that an #include line of `text` from `at` on names, and where the next search starts.
std::string next_include(const std::string& text, std::size_t& at) {
  while (at < text.size()) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line(text.data() + at, end - at);
    at = end + 1;
    if (!line.starts_with('#')) continue;
    line.remove_prefix(1);
    if (line.starts_with(' ')) line.remove_prefix(1);
    if (!line.starts_with("include")) continue;
    const std::size_t open = line.find_first_of("\"<");
    if (open == std::string_view::npos) continue;
    const std::size_t close = line.find_first_of("\">", open + 1);
    if (close != std::string_view::npos)
      return std::string(line.substr(open + 1, close - open - 1));
  }
  return "";
}

// Whether a text depends on the device that it is compiled for: __CUDA_ARCH__ and its kin,
// __gfx942__.
bool asks_for_device(const std::string& text) {
  return text.find("__CUDA_ARCH") != std::string::npos || text.find("__gfx") != std::string::npos;
}

struct Target {
  fs::path folder;
  std::vector<fs::path> includes;
};

class Collector {
 public:
  // One line of a list.
  void read_line(const std::string& key, const std::string& value) {
    if (key == "root") root_ = fs::path(value).lexically_normal();
    if (key == "without") without_.insert(fs::path(value).lexically_normal());
    if (key == "language") options_ = &flags_[value];
    if (key == "target") targets_.emplace_back();
    if (key == "define") defines_.insert(without_root(value));
    if (key == "option" && options_ != nullptr) add_option(value);
    if (key == "folder") targets_.back().folder = value;
    if (key == "include") targets_.back().includes.emplace_back(value);
    if (key == "source") sources_.emplace_back(value, targets_.size() - 1);
  }

  bool finish(SourceSet& out) {
    for (const auto& [name, target] : sources_) {
      const fs::path file = (targets_[target].folder / name).lexically_normal();
      if (!add(file, target)) return false;
    }
    std::string text;
    for (const std::string& define : defines_) text += fmt::format("define {}\n", define);
    for (const auto& [name, content] : texts_)
      text += fmt::format("file {} {}\n{}", name, content.size(), content);
    out.portable = !asks_for_device(text);
    out.digest = sha256(text);
    out.files.assign(files_.begin(), files_.end());
    for (const auto& [language, options] : flags_)
      if (!options.empty()) out.flags[language] = shortened(options);
    return true;
  }

 private:
  // A file of the project with all that it includes from it.
  bool add(const fs::path& file, std::size_t target) {
    if (!counts(file) || !seen_.emplace(file, target).second) return true;
    std::string text;
    if (!read_file(file.string(), text)) return false;
    files_.insert(file.string());
    const std::string name = file.lexically_relative(root_).generic_string();
    const std::string& kept = texts_[name] = without_layout(text);
    for (std::size_t at = 0; at < kept.size();) {
      const std::string included = next_include(kept, at);
      if (!included.empty() && !add_included(file, included, target)) return false;
    }
    return true;
  }

  bool counts(const fs::path& file) const {
    return is_inside(file, root_) && std::ranges::none_of(without_, [&](const fs::path& folder) {
             return is_inside(file, folder);
           });
  }

  bool add_included(const fs::path& from, const std::string& name, std::size_t target) {
    const std::vector<fs::path>& includes = targets_[target].includes;
    std::vector<fs::path> folders{from.parent_path()};
    folders.insert(folders.end(), includes.begin(), includes.end());
    for (const fs::path& folder : folders) {
      const fs::path file = (folder / name).lexically_normal();
      std::error_code error;
      if (fs::is_regular_file(file, error)) return add(file, target);
    }
    return true;
  }

  std::string without_root(std::string text) const {
    const std::string root = root_.string();
    for (std::size_t at = 0; (at = text.find(root, at)) != std::string::npos;)
      text.replace(at, root.size(), ".");
    return text;
  }

  // Warnings and folders of this machine are not how code is compiled.
  void add_option(const std::string& words) {
    std::istringstream in(words);
    for (std::string word; in >> word;) {
      const bool warning = word.starts_with("-W") && !word.starts_with("-Wl");
      if (warning || word.find('/') != std::string::npos) continue;
      if (std::ranges::find(*options_, word) == options_->end()) options_->push_back(word);
    }
  }

  static std::string shortened(const std::vector<std::string>& words) {
    std::string out;
    for (const std::string& word : words) {
      if (out.size() + word.size() + 5 > kMostFlags) return out + " ...";
      out += (out.empty() ? "" : " ") + word;
    }
    return out;
  }

  fs::path root_;
  std::set<fs::path> without_;
  std::set<std::pair<fs::path, std::size_t>> seen_;  // file, target
  std::vector<Target> targets_;
  std::vector<std::pair<std::string, std::size_t>> sources_;  // name, target
  std::map<std::string, std::vector<std::string>> flags_;
  std::vector<std::string>* options_ = nullptr;
  std::set<std::string> defines_;
  std::map<std::string, std::string> texts_;  // name in the project → text
  std::set<std::string> files_;
};

}  // namespace

bool collect_sources(const std::vector<std::string>& lists, SourceSet& out) {
  Collector collector;
  for (const std::string& list : lists) {
    std::string text;
    if (!read_file(list, text)) return false;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      const std::size_t blank = line.find(' ');
      // A property without values leaves a key alone.
      if (blank != std::string::npos && blank + 1 < line.size())
        collector.read_line(line.substr(0, blank), line.substr(blank + 1));
    }
  }
  return collector.finish(out);
}

}  // namespace dsakit
