// Reads a small text file whole: regular files only, so that a pipe or a device never blocks or
// floods. Reentrant; any thread.
#pragma once

#include <cstddef>
#include <string>

#include <tl/expected.hpp>

#include "diag/diagnostic.hpp"

namespace dsakit {

// At most `max_bytes` + 1 bytes, so that the parser can tell that a file is too large. E0101.
tl::expected<std::string, Diagnostic> read_text_file(const std::string& path,
                                                     std::size_t max_bytes);

}  // namespace dsakit
