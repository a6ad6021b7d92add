// C++ wrapper over dsakit.h: owns handles and strings, adds no behaviour. Header-only; any thread.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dsakit/dsakit.h"

namespace dsakit::api {

struct Result {
  dsakit_status status = DSAKIT_INVALID;
  std::string json;
  explicit operator bool() const { return status == DSAKIT_OK; }
};

namespace detail {
inline Result take(dsakit_status status, char* text) {
  Result result{status, text ? text : ""};
  dsakit_string_free(text);
  return result;
}
}  // namespace detail

class Catalog {
 public:
  // The catalogue, or a Result with the diagnostic in `error`.
  static Catalog open(const std::string& name = "local",
                      const std::vector<std::string>& plugin_dirs = {}, Result* error = nullptr) {
    std::vector<const char*> dirs;
    for (const auto& dir : plugin_dirs) dirs.push_back(dir.c_str());
    dsakit_catalog* handle = nullptr;
    char* text = nullptr;
    const dsakit_status status =
        dsakit_catalog_open(name.c_str(), dirs.data(), dirs.size(), &handle, &text);
    Result result = detail::take(status, text);
    if (error) *error = std::move(result);
    return Catalog(handle);
  }

  explicit operator bool() const { return handle_ != nullptr; }
  const dsakit_catalog* get() const { return handle_.get(); }

  Result resolve(const std::string& request, const std::string& policy = "") const {
    return call(dsakit_resolve, request, policy);
  }
  Result validate(const std::string& request, const std::string& policy = "") const {
    return call(dsakit_validate, request, policy);
  }
  Result explain(const std::string& request, const std::string& policy = "") const {
    return call(dsakit_explain, request, policy);
  }

 private:
  using Function = dsakit_status (*)(const dsakit_catalog*, const char*, const char*, char**);
  struct Close {
    void operator()(dsakit_catalog* catalog) const { dsakit_catalog_close(catalog); }
  };
  explicit Catalog(dsakit_catalog* handle) : handle_(handle) {}
  Result call(Function function, const std::string& request, const std::string& policy) const {
    char* text = nullptr;
    const dsakit_status status =
        function(handle_.get(), request.c_str(), policy.empty() ? nullptr : policy.c_str(), &text);
    return detail::take(status, text);
  }
  std::unique_ptr<dsakit_catalog, Close> handle_;
};

inline Result request_from_config(const std::string& path, const std::string& options = "") {
  char* text = nullptr;
  const dsakit_status status =
      dsakit_request_from_config(path.c_str(), options.empty() ? nullptr : options.c_str(), &text);
  return detail::take(status, text);
}

}  // namespace dsakit::api
