// A Diagnostic is what dsakit says when something is refused or odd: a stable code with named
// fields, never a finished sentence. One renderer (render.hpp) turns it into text or JSON, so every
// message can be tested as data and is worded in one place (codes.def).
//
// Invariants: a code's headline names only fields that its producers set. `helps` holds only
// actions that were re-evaluated and accepted. Value type; no thread affinity.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace dsakit {

enum class Severity : std::uint8_t { error, warning };

// Stable identifiers; the table in codes.def is the only list.
enum class Code : std::uint16_t {
#define DSAKIT_CODE(id, headline) id,
#include "diag/codes.def"
#undef DSAKIT_CODE
};

// "E0203".
std::string_view code_name(Code code);
// The headline template of codes.def, with {field} placeholders.
std::string_view code_headline(Code code);
Severity code_severity(Code code);
std::span<const Code> all_codes();
// "E0203" → its code; nothing if there is none.
std::optional<Code> find_code(std::string_view name);

// JSON text that is already serialised; spliced into JSON output unquoted.
struct RawJson {
  std::string text;
};

struct Field {
  std::string name;
  std::variant<std::string, std::int64_t, RawJson> value;
};

// Where a value came from: what was typed, and by which means.
struct Origin {
  std::string text;    // "--prefill-backend trtllm"
  std::string source;  // "command line", "environment", "config file", "API", a file name
  bool operator==(const Origin&) const = default;
};

// One "|" line of the report: a subject (row, backend, "request") and what it says.
struct Evidence {
  std::string subject;
  std::string text;
};

struct Diagnostic {
  Code code;
  std::vector<Field> fields;
  std::vector<Origin> origins;
  std::vector<Evidence> evidence;
  std::vector<std::string> notes;
  std::vector<std::string> helps;
  // Details that text folds into `evidence` and JSON lists as diagnostics of their own.
  std::vector<Diagnostic> children;

  explicit Diagnostic(Code c) : code(c) {}

  Diagnostic with(std::string name, std::string value) && {
    fields.push_back({std::move(name), std::move(value)});
    return std::move(*this);
  }
  Diagnostic with(std::string name, std::int64_t value) && {
    fields.push_back({std::move(name), value});
    return std::move(*this);
  }
  Diagnostic with(std::string name, RawJson value) && {
    fields.push_back({std::move(name), std::move(value)});
    return std::move(*this);
  }
  Diagnostic from(Origin origin) && {
    if (!origin.text.empty()) origins.push_back(std::move(origin));
    return std::move(*this);
  }
  Diagnostic note(std::string text) && {
    notes.push_back(std::move(text));
    return std::move(*this);
  }
};

}  // namespace dsakit
