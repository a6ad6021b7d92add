#include "catalog/text_file.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace dsakit {

tl::expected<std::string, Diagnostic> read_text_file(const std::string& path,
                                                     std::size_t max_bytes) {
  const auto fail = [&path](std::string reason) {
    return tl::unexpected(
        Diagnostic(Code::E0101).with("file", path).with("reason", std::move(reason)));
  };
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) {
    return fail(error ? error.message() : "No such file or directory");
  }
  if (!std::filesystem::is_regular_file(status)) return fail("it is not a regular file");
  std::ifstream in(path, std::ios::binary);
  if (!in) return fail(std::strerror(errno));
  std::string text(max_bytes + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  return text;
}

}  // namespace dsakit
