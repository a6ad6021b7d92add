// The run-time half of the host: a resolved session whose plugins are loaded, and instances that
// run. Resolving stays the solver's; this file only turns its answer into calls.
//
// Invariants: a plugin stays loaded for the life of the process, so an Attention outlives its
// LoadedSession safely; run adds no allocation and no lock to the plugin's own work; whatever a
// plugin throws or answers, the caller gets a documented code.
#pragma once

#include <array>
#include <memory>
#include <string>

#include <tl/expected.hpp>

#include "catalog/catalog.hpp"
#include "diag/diagnostic.hpp"
#include "dsakit/plugin_abi.h"
#include "host/instance_config.hpp"
#include "solver/answer.hpp"
#include "solver/request.hpp"

namespace dsakit {

// Fills `error`, as far as its size reaches, with a dsakit_rc and a text; answers `rc`. Null and
// too small errors stay as they are. [any-thread]
dsakit_rc fill_error(dsakit_error* error, dsakit_rc rc, const char* text) noexcept;

// One instance of a plugin. Threads are those of plugin_abi.h: workspace() [any-thread], the rest
// [one-thread-per-instance].
class Attention {
 public:
  ~Attention();
  Attention(const Attention&) = delete;
  Attention& operator=(const Attention&) = delete;

  const dsakit_config& config() const { return config_.get(); }

  dsakit_rc workspace(std::int64_t tokens, dsakit_workspace* answer,
                      dsakit_error* error) const noexcept;
  dsakit_rc prepare(const dsakit_run_args* args, dsakit_error* error) noexcept;  // OK if there is
                                                                                 // nothing to do
  dsakit_rc run(const dsakit_run_args* args, dsakit_error* error) noexcept;
  bool can_append() const;
  bool can_dequant() const;
  dsakit_rc append(const dsakit_kv_args* args, dsakit_error* error) noexcept;   // UNSUPPORTED if
  dsakit_rc dequant(const dsakit_kv_args* args, dsakit_error* error) noexcept;  // the plugin lacks
                                                                                // it
 private:
  Attention(const dsakit_plugin& plugin, InstanceConfig config)
      : plugin_(plugin), config_(std::move(config)) {}
  friend class LoadedSession;

  const dsakit_plugin& plugin_;
  InstanceConfig config_;
  dsakit_instance* instance_ = nullptr;
};

class LoadedSession {
 public:
  // Loads the backends of an answer that `catalog` gave to `request` (answer.ok()). Errors: those
  // of load_plugin(). [any-thread]
  static tl::expected<LoadedSession, Diagnostic> load(const Catalog& catalog,
                                                      const Request& request, const Answer& answer);

  const Session& session() const { return session_; }

  // An instance for one phase. Errors: E0708 no such device, E0709 the plugin refuses what its row
  // accepts, E0710 a size is unknown, E0711 not a phase of the session, E0712 memory or driver,
  // E0713 the plugin breaks its contract. [any-thread]
  tl::expected<std::unique_ptr<Attention>, Diagnostic> create(Phase phase,
                                                              const InstanceOptions& options) const;

 private:
  struct Part {
    const dsakit_plugin* plugin = nullptr;
    std::shared_ptr<const Manifest> manifest;
    const Row* row = nullptr;
  };
  LoadedSession(const Request& request, const DimensionTable& dims)
      : request_(request), dims_(dims) {}

  Request request_;
  DimensionTable dims_;
  Session session_;
  std::array<Part, 3> parts_;
};

}  // namespace dsakit
