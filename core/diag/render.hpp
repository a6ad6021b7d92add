// The one place where diagnostics become words: text for people, JSON for machines.
// Pure functions of their arguments; any thread.
#pragma once

#include <span>
#include <string>

#include "diag/diagnostic.hpp"

namespace dsakit {

struct TextStyle {
  bool color = false;  // ANSI colour; the caller decides from terminal and NO_COLOR
};

// "error[E0203]: …" with origin, evidence, note and help lines; ends in a newline.
std::string render_text(const Diagnostic& diagnostic, TextStyle style = {});

// One compact JSON object {"code","level","message", fields…, "origins","notes","helps"} with empty
// lists left out.
std::string render_json(const Diagnostic& diagnostic);

// A JSON array of the diagnostics, children after their parent.
std::string render_json(std::span<const Diagnostic> diagnostics);

// The headline with its fields filled in.
std::string headline(const Diagnostic& diagnostic);

}  // namespace dsakit
