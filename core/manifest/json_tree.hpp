// Strict JSON as a flat tree: one array of nodes and one buffer of characters, so that reading a
// manifest costs two allocations instead of one for each value. Private to core/manifest; everyone
// else gets nlohmann-json values from parse_strict_json().
//
// Invariants: members of an object are in ascending order of their keys and distinct. A JsonValue
// is a handle that must not outlive its tree. Immutable after parse(); const use from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>
#include <tl/expected.hpp>

#include "manifest/json.hpp"

namespace dsakit {

class JsonValue;

class JsonTree {
 public:
  // The reasons of parse_strict_json().
  static tl::expected<JsonTree, std::string> parse(std::string_view text,
                                                   const JsonLimits& limits = {});

  JsonValue root() const;

 private:
  friend class JsonValue;
  friend class JsonTreeBuilder;

  enum class Type : std::uint8_t { null, boolean, integer, natural, real, string, array, object };
  static constexpr std::uint32_t kNone = ~0U;

  struct Node {
    std::string_view key;   // of a member
    std::string_view text;  // string
    union {
      bool flag;              // boolean
      std::int64_t integer;   // integer
      std::uint64_t natural;  // natural: beyond int64
      double real;            // real
    };
    std::uint32_t first = kNone, next = kNone;  // first child, next sibling
    std::uint32_t size = 0;                     // children
    Type type = Type::null;
  };

  std::vector<Node> nodes_;  // [0] is the root
  std::unique_ptr<char[]> chars_;
};

class JsonValue {
 public:
  using Type = JsonTree::Type;

  JsonValue() = default;
  // Whether it is a value at all: find() answers with none.
  explicit operator bool() const { return tree_ != nullptr; }

  bool is_null() const { return node().type == Type::null; }
  bool is_boolean() const { return node().type == Type::boolean; }
  bool is_integer() const { return node().type == Type::integer; }
  bool is_string() const { return node().type == Type::string; }
  bool is_array() const { return node().type == Type::array; }
  bool is_object() const { return node().type == Type::object; }

  bool boolean() const { return node().flag; }
  std::int64_t integer() const { return node().integer; }
  std::string_view text() const { return node().text; }
  // The key under which this value is a member.
  std::string_view key() const { return node().key; }
  std::size_t size() const { return node().size; }
  bool empty() const { return node().size == 0; }

  // The member of that key, or none.
  JsonValue find(std::string_view key) const;

  void append_to(std::string& out) const;
  nlohmann::json to_json() const;

  class Iterator {
   public:
    using difference_type = std::ptrdiff_t;
    using value_type = JsonValue;
    Iterator() = default;
    Iterator(const JsonTree* tree, std::uint32_t index) : tree_(tree), index_(index) {}
    JsonValue operator*() const { return {tree_, index_}; }
    Iterator& operator++() {
      index_ = tree_->nodes_[index_].next;
      return *this;
    }
    Iterator operator++(int) {
      Iterator before = *this;
      ++*this;
      return before;
    }
    bool operator==(const Iterator& other) const { return index_ == other.index_; }

   private:
    const JsonTree* tree_ = nullptr;
    std::uint32_t index_ = JsonTree::kNone;
  };

  // Elements in order, or members by key.
  Iterator begin() const { return {tree_, node().first}; }
  Iterator end() const { return {tree_, JsonTree::kNone}; }

 private:
  friend class JsonTree;
  JsonValue(const JsonTree* tree, std::uint32_t index) : tree_(tree), index_(index) {}
  const JsonTree::Node& node() const { return tree_->nodes_[index_]; }

  const JsonTree* tree_ = nullptr;
  std::uint32_t index_ = 0;
};

inline JsonValue JsonTree::root() const {
  return {this, 0};
}

// Canonical text cut to at most 60 bytes, for messages.
std::string json_excerpt(const JsonValue& value);

}  // namespace dsakit
