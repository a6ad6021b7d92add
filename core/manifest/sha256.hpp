// SHA-256 (FIPS 180-4): what tells one state of kernel sources, or of a row, from another. Pure;
// any thread.
#pragma once

#include <string>
#include <string_view>

namespace dsakit {

// "sha256:" and 64 hexadecimal digits.
std::string sha256(std::string_view bytes);

// Whether `text` has that form.
bool is_sha256(std::string_view text);

}  // namespace dsakit
