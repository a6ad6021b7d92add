// C++ wrapper over dsakit.h: owns handles and strings, adds no behaviour and no allocation to
// run(). Header-only. Threads are those of dsakit.h: catalogues and sessions any, an Attention one
// at a time.
#pragma once

#include <cstdint>
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

// Arguments and the place for an error, with their sizes set.
struct Error : dsakit_error {
  Error() : dsakit_error{} { size = sizeof(dsakit_error); }
};
struct RunArgs : dsakit_run_args {
  RunArgs() : dsakit_run_args{} { size = sizeof(dsakit_run_args); }
};
struct KvArgs : dsakit_kv_args {
  KvArgs() : dsakit_kv_args{} { size = sizeof(dsakit_kv_args); }
};
struct KvCache : dsakit_kv_cache {
  KvCache() : dsakit_kv_cache{} { size = sizeof(dsakit_kv_cache); }
};
struct AttentionOptions : dsakit_attention_options {
  AttentionOptions() : dsakit_attention_options{} { size = sizeof(dsakit_attention_options); }
};

// One instance of a backend. The calls return a dsakit_rc; `error` may be null.
class Attention {
 public:
  explicit operator bool() const { return handle_ != nullptr; }
  dsakit_attention* get() const { return handle_.get(); }

  // The sizes and names it was created with. Requires a valid instance.
  const dsakit_config& config() const { return *dsakit_attention_config(handle_.get()); }

  dsakit_rc workspace(std::int64_t tokens, dsakit_workspace& answer,
                      dsakit_error* error = nullptr) const {
    answer.size = sizeof(answer);
    return dsakit_attention_workspace(handle_.get(), tokens, &answer, error);
  }
  dsakit_rc prepare(const dsakit_run_args& args, dsakit_error* error = nullptr) {
    return dsakit_attention_prepare(handle_.get(), &args, error);
  }
  dsakit_rc run(const dsakit_run_args& args, dsakit_error* error = nullptr) {
    return dsakit_attention_run(handle_.get(), &args, error);
  }
  dsakit_rc append(const dsakit_kv_args& args, dsakit_error* error = nullptr) {
    return dsakit_attention_append(handle_.get(), &args, error);
  }
  dsakit_rc dequant(const dsakit_kv_args& args, dsakit_error* error = nullptr) {
    return dsakit_attention_dequant(handle_.get(), &args, error);
  }

 private:
  friend class Session;
  struct Destroy {
    void operator()(dsakit_attention* attention) const { dsakit_attention_destroy(attention); }
  };
  explicit Attention(dsakit_attention* handle) : handle_(handle) {}
  std::unique_ptr<dsakit_attention, Destroy> handle_;
};

// The loaded backends of one request.
class Session {
 public:
  // The session; `answer` (may be null) receives the answer, also when there is no session.
  static Session open(const Catalog& catalog, const std::string& request,
                      const std::string& policy = "", Result* answer = nullptr) {
    dsakit_session* handle = nullptr;
    char* text = nullptr;
    const dsakit_status status = dsakit_session_open(
        catalog.get(), request.c_str(), policy.empty() ? nullptr : policy.c_str(), &handle, &text);
    Result result = detail::take(status, text);
    if (answer) *answer = std::move(result);
    return Session(handle);
  }

  explicit operator bool() const { return handle_ != nullptr; }
  dsakit_session* get() const { return handle_.get(); }

  // An instance for "prefill", "decode" or "mtp"; or none, with the diagnostic in `error`.
  Attention create(const std::string& phase, const dsakit_attention_options& options,
                   Result* error = nullptr) const {
    dsakit_attention* made = nullptr;
    char* text = nullptr;
    const dsakit_status status =
        dsakit_attention_create(handle_.get(), phase.c_str(), &options, &made, &text);
    Result result = detail::take(status, text);
    if (error) *error = std::move(result);
    return Attention(made);
  }

 private:
  struct Close {
    void operator()(dsakit_session* session) const { dsakit_session_close(session); }
  };
  explicit Session(dsakit_session* handle) : handle_(handle) {}
  std::unique_ptr<dsakit_session, Close> handle_;
};

inline Result request_from_config(const std::string& path, const std::string& options = "") {
  char* text = nullptr;
  const dsakit_status status =
      dsakit_request_from_config(path.c_str(), options.empty() ? nullptr : options.c_str(), &text);
  return detail::take(status, text);
}

}  // namespace dsakit::api
