// Plugin files made in memory: a minimal ELF shared object with one manifest note, for tests that
// need many files, odd ones or broken ones, without a compiler. Nothing here can be loaded. One
// thread.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace dsakit::test {

struct FakePlugin {
  std::string manifest{};             // text of the note; empty: no note
  std::vector<std::string> needed{};  // DT_NEEDED
  std::string soname{}, runpath{};
  bool static_tls = false;
};

// The bytes of the file.
std::string plugin_bytes(const FakePlugin& plugin);

void write_file(const std::filesystem::path& path, const std::string& bytes);
std::string read_file(const std::filesystem::path& path);

// A small valid manifest with one row: what most tests need.
std::string small_manifest(const std::string& id, const std::string& arch = "sm_90",
                           const std::string& platform = "cuda");

// A folder of its own below the system's temporary one, removed with the object.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace dsakit::test
