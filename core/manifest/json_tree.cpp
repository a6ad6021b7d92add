#include "manifest/json_tree.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "manifest/json_fast_scan.hpp"

namespace dsakit {

using nlohmann::json;

// Receives the events of nlohmann-json, whose lexer has already checked UTF-8, escapes and syntax;
// checks the limits and stops at the first breach.
class JsonTreeBuilder {
 public:
  JsonTreeBuilder(std::size_t bytes, const JsonLimits& limits) : limits_(limits) {
    // Decoding never makes text longer, so the buffer never moves.
    tree.chars_ = std::make_unique_for_overwrite<char[]>(bytes);
    tree.nodes_.reserve(std::min<std::size_t>(bytes / 6 + 1, 512));
    stack_.reserve(static_cast<std::size_t>(std::min(limits.max_depth, 64)));
  }

  JsonTree tree;
  std::string reason;

  bool null() { return add(Type::null) != nullptr; }
  bool boolean(bool value) {
    Node* node = add(Type::boolean);
    if (node != nullptr) node->flag = value;
    return node != nullptr;
  }
  bool number_integer(std::int64_t value) {
    Node* node = add(Type::integer);
    if (node != nullptr) node->integer = value;
    return node != nullptr;
  }
  bool number_unsigned(std::uint64_t value) {
    constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (value <= kMax) return number_integer(static_cast<std::int64_t>(value));
    if (limits_.integers_only) return refuse("an integer too large for 64 bits");
    Node* node = add(Type::natural);
    if (node != nullptr) node->natural = value;
    return node != nullptr;
  }
  bool number_float(double value, const std::string& text) {
    if (limits_.integers_only)
      return refuse(fmt::format("number {:.40} is not an integer of 64 bits", text));
    Node* node = add(Type::real);
    if (node != nullptr) node->real = value;
    return node != nullptr;
  }
  bool string(std::string_view value) {
    if (!check_size(value)) return false;
    Node* node = add(Type::string);
    if (node != nullptr) node->text = keep(value);
    return node != nullptr;
  }
  bool binary(json::binary_t&) { return refuse("binary data"); }

  bool key(std::string_view name) {
    if (!check_size(name)) return false;
    key_ = keep(name);
    Open& object = stack_.back();
    if (object.last != JsonTree::kNone) {
      const int order = tree.nodes_[object.last].key.compare(key_);
      if (order == 0) return refuse_duplicate(key_);
      object.sorted = object.sorted && order < 0;
    }
    return true;
  }

  bool start_object(std::size_t) { return open(Type::object); }
  bool start_array(std::size_t) { return open(Type::array); }
  bool end_array() {
    stack_.pop_back();
    return true;
  }
  bool end_object() {
    if (!stack_.back().sorted && !sort_members(tree.nodes_[stack_.back().node])) return false;
    stack_.pop_back();
    return true;
  }

  bool parse_error(std::size_t byte, const std::string&, const json::exception& error) {
    // The library's text opens with its own name "[json.exception…] " and mostly the position,
    // "parse error at line 1, column 2: ".
    std::string_view what = error.what();
    if (what.starts_with('[')) what.remove_prefix(std::min(what.size(), what.find("] ") + 2));
    if (what.starts_with("parse error at")) what.remove_prefix(what.find(": ") + 2);
    reason = fmt::format("{} (byte {})", what.substr(0, 200), byte);
    return false;
  }

 private:
  using Node = JsonTree::Node;
  using Type = JsonTree::Type;

  struct Open {
    std::uint32_t node;
    std::uint32_t last = JsonTree::kNone;  // last child so far
    bool sorted = true;                    // its keys ascend so far
  };

  std::string_view keep(std::string_view text) {
    char* at = tree.chars_.get() + used_;
    if (!text.empty()) std::memcpy(at, text.data(), text.size());
    used_ += text.size();
    return {at, text.size()};
  }

  bool check_size(std::string_view text) {
    if (text.size() <= limits_.max_string) return true;
    return refuse(fmt::format("a string longer than {} bytes", limits_.max_string));
  }

  Node* add(Type type) {
    if (tree.nodes_.size() >= limits_.max_items) {
      refuse(fmt::format("more than {} values", limits_.max_items));
      return nullptr;
    }
    const auto index = static_cast<std::uint32_t>(tree.nodes_.size());
    Node& node = tree.nodes_.emplace_back();
    node.type = type;
    if (stack_.empty()) return &node;
    Open& parent = stack_.back();
    Node& owner = tree.nodes_[parent.node];
    if (owner.type == Type::object) node.key = key_;
    (parent.last == JsonTree::kNone ? owner.first : tree.nodes_[parent.last].next) = index;
    parent.last = index;
    ++owner.size;
    return &node;
  }

  bool open(Type type) {
    const auto index = static_cast<std::uint32_t>(tree.nodes_.size());
    if (static_cast<int>(stack_.size()) >= limits_.max_depth) {
      return refuse(fmt::format("more than {} levels deep", limits_.max_depth));
    }
    if (add(type) == nullptr) return false;
    stack_.push_back({index});
    return true;
  }

  bool sort_members(Node& object) {
    std::vector<std::uint32_t> order;
    order.reserve(object.size);
    for (auto i = object.first; i != JsonTree::kNone; i = tree.nodes_[i].next) order.push_back(i);
    const auto key_of = [&](std::uint32_t i) { return tree.nodes_[i].key; };
    std::ranges::stable_sort(order, {}, key_of);
    const auto twice = std::ranges::adjacent_find(order, {}, key_of);
    if (twice != order.end()) return refuse_duplicate(key_of(*twice));
    object.first = order.front();
    for (std::size_t i = 0; i < order.size(); ++i) {
      tree.nodes_[order[i]].next = i + 1 < order.size() ? order[i + 1] : JsonTree::kNone;
    }
    return true;
  }

  bool refuse_duplicate(std::string_view name) {
    return refuse(fmt::format("duplicate key `{}`", name));
  }

  bool refuse(std::string what) {
    std::string path;
    for (std::size_t i = 1; i < stack_.size(); ++i) {
      const Node& parent = tree.nodes_[stack_[i - 1].node];
      if (parent.type == Type::array) {
        path += fmt::format("[{}]", parent.size - 1);
      } else {
        if (!path.empty()) path += '.';
        path += tree.nodes_[stack_[i].node].key;
      }
    }
    reason = path.empty() ? std::move(what) : fmt::format("{} in {}", what, path);
    return false;
  }

  const JsonLimits& limits_;
  std::vector<Open> stack_;
  std::string_view key_;  // of the member that comes next
  std::size_t used_ = 0;
};

tl::expected<JsonTree, std::string> JsonTree::parse(std::string_view text,
                                                    const JsonLimits& limits) {
  if (text.size() > limits.max_bytes) {
    return tl::unexpected(
        fmt::format("{} bytes, at most {} are read", text.size(), limits.max_bytes));
  }
  if (text.starts_with("\xEF\xBB\xBF")) return tl::unexpected(std::string("a byte order mark"));
  // The library's lexer takes a NUL for the end of the text and would not look at what follows.
  if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos) {
    return tl::unexpected(fmt::format("a NUL character (byte {})", nul + 1));
  }
  JsonTreeBuilder fast(text.size(), limits);
  const FastScan scanned = FastScanner(text, fast).run();
  if (scanned == FastScan::done) return std::move(fast.tree);
  if (scanned == FastScan::refused) return tl::unexpected(std::move(fast.reason));
  JsonTreeBuilder builder(text.size(), limits);
  if (!json::sax_parse(text.data(), text.data() + text.size(), &builder)) {
    return tl::unexpected(std::move(builder.reason));
  }
  return std::move(builder.tree);
}

JsonValue JsonValue::find(std::string_view key) const {
  for (const JsonValue member : *this) {
    if (member.key() == key) return member;
  }
  return {};
}

void JsonValue::append_to(std::string& out) const {
  const bool array = is_array();
  if (!array && !is_object()) {
    if (is_string()) {
      append_json_string(out, text());
    } else {
      out += canonical_json(to_json());
    }
    return;
  }
  out += array ? '[' : '{';
  bool first = true;
  for (const JsonValue child : *this) {
    if (!first) out += ',';
    first = false;
    if (!array) {
      append_json_string(out, child.key());
      out += ':';
    }
    child.append_to(out);
  }
  out += array ? ']' : '}';
}

json JsonValue::to_json() const {
  switch (node().type) {
    case Type::null:
      return nullptr;
    case Type::boolean:
      return node().flag;
    case Type::integer:
      // Like the library's own parser: what is not negative is unsigned.
      if (node().integer >= 0) return static_cast<std::uint64_t>(node().integer);
      return node().integer;
    case Type::natural:
      return node().natural;
    case Type::real:
      return node().real;
    case Type::string:
      return std::string(node().text);
    case Type::array: {
      json result = json::array();
      result.get_ref<json::array_t&>().reserve(size());
      for (const JsonValue child : *this) result.push_back(child.to_json());
      return result;
    }
    case Type::object:
      break;
  }
  json result = json::object();
  auto& members = result.get_ref<json::object_t&>();
  for (const JsonValue child : *this) {
    members.emplace_hint(members.end(), std::string(child.key()), child.to_json());
  }
  return result;
}

}  // namespace dsakit
