// A plugin file opened for reading, never for execution: the resolved path, no symbolic link, no
// pipe or device. Private to core/manifest. One thread an object.
#pragma once

#include <cstdint>
#include <string>

#include <tl/expected.hpp>

#include "diag/diagnostic.hpp"
#include "manifest/plugin_file.hpp"

namespace dsakit {

class RegularFile {
 public:
  // E0101 with the reason.
  static tl::expected<RegularFile, Diagnostic> open(const std::string& path);
  RegularFile(RegularFile&& other) noexcept;
  RegularFile& operator=(RegularFile&&) = delete;
  ~RegularFile();

  // Valid as long as the file.
  ReadAt read_at() const;
  const std::string& path() const { return path_; }  // resolved
  std::uint64_t size() const { return size_; }
  std::uint64_t dev() const { return dev_; }
  std::uint64_t ino() const { return ino_; }

 private:
  RegularFile() = default;

  int fd_ = -1;
  std::string path_;
  std::uint64_t size_ = 0, dev_ = 0, ino_ = 0;
};

}  // namespace dsakit
