// The plugin under judgement: its file, its manifest, and its functions called so that whatever
// happens becomes a value.
//
// Invariants: a call never lets an exception out. A Subject outlives its instances. One thread,
// except that instances of several threads may be used at once.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "catalog/catalog.hpp"
#include "diag/diagnostic.hpp"
#include "dsakit/plugin_abi.h"
#include "sdk/conformance/devices.hpp"
#include "sdk/conformance/problem.hpp"
#include "sdk/conformance/staged.hpp"

namespace dsakit::conformance {

// What a call answered.
struct Outcome {
  dsakit_rc rc = DSAKIT_RC_OK;
  bool threw = false;
  std::string text;  // of the plugin's dsakit_error

  bool ok() const { return rc == DSAKIT_RC_OK && !threw; }
  // A code that plugin_abi.h knows, other than OK.
  bool refused() const { return !threw && rc > DSAKIT_RC_OK && rc <= DSAKIT_RC_INTERNAL; }
};

// "code 2: heads = 300 is ..." or "an exception crossed the border".
std::string describe(const Outcome& outcome);

struct Subject {
  CatalogEntry entry;
  const dsakit_plugin* table = nullptr;  // once it is loaded
  Place place;                           // of the row under judgement

  const Manifest& manifest() const { return *entry.manifest; }
};

// The file with its manifest, not loaded. Errors as read_plugin_file() and parse_manifest().
tl::expected<CatalogEntry, Diagnostic> read_subject(const std::string& file);

// Calls `body(dsakit_error*)` of a plugin.
template <class Body>
Outcome call(Body&& body) {
  Outcome outcome;
  dsakit_error error{};
  error.size = sizeof(error);
  try {
    outcome.rc = body(&error);
  } catch (...) {
    outcome.threw = true;
  }
  error.text[sizeof(error.text) - 1] = '\0';
  outcome.text = error.text;
  return outcome;
}

class Instance {
 public:
  Instance(const Subject& subject, const dsakit_config& config);
  ~Instance();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  const Outcome& created() const { return created_; }
  dsakit_instance* get() const { return instance_; }
  Outcome workspace(std::int64_t tokens, dsakit_workspace& answer) const;
  // Gives the problem a workspace of the size that the plugin asks for.
  Outcome prepare_workspace(Problem& problem) const;
  // Runs on the problem's device; outputs, or all its tensors, are on the host afterwards. A device
  // that fails later than run counts as DSAKIT_RC_DEVICE.
  enum class Fetch : std::uint8_t { outputs, all };
  Outcome run(Problem& problem, Fetch fetch = Fetch::outputs) const;
  // The same around another call; `more` are its own tensors.
  using Body = std::function<Outcome(Staged&)>;
  Outcome stage(Problem& problem, Fetch fetch, const std::vector<HostTensor*>& more,
                const Body& body) const;

 private:
  const Subject& subject_;
  dsakit_instance* instance_ = nullptr;
  Outcome created_;
};

// Why a check cannot begin: this create of the plainest call of its row failed.
std::string refuses_base(const Instance& instance);

// create, workspace and run in a fresh instance.
Outcome run_once(const Subject& subject, Problem& problem);

}  // namespace dsakit::conformance
