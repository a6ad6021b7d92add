// The compiled form of a catalogue, private to solver/: rows as bit sets and small predicates, so
// that one pass over all rows gives every verdict with every reason.
//
// Invariants: rows keep catalogue order (search order, then file order); pointers lead into
// manifests that Compiled keeps alive. Immutable after compile(); const use from any thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "solver/bits.hpp"
#include "solver/solver.hpp"

namespace dsakit {

// Tokens and set elements that rows mention, numbered per dimension. A request's token that no row
// mentions has no number and fits only "*".
class Dictionary {
 public:
  int add(const std::string& name) {
    return ids_.try_emplace(name, static_cast<int>(ids_.size())).first->second;
  }
  int find(const std::string& name) const {
    const auto found = ids_.find(name);
    return found == ids_.end() ? -1 : found->second;
  }
  std::size_t size() const { return ids_.size(); }
  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const auto& [name, number] : ids_) out.push_back(name);
    return out;
  }

 private:
  std::unordered_map<std::string, int> ids_;
};

// What a set predicate says beyond the elements it admits.
struct SetDemand {
  Bits includes, none_of;
};

// A predicate ready to be tested; "*" tests nothing and is not compiled.
struct CompiledPredicate {
  int dim = 0;
  DimType type = DimType::token;
  bool never = false;  // an operator that this version does not know
  const Predicate* source = nullptr;
  Bits accepted;  // token, arch: what is listed. set: what may be requested
  std::shared_ptr<const SetDemand> demand;  // set; null if it demands and forbids nothing
};

struct CompiledRow {
  int backend = 0;
  const Row* source = nullptr;
  std::vector<int> predicates;  // in Compiled::predicates: common and where, without phase and "*"
  Bits mentioned_or_open;       // dimensions, phase included
  std::array<bool, 3> phase_ok{};
  std::vector<const Predicate*> phase_predicates;
  bool phase_never = false;  // a phase predicate has an unknown operator
  int constrained = 0;       // dimensions with a predicate other than "*" (R9)
  int layout = 0;            // number of its kv_layout
  std::map<std::string, Value> other_provides;
};

// An unknown dimension in a where clause: reported under its own name.
struct UnknownDim {
  int row = 0;
  std::string name;
  const Predicate* source = nullptr;
};

struct CompiledBackend {
  std::shared_ptr<const Manifest> manifest;
  std::string file;
  int first_row = 0, row_count = 0;
};

struct Solver::Compiled {
  std::string catalog;
  DimensionTable dims;
  int phase_dim = -1, kv_dtype_dim = -1;
  Bits open, with_neutral;  // over dimensions
  std::vector<Dictionary>
      dictionaries;  // by dimension; arch numbers are positions in known_devices()
  Dictionary layouts;
  std::vector<CompiledBackend> backends;  // search order
  std::unordered_map<std::string, int> backend_of_id;
  std::vector<CompiledRow> rows;
  std::vector<CompiledPredicate> predicates;  // distinct: rows share them, each is judged once
  std::vector<UnknownDim> unknown_dims;       // sorted by row
  std::vector<SetAside> set_aside;

  const std::string& id(int backend) const {
    return backends[static_cast<std::size_t>(backend)].manifest->id;
  }
  const CompiledBackend* find(const std::string& backend_id) const {
    const auto found = backend_of_id.find(backend_id);
    return found == backend_of_id.end() ? nullptr
                                        : &backends[static_cast<std::size_t>(found->second)];
  }
  const CompiledPredicate& predicate(int number) const {
    return predicates[static_cast<std::size_t>(number)];
  }
  // Whether two backends declare, on either side, that they may not share a session.
  bool conflict(int a, int b) const;
};

}  // namespace dsakit
