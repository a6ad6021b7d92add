// DSAKIT_PLUGIN(Backend): turns a class into a plugin. It defines the one exported function, the
// table, and thunks that stand between the C border and the class: they read structs by their size,
// catch every exception and never let a null pointer through. Built with dsakit_add_plugin(), which
// embeds the manifest.
//
// Backend is the instance. Required:
//   static dsakit_rc probe(std::int32_t device_type, std::int32_t device_id, sdk::Error&);
//   static dsakit_rc create(const sdk::Config&, std::unique_ptr<Backend>&, sdk::Error&);
//   dsakit_rc workspace(std::int64_t tokens, dsakit_workspace&, sdk::Error&) const;
//   dsakit_rc run(const dsakit_run_args&, sdk::Error&);
// Optional, and absent from the table if the class lacks them:
//   dsakit_rc prepare(const dsakit_run_args&, sdk::Error&);
//   dsakit_rc kv_append(const dsakit_kv_args&, sdk::Error&);
//   dsakit_rc kv_dequant(const dsakit_kv_args&, sdk::Error&);
//   static const void* extension(const char* id);
// The meaning, the threads and the errors of each are those of plugin_abi.h.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "dsakit/plugin_abi.h"
#include "sdk/config.hpp"
#include "sdk/error.hpp"
#include "sdk/manifest_text.hpp"

// The manifest inside the note; defined by the build.
extern "C" {
extern const char dsakit_manifest_json[];
extern const std::uint64_t dsakit_manifest_json_size;
}

namespace dsakit::sdk {

// A complete copy of a caller's struct: what the caller does not know is zero. False if it is
// unusable.
template <class Struct>
bool read_struct(const Struct* from, std::uint32_t size_v1, Struct& to) noexcept {
  if (from == nullptr || from->size < size_v1) return false;
  const std::uint32_t known = std::min<std::uint32_t>(from->size, sizeof(Struct));
  to = Struct{};
  std::memcpy(static_cast<void*>(&to), from, known);
  to.size = sizeof(Struct);
  return true;
}

// run and prepare arguments with the caches they point to.
struct RunArgsCopy {
  dsakit_run_args args{};
  dsakit_kv_cache caches[2]{};

  bool read(const dsakit_run_args* from) noexcept {
    if (!read_struct(from, DSAKIT_RUN_ARGS_SIZE_V1, args)) return false;
    return redirect(args.kv, caches[0]) && redirect(args.kv2, caches[1]);
  }

 private:
  static bool redirect(const dsakit_kv_cache*& cache, dsakit_kv_cache& copy) noexcept {
    if (cache == nullptr) return true;
    if (!read_struct(cache, DSAKIT_KV_CACHE_SIZE_V1, copy)) return false;
    cache = &copy;
    return true;
  }
};

template <class Struct>
dsakit_rc unusable(const Struct* from, const char* name, Error& error) noexcept {
  if (from == nullptr) return error.fail(DSAKIT_RC_INVALID, "%s is null", name);
  return error.fail(DSAKIT_RC_ABI, "%s has size %u, which is less than version 1 of it", name,
                    from->size);
}

template <class Backend>
class Thunks {
 public:
  static dsakit_rc probe(std::int32_t device_type, std::int32_t device_id,
                         dsakit_error* error) noexcept {
    return guarded(error, [&](Error& e) { return Backend::probe(device_type, device_id, e); });
  }

  static dsakit_rc create(const dsakit_config* config, dsakit_instance** instance,
                          dsakit_error* error) noexcept {
    if (instance == nullptr) return Error(error).fail(DSAKIT_RC_INVALID, "instance is null");
    *instance = nullptr;
    return guarded(error, [&](Error& e) {
      dsakit_config complete{};
      if (!read_struct(config, DSAKIT_CONFIG_SIZE_V1, complete))
        return unusable(config, "config", e);
      Config read;
      if (const dsakit_rc rc = read_config(complete, read, e); rc != DSAKIT_RC_OK) return rc;
      std::unique_ptr<Backend> backend;
      const dsakit_rc rc = Backend::create(read, backend, e);
      if (rc == DSAKIT_RC_OK) *instance = reinterpret_cast<dsakit_instance*>(backend.release());
      return rc;
    });
  }

  static dsakit_rc workspace(const dsakit_instance* instance, std::int64_t tokens,
                             dsakit_workspace* answer, dsakit_error* error) noexcept {
    return guarded(error, [&](Error& e) {
      if (instance == nullptr) return e.fail(DSAKIT_RC_INVALID, "instance is null");
      dsakit_workspace complete{};
      if (!read_struct(answer, DSAKIT_WORKSPACE_SIZE_V1, complete))
        return unusable(answer, "workspace", e);
      const dsakit_rc rc =
          reinterpret_cast<const Backend*>(instance)->workspace(tokens, complete, e);
      if (rc != DSAKIT_RC_OK) return rc;
      const std::uint32_t size = answer->size;
      std::memcpy(static_cast<void*>(answer), &complete,
                  std::min<std::uint32_t>(size, sizeof(complete)));
      answer->size = size;
      return rc;
    });
  }

  static dsakit_rc run(dsakit_instance* instance, const dsakit_run_args* args,
                       dsakit_error* error) noexcept {
    return with_run_args(instance, args, error, [](Backend& b, const dsakit_run_args& a, Error& e) {
      return b.run(a, e);
    });
  }

  static dsakit_rc prepare(dsakit_instance* instance, const dsakit_run_args* args,
                           dsakit_error* error) noexcept {
    return with_run_args(instance, args, error, [](Backend& b, const dsakit_run_args& a, Error& e) {
      return b.prepare(a, e);
    });
  }

  static dsakit_rc kv_append(dsakit_instance* instance, const dsakit_kv_args* args,
                             dsakit_error* error) noexcept {
    return with_kv_args(instance, args, error, [](Backend& b, const dsakit_kv_args& a, Error& e) {
      return b.kv_append(a, e);
    });
  }

  static dsakit_rc kv_dequant(dsakit_instance* instance, const dsakit_kv_args* args,
                              dsakit_error* error) noexcept {
    return with_kv_args(instance, args, error, [](Backend& b, const dsakit_kv_args& a, Error& e) {
      return b.kv_dequant(a, e);
    });
  }

  static void destroy(dsakit_instance* instance) noexcept {
    guarded(nullptr, [&](Error&) {
      delete reinterpret_cast<Backend*>(instance);
      return DSAKIT_RC_OK;
    });
  }

  static const void* extension(const char* id) noexcept {
    const void* table = nullptr;
    guarded(nullptr, [&](Error&) {
      if (id != nullptr) table = Backend::extension(id);
      return DSAKIT_RC_OK;
    });
    return table;
  }

 private:
  template <class Body>
  static dsakit_rc with_run_args(dsakit_instance* instance, const dsakit_run_args* args,
                                 dsakit_error* error, Body body) noexcept {
    return guarded(error, [&](Error& e) {
      if (instance == nullptr) return e.fail(DSAKIT_RC_INVALID, "instance is null");
      RunArgsCopy copy;
      if (!copy.read(args)) return unusable(args, "args or one of its caches", e);
      return body(*reinterpret_cast<Backend*>(instance), copy.args, e);
    });
  }

  template <class Body>
  static dsakit_rc with_kv_args(dsakit_instance* instance, const dsakit_kv_args* args,
                                dsakit_error* error, Body body) noexcept {
    return guarded(error, [&](Error& e) {
      if (instance == nullptr) return e.fail(DSAKIT_RC_INVALID, "instance is null");
      dsakit_kv_args complete{};
      if (!read_struct(args, DSAKIT_KV_ARGS_SIZE_V1, complete)) return unusable(args, "args", e);
      dsakit_kv_cache cache{};
      if (!read_struct(complete.kv, DSAKIT_KV_CACHE_SIZE_V1, cache))
        return unusable(complete.kv, "kv", e);
      complete.kv = &cache;
      return body(*reinterpret_cast<Backend*>(instance), complete, e);
    });
  }
};

// The table of a backend; id and version are read from the manifest once.
template <class Backend>
const dsakit_plugin& plugin_table() {
  static const std::string_view json(dsakit_manifest_json, dsakit_manifest_json_size);
  static const std::string id(unquoted(top_level_value(json, "id")));
  static const dsakit_plugin table = [] {
    using T = Thunks<Backend>;
    const std::string_view version = top_level_value(json, "version");
    dsakit_plugin plugin{};
    plugin.size = sizeof(plugin);
    plugin.abi = DSAKIT_ABI_VERSION;
    plugin.id = id.c_str();
    for (int i = 0; i < 3; ++i) plugin.version[i] = list_item(version, i);
    plugin.manifest = dsakit_manifest_json;
    plugin.manifest_size = dsakit_manifest_json_size;
    plugin.probe = T::probe;
    plugin.create = T::create;
    plugin.workspace = T::workspace;
    plugin.run = T::run;
    plugin.destroy = T::destroy;
    if constexpr (requires(Backend & b, dsakit_run_args a, Error e) { b.prepare(a, e); })
      plugin.prepare = T::prepare;
    if constexpr (requires(Backend & b, dsakit_kv_args a, Error e) { b.kv_append(a, e); })
      plugin.kv_append = T::kv_append;
    if constexpr (requires(Backend & b, dsakit_kv_args a, Error e) { b.kv_dequant(a, e); })
      plugin.kv_dequant = T::kv_dequant;
    if constexpr (requires { Backend::extension(""); }) plugin.extension = T::extension;
    return plugin;
  }();
  return table;
}

// The plugin's half of the negotiation.
template <class Backend>
const dsakit_plugin* enter(const dsakit_host* host) noexcept {
  if (host == nullptr) return nullptr;
  const bool has_error = DSAKIT_HAS_FIELD(dsakit_host, host, error);
  const dsakit_plugin* table = nullptr;
  guarded(has_error ? host->error : nullptr, [&](Error& e) {
    if (host->size < DSAKIT_HOST_SIZE_V1) return unusable(host, "host", e);
    if (host->abi_min > DSAKIT_ABI_VERSION || host->abi_max < DSAKIT_ABI_VERSION)
      return e.fail(DSAKIT_RC_ABI, "the host speaks plugin ABI %u to %u, this plugin %u",
                    host->abi_min, host->abi_max, DSAKIT_ABI_VERSION);
    table = &plugin_table<Backend>();
    return DSAKIT_RC_OK;
  });
  return table;
}

}  // namespace dsakit::sdk

// At global scope, once, in one source file.
#define DSAKIT_PLUGIN(Backend)                                                                   \
  extern "C" __attribute__((visibility("default"))) const dsakit_plugin* dsakit_plugin_entry_v1( \
      const dsakit_host* host) {                                                                 \
    return ::dsakit::sdk::enter<Backend>(host);                                                  \
  }
