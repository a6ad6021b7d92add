// Text of unknown origin (manifests, file names, configurations, the command line) made safe for a
// terminal. Everything that is printed as text passes here once; JSON has its own escapes.
//
// Pure; any thread.
#pragma once

#include <string>
#include <string_view>

namespace dsakit {

// `text` as one line of valid UTF-8 in which nothing steers a terminal: control bytes and bytes
// that are not UTF-8 become \xNN; C1 controls, line separators and marks that reorder or hide text
// become \u{NNNN}. A line feed stays with `keep_lines`.
std::string printable(std::string_view text, bool keep_lines = false);

}  // namespace dsakit
