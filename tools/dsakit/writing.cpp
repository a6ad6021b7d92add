#include "writing.hpp"

#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <fstream>
#include <iterator>
#include <system_error>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "sdk/conformance/evidence.hpp"

namespace dsakit::cli {
namespace {

Diagnostic cannot_write(const std::string& file, const std::error_code& why) {
  return Diagnostic(Code::E0803).with("file", file).with("reason", why.message());
}

Diagnostic cannot_write(const std::string& file, int number) {
  return cannot_write(file, std::error_code(number, std::generic_category()));
}

}  // namespace

std::string today() {
  return fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr)));
}

tl::expected<void, Diagnostic> write_file(const std::string& file, const std::string& text) {
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  if (out << text && out.flush()) return {};
  return tl::unexpected(cannot_write(file, errno));
}

tl::expected<void, Diagnostic> write_file_below(const std::string& file, const std::string& text) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(file).parent_path(), error);
  if (error) return tl::unexpected(cannot_write(file, error));
  return write_file(file, text);
}

tl::expected<std::string, Diagnostic> write_record(const std::string& folder,
                                                   EvidenceRecord record) {
  const std::string file = folder + "/" + conformance::evidence_file(record);
  std::ifstream in(file, std::ios::binary);
  const std::string before{std::istreambuf_iterator<char>(in), {}};
  if (in.is_open())
    if (const auto old = parse_evidence(before, file)) keep_other_part(record, *old);
  if (auto written = write_file_below(file, evidence_json(record)); !written)
    return tl::unexpected(std::move(written.error()));
  return file;
}

std::optional<Diagnostic> why_not_below(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::path there = std::filesystem::absolute(folder, error);
  while (!std::filesystem::exists(there, error) && there.has_relative_path())
    there = there.parent_path();
  if (!std::filesystem::is_directory(there, error)) return cannot_write(folder, ENOTDIR);
  if (access(there.c_str(), W_OK | X_OK) != 0) return cannot_write(folder, errno);
  return std::nullopt;
}

std::optional<Diagnostic> why_not_file(const std::filesystem::path& file) {
  std::error_code error;
  if (std::filesystem::is_directory(file, error)) return cannot_write(file, EISDIR);
  const std::filesystem::path folder = std::filesystem::absolute(file, error).parent_path();
  if (!std::filesystem::exists(folder, error)) return cannot_write(file, ENOENT);
  if (std::filesystem::exists(file, error))
    return access(file.c_str(), W_OK) == 0 ? std::nullopt
                                           : std::optional(cannot_write(file, errno));
  if (access(folder.c_str(), W_OK | X_OK) != 0) return cannot_write(file, errno);
  return std::nullopt;
}

}  // namespace dsakit::cli
