#include "manifest/json.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include <fmt/format.h>

namespace dsakit {
namespace {

using nlohmann::json;

// Builds the value while it checks the limits; stops at the first breach. nlohmann-json's lexer
// checks UTF-8, escapes and syntax before a handler sees a token.
class StrictHandler {
 public:
  explicit StrictHandler(const JsonLimits& limits) : limits_(limits) { stack_.reserve(16); }

  json take() { return std::move(root_); }
  std::string reason() && { return std::move(reason_); }

  bool null() { return add(nullptr); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(std::int64_t value) { return add(value); }
  bool number_unsigned(std::uint64_t value) {
    constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (limits_.integers_only && value > kMax) return refuse("an integer too large for 64 bits");
    return add(value);
  }
  bool number_float(double value, const std::string& text) {
    if (limits_.integers_only)
      return refuse(fmt::format("number {:.40} is not an integer of 64 bits", text));
    return add(value);
  }
  bool string(std::string& value) {
    if (!check_size(value)) return false;
    return add(std::move(value));
  }
  bool binary(json::binary_t&) { return refuse("binary data"); }

  bool start_object(std::size_t) { return open(json::object()); }
  bool start_array(std::size_t) { return open(json::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }

  bool key(std::string& key) {
    if (!check_size(key)) return false;
    auto& object = stack_.back().value->get_ref<json::object_t&>();
    const auto [position, inserted] = object.try_emplace(std::move(key));
    if (!inserted) return refuse(fmt::format("duplicate key `{}`", position->first));
    stack_.back().member = &*position;
    return true;
  }

  bool parse_error(std::size_t byte, const std::string&, const json::exception& error) {
    // The library's text opens with its own name "[json.exception…] " and mostly the position,
    // "parse error at line 1, column 2: ".
    std::string_view what = error.what();
    if (what.starts_with('[')) what.remove_prefix(std::min(what.size(), what.find("] ") + 2));
    if (what.starts_with("parse error at")) what.remove_prefix(what.find(": ") + 2);
    reason_ = fmt::format("{} (byte {})", what.substr(0, 200), byte);
    return false;
  }

 private:
  struct Open {
    json* value;
    json::object_t::value_type* member;  // where the next value of an object goes
  };

  bool check_size(const std::string& text) {
    if (text.size() <= limits_.max_string) return true;
    return refuse(fmt::format("a string longer than {} bytes", limits_.max_string));
  }

  json* place(json&& value) {
    if (stack_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    Open& parent = stack_.back();
    if (parent.value->is_object()) {
      parent.member->second = std::move(value);
      return &parent.member->second;
    }
    auto& array = parent.value->get_ref<json::array_t&>();
    array.push_back(std::move(value));
    return &array.back();
  }

  bool add(json value) {
    if (!count()) return false;
    place(std::move(value));
    return true;
  }

  bool open(json value) {
    if (!count()) return false;
    if (static_cast<int>(stack_.size()) >= limits_.max_depth) {
      return refuse(fmt::format("more than {} levels deep", limits_.max_depth));
    }
    stack_.push_back({place(std::move(value)), nullptr});
    return true;
  }

  bool close() {
    stack_.pop_back();
    return true;
  }

  bool count() {
    if (++items_ <= limits_.max_items) return true;
    return refuse(fmt::format("more than {} values", limits_.max_items));
  }

  bool refuse(std::string what) {
    std::string path;
    for (std::size_t i = 0; i + 1 < stack_.size(); ++i) {
      const Open& level = stack_[i];
      if (level.value->is_array()) {
        path += fmt::format("[{}]", level.value->size() - 1);
      } else {
        path += (path.empty() ? "" : ".") + level.member->first;
      }
    }
    reason_ = path.empty() ? std::move(what) : fmt::format("{} in {}", what, path);
    return false;
  }

  const JsonLimits& limits_;
  json root_;
  std::vector<Open> stack_;
  std::size_t items_ = 0;
  std::string reason_;
};

}  // namespace

tl::expected<json, std::string> parse_strict_json(std::string_view text, const JsonLimits& limits) {
  if (text.size() > limits.max_bytes) {
    return tl::unexpected(
        fmt::format("{} bytes, at most {} are read", text.size(), limits.max_bytes));
  }
  if (text.starts_with("\xEF\xBB\xBF")) return tl::unexpected(std::string("a byte order mark"));
  // The library's lexer takes a NUL for the end of the text and would not look at what follows.
  if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos) {
    return tl::unexpected(fmt::format("a NUL character (byte {})", nul + 1));
  }
  StrictHandler handler(limits);
  if (!json::sax_parse(text.data(), text.data() + text.size(), &handler)) {
    return tl::unexpected(std::move(handler).reason());
  }
  return handler.take();
}

std::string canonical_json(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

void append_json_string(std::string& out, std::string_view text) {
  const auto plain = [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; };
  for (const char c : text) {
    if (!plain(c)) {
      out += canonical_json(json(text));
      return;
    }
  }
  out += '"';
  out += text;
  out += '"';
}

std::string json_excerpt(const json& value) {
  constexpr std::size_t kMax = 60;
  std::string text = canonical_json(value);
  if (text.size() <= kMax) return text;
  std::size_t cut = kMax - 3;
  while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xC0) == 0x80) --cut;
  text.resize(cut);
  return text + "...";
}

}  // namespace dsakit
