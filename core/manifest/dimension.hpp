// The dimension table: what a request can say and a row can constrain. The built-in dimensions are
// one data table (dimension.cpp); a new line there is the whole change. Manifests may declare more.
//
// Invariants: an extension dimension has a neutral value or is open; its name contains a dot or at
// least is no built-in name. Tables are values; const use from any thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "manifest/value.hpp"

namespace dsakit {

struct Dimension {
  std::string name;
  DimType type = DimType::token;
  std::optional<Value>
      neutral;            // the value an absent request key takes; none: the key is then unknown
  bool open = false;      // a row that is silent accepts any value
  bool shared = false;    // a row may state it in `provides`, and phases must then agree
  bool settable = false;  // an engine can change it without another model or GPU: suggestions may
  std::vector<std::string> values;  // the only tokens there are; empty: any token
  std::string doc;

  // R: two declarations differ if type, neutral, open or shared differ.
  bool same_declaration(const Dimension& other) const {
    return type == other.type && neutral == other.neutral && open == other.open &&
           shared == other.shared;
  }
};

class DimensionTable {
 public:
  // The built-in dimensions, `phase` among them.
  DimensionTable();

  // Index of a dimension, or −1.
  int find(std::string_view name) const;
  const Dimension& at(int index) const { return dims_[static_cast<std::size_t>(index)]; }
  int size() const { return static_cast<int>(dims_.size()); }

  // False if a dimension of that name exists with another declaration or is built in; repeating an
  // equal declaration is fine.
  bool declare(const Dimension& dim);

  std::vector<std::string> names() const;

 private:
  std::vector<Dimension> dims_;
  int builtin_ = 0;
};

// The built-in dimensions alone, made once.
const DimensionTable& builtin_dimensions();

// Keys of a request that are no dimensions: no dimension can have such a name.
std::span<const std::string_view> reserved_request_keys();

// Aliases resolved everywhere: bfloat16 → bf16.
std::string_view resolve_alias(std::string_view token);
// The spellings users may type for a token: bf16 → {bf16, bfloat16}.
std::vector<std::string> spellings(std::string_view token);

// A byte layout of a KV-cache row in words, from the table in dsakit/kv_layout.hpp: "656 bytes per
// token, one scale per 128 values". Empty for a layout that third parties define.
std::string kv_layout_text(std::string_view name);

}  // namespace dsakit
