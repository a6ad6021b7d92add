#include "diag/diagnostic.hpp"

namespace dsakit {
namespace {

struct CodeInfo {
  std::string_view name;
  std::string_view headline;
};

constexpr CodeInfo kCodes[] = {
#define DSAKIT_CODE(id, headline) {#id, headline},
#include "diag/codes.def"
#undef DSAKIT_CODE
};

}  // namespace

std::string_view code_name(Code code) {
  return kCodes[static_cast<std::size_t>(code)].name;
}

std::string_view code_headline(Code code) {
  return kCodes[static_cast<std::size_t>(code)].headline;
}

Severity code_severity(Code code) {
  return code_name(code).front() == 'W' ? Severity::warning : Severity::error;
}

std::span<const Code> all_codes() {
  static constexpr Code kAll[] = {
#define DSAKIT_CODE(id, headline) Code::id,
#include "diag/codes.def"
#undef DSAKIT_CODE
  };
  return kAll;
}

std::optional<Code> find_code(std::string_view name) {
  for (const Code code : all_codes()) {
    if (code_name(code) == name) return code;
  }
  return std::nullopt;
}

}  // namespace dsakit
