// What the files of the C API share: the handle of a catalogue, strings that the caller owns, and
// the border that no exception crosses. Private to libdsakit. Any thread.
#pragma once

#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "dsakit/dsakit.h"
#include "host/advisor.hpp"
#include "host/status.hpp"
#include "solver/answer.hpp"

struct dsakit_catalog {
  dsakit::Advisor advisor;
};

namespace dsakit::c_api {

inline void give(char** out, const std::string& text) {
  if (!out) return;
  *out = static_cast<char*>(std::malloc(text.size() + 1));
  if (*out) std::memcpy(*out, text.c_str(), text.size() + 1);
}

inline dsakit_status code(Status status) {
  return static_cast<dsakit_status>(status);
}

// Nothing is thrown over the border: what remains is out of memory, or a bug.
template <typename Body>
dsakit_status guarded(char** out, Body body) noexcept {
  if (out) *out = nullptr;
  try {
    return body();
  } catch (...) {
    return DSAKIT_ENVIRONMENT;
  }
}

inline dsakit_status give_answer(const Answer& answer, char** out) {
  give(out, to_json(answer));
  return code(status_of(answer.verdict));
}

inline dsakit_status give_error(std::string_view catalog, Diagnostic diagnostic, char** out) {
  give(out, to_json(error_answer(catalog, std::move(diagnostic))));
  return DSAKIT_INVALID;
}

// The same for what the outside world may be to blame for, or what is a refusal.
inline dsakit_status give_failure(std::string_view catalog, Diagnostic diagnostic, char** out) {
  const Status status = status_of(diagnostic);
  give(out, to_json(failure_answer(catalog, std::move(diagnostic))));
  return code(status);
}

}  // namespace dsakit::c_api
