// Files that a command writes, and whether it could, asked before minutes are spent. One thread.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include <tl/expected.hpp>

#include "diag/diagnostic.hpp"
#include "manifest/evidence.hpp"

namespace dsakit::cli {

// The date here and now, in UTC: 2026-11-30.
std::string today();

// E0803.
tl::expected<void, Diagnostic> write_file(const std::string& file, const std::string& text);
// The same with the folders that are missing.
tl::expected<void, Diagnostic> write_file_below(const std::string& file, const std::string& text);

// Writes a record to its place below `folder`, with the part that it lacks from the record that is
// there, if that one is about the same build (core/manifest/evidence.hpp). The file, or E0803.
tl::expected<std::string, Diagnostic> write_record(const std::string& folder,
                                                   EvidenceRecord record);

// Why nothing can be written below `folder`, which need not exist yet.
std::optional<Diagnostic> why_not_below(const std::filesystem::path& folder);
// The same for a file, whose folder must exist.
std::optional<Diagnostic> why_not_file(const std::filesystem::path& file);

}  // namespace dsakit::cli
