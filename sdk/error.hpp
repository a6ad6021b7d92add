// Writes a caller's dsakit_error without ever passing its size, and turns exceptions into codes:
// what every function of a plugin needs at the border.
//
// Invariants: no allocation, no throw. A null or too small target is silently enough. Any thread.
#pragma once

#include <algorithm>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <new>

#include "dsakit/plugin_abi.h"

namespace dsakit::sdk {

class Error {
 public:
  explicit Error(dsakit_error* target) noexcept : target_(target) {}

  // Records `rc` with a text in printf form and returns it.
  __attribute__((format(printf, 3, 4))) dsakit_rc fail(dsakit_rc rc, const char* format,
                                                       ...) noexcept {
    std::va_list arguments;
    va_start(arguments, format);
    vfail(rc, format, arguments);
    va_end(arguments);
    return rc;
  }

  dsakit_rc vfail(dsakit_rc rc, const char* format, std::va_list arguments) noexcept {
    write(rc, DSAKIT_DOMAIN_RC, format, arguments);
    last_ = rc;
    return rc;
  }

  // The same for the number of a driver or of errno.
  __attribute__((format(printf, 5, 6))) dsakit_rc fail(dsakit_rc rc, std::uint32_t domain,
                                                       std::int32_t code, const char* format,
                                                       ...) noexcept {
    std::va_list arguments;
    va_start(arguments, format);
    write(code, domain, format, arguments);
    va_end(arguments);
    last_ = rc;
    return rc;
  }

  // What the last fail() answered.
  dsakit_rc last() const noexcept { return last_; }

 private:
  void write(std::int32_t code, std::uint32_t domain, const char* format,
             std::va_list arguments) noexcept {
    if (target_ == nullptr || target_->size < DSAKIT_ERROR_SIZE_V1) return;
    target_->code = code;
    target_->domain = domain;
    const std::size_t known = std::min<std::size_t>(target_->size, sizeof(dsakit_error));
    const std::size_t room = known - offsetof(dsakit_error, text);
    if (room != 0) std::vsnprintf(target_->text, room, format, arguments);
  }

  dsakit_error* target_;
  dsakit_rc last_ = DSAKIT_RC_OK;
};

// Runs `body` and turns whatever it throws into a code.
template <class Body>
dsakit_rc guarded(dsakit_error* target, Body&& body) noexcept {
  Error error(target);
  try {
    return body(error);
  } catch (const std::bad_alloc&) {
    return error.fail(DSAKIT_RC_MEMORY, "out of memory");
  } catch (const std::exception& exception) {
    return error.fail(DSAKIT_RC_INTERNAL, "an exception was caught: %s", exception.what());
  } catch (...) {
    return error.fail(DSAKIT_RC_INTERNAL, "an exception of unknown type was caught");
  }
}

}  // namespace dsakit::sdk
