// One row of a manifest as a space of calls: which values it accepts, which lie at its corners and
// which one step outside. Every question is put to the solver, so the cases of the kit come from
// the manifest alone.
//
// Invariants: only settle() changes it; const use from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "manifest/manifest.hpp"
#include "sdk/conformance/description.hpp"
#include "solver/solver.hpp"

namespace dsakit::conformance {

// A dimension with a value that matters.
struct Step {
  std::string dim;
  Value value;
};

class RowSpace {
 public:
  // `row` is an index into manifest.rows.
  RowSpace(const std::shared_ptr<const Manifest>& manifest, std::size_t row);

  const Row& row() const { return manifest_->rows[row_]; }
  const std::string& layout() const { return layout_; }
  // Platforms and archs that the row names, in its order; "*" gives every known device's.
  std::vector<std::string> platforms() const;
  // Whether the row accepts a device of this platform and arch.
  bool accepts_device(const std::string& platform, const std::string& arch) const;

  // Asks from now on as the engine of this device; it must be one that the row accepts.
  void settle(const std::string& platform, const std::string& arch, DLDevice device);

  // Phases in which the row serves its base; empty: it serves nothing that the kit can form.
  const std::vector<std::string>& phases() const { return phases_; }
  // An ordinary small call: neutral values where they are accepted, no feature.
  Description base(const std::string& phase) const;

  // Whether the row, and whether any row of the manifest, serves a call.
  bool accepts(const Description& description) const;
  bool served(const Description& description) const;
  bool accepts_feature(const std::string& name) const;
  // Those of `wanted` that are accepted where all else is at the base.
  std::vector<std::int64_t> accepted(const std::string& dim,
                                     const std::vector<std::int64_t>& wanted) const;

  // Accepted values at the ends of what each dimension accepts: min, max, each listed value, each
  // feature. Without platform, arch and phase.
  std::vector<Step> corners() const;
  // Values just outside: below min, above max, between listed ones, unlisted tokens and features.
  std::vector<Step> outside() const;

  // The base with one dimension changed; false if a Description cannot say it.
  bool apply(const Step& step, Description& description) const;

 private:
  std::vector<const Predicate*> predicates(const std::string& dim) const;
  bool alone(const std::string& dim, const Value& value) const;
  std::optional<Value> choose(const Dimension& dim) const;
  std::vector<Value> inner_candidates(const Dimension& dim) const;
  std::vector<Value> outer_candidates(const Dimension& dim) const;
  Request request(const Description& description) const;
  void find_base();

  std::shared_ptr<const Manifest> manifest_;
  std::size_t row_;
  std::string layout_;
  std::string platform_, arch_, kv_dtype_;
  DLDevice device_{kDLCPU, 0};
  Solver whole_, single_;
  std::map<std::string, Value> base_;
  std::vector<std::string> phases_;
};

}  // namespace dsakit::conformance
