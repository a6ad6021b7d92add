// What is asked of the solver: a point (or, with unknown values, a region) in the space of
// dimensions, the phases of the session, and what the user typed; and the policy that orders
// answers.
//
// Invariants: `values` holds only dimensions of the catalogue it was parsed for; an absent
// dimension means its neutral value, Unknown means unknown (R1). Value types; no thread affinity.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "diag/diagnostic.hpp"
#include "manifest/dimension.hpp"

namespace dsakit {

enum class Phase : std::uint8_t { prefill, decode, mtp };
inline constexpr std::array<Phase, 3> kPhases{Phase::prefill, Phase::decode, Phase::mtp};
std::string_view phase_name(Phase phase);
std::optional<Phase> parse_phase(std::string_view name);
constexpr std::size_t index(Phase phase) {
  return static_cast<std::size_t>(phase);
}

// What a user typed for one phase: an id, or a comma list that may end in `auto`.
struct Typed {
  std::string text;
  Origin origin;
  bool operator==(const Typed&) const = default;
};

struct Request {
  std::map<std::string, Value> values;              // kv_dtype may be the token "auto" (R11)
  std::optional<std::string> kv_layout;             // R8
  bool prefill = true, decode = true, mtp = false;  // phases of the session (R5)
  std::array<std::optional<Typed>, 3> choice;       // typed, by Phase
  std::map<std::string, Origin> origins;  // where a dimension's value came from, for messages
  std::string subject;  // what is asked about, for messages: "GlmMoeDsaForCausalLM"

  // What `heads` was divided from; suggestions may divide otherwise.
  struct HeadSplit {
    std::int32_t total = 0, ranks = 1;  // query heads of the model, ranks that share them
    Origin origin;                      // of `ranks`; empty text: not given
    bool operator==(const HeadSplit&) const = default;
  };
  std::optional<HeadSplit> head_split;
  Set model_features;  // elements of `features` that the model needs: no suggestion drops them

  // The requested phases, those added by typing included (R5).
  std::array<bool, 3> phases() const;
};

struct Deny {
  std::string id;
  std::string reason;
};

struct Policy {
  std::vector<std::string> prefer;                   // R9, first is best
  std::vector<Deny> deny;                            // R6
  std::optional<std::vector<std::string>> kv_dtype;  // R11; none: the default order
};

// A request from one JSON object whose keys are dimension names, `phases`, `prefill`, `decode`,
// `mtp` and `kv_layout` (product.md, batch form). Errors: E0401 unknown key with the nearest name,
// E0402 wrong type or range, E0403 unknown device, E0404 not JSON, E0405 `phase`, E0204 malformed
// list.
tl::expected<Request, Diagnostic> parse_request(std::string_view json, const DimensionTable& dims,
                                                std::string_view catalog);

// A policy from {"prefer":[ids],"deny":[ids or {"id","reason"}],"kv_dtype":[…]}; E0602 with the
// JSON path.
tl::expected<Policy, Diagnostic> parse_policy(std::string_view json, const std::string& file);

// E0408 if `platform` and `arch` are known and no device is both: a slip, which no row explains.
std::optional<Diagnostic> device_contradiction(const Request& request);

// The entries of a typed list, or E0204: empty entry, `auto` not last.
tl::expected<std::vector<std::string>, Diagnostic> split_choice(const Typed& typed, Phase phase);

}  // namespace dsakit
