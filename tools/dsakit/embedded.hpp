// Text files that the build put into this program (cmake/DsakitEmbed.cmake). Static storage; any
// thread.
#pragma once

#include <span>
#include <string_view>

namespace dsakit {

struct EmbeddedFile {
  std::string_view path;  // "E0203.md"
  std::string_view text;
};

// docs/codes/*.md
std::span<const EmbeddedFile> embedded_code_pages();

// bench/baseline/*.json
std::span<const EmbeddedFile> embedded_baselines();

}  // namespace dsakit
