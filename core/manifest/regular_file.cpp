#include "manifest/regular_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <system_error>
#include <utility>

namespace dsakit {
namespace {

bool pread_all(int fd, std::uint64_t offset, std::span<std::byte> out) {
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t n =
        pread(fd, out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += static_cast<std::size_t>(n);
  }
  return true;
}

tl::unexpected<Diagnostic> unreadable(const std::string& path, std::string reason) {
  return tl::unexpected(
      Diagnostic(Code::E0101).with("file", path).with("reason", std::move(reason)));
}

std::string error_text(int error) {
  return std::error_code(error, std::generic_category()).message();
}

}  // namespace

tl::expected<RegularFile, Diagnostic> RegularFile::open(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> resolved(realpath(path.c_str(), nullptr),
                                                             &std::free);
  if (!resolved) return unreadable(path, error_text(errno));
  RegularFile file;
  file.path_ = resolved.get();
  // O_NONBLOCK: opening a named pipe must not wait for a writer.
  file.fd_ = ::open(resolved.get(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file.fd_ < 0) return unreadable(path, error_text(errno));
  struct stat status {};
  if (fstat(file.fd_, &status) != 0) return unreadable(path, error_text(errno));
  if (!S_ISREG(status.st_mode)) return unreadable(path, "not a regular file");
  file.size_ = static_cast<std::uint64_t>(status.st_size);
  file.dev_ = status.st_dev;
  file.ino_ = status.st_ino;
  return file;
}

RegularFile::RegularFile(RegularFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      path_(std::move(other.path_)),
      size_(other.size_),
      dev_(other.dev_),
      ino_(other.ino_) {}

RegularFile::~RegularFile() {
  if (fd_ >= 0) close(fd_);
}

ReadAt RegularFile::read_at() const {
  return [fd = fd_](std::uint64_t offset, std::span<std::byte> out) {
    return pread_all(fd, offset, out);
  };
}

}  // namespace dsakit
