// A scanner for plain JSON: ASCII without escapes, integers of at most 18 digits. It gives the same
// events as nlohmann-json, several times faster; whatever is not plain, errors included, it leaves
// to nlohmann-json, so there is one authority on what JSON is. tests/fuzz/fuzz_json.cpp compares
// the two. Private to core/manifest.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace dsakit {

enum class FastScan : std::uint8_t {
  done,     // the handler has seen the whole text
  refused,  // the handler said no
  unusual,  // not plain: nothing is known about the text
};

template <class Handler>
class FastScanner {
 public:
  FastScanner(std::string_view text, Handler& handler)
      : at_(text.data()), end_(text.data() + text.size()), handler_(handler) {}

  FastScan run() {
    skip_space();
    if (!value()) return result_;
    while (depth_ > 0) {
      skip_space();
      if (!next()) return result_;
    }
    skip_space();
    return at_ == end_ ? FastScan::done : FastScan::unusual;
  }

 private:
  static constexpr std::size_t kMaxDepth = 64;

  bool unusual() {
    result_ = FastScan::unusual;
    return false;
  }
  bool told(bool accepted) {
    if (!accepted) result_ = FastScan::refused;
    return accepted;
  }

  void skip_space() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\t' || *at_ == '\r')) ++at_;
  }
  bool take(char c) {
    if (at_ == end_ || *at_ != c) return false;
    ++at_;
    return true;
  }

  // What follows a complete value inside a container.
  bool next() {
    const bool object = open_[depth_ - 1] == '{';
    if (take(object ? '}' : ']')) return close(object);
    if (!take(',')) return unusual();
    skip_space();
    return object ? member() : value();
  }

  bool close(bool object) {
    --depth_;
    return told(object ? handler_.end_object() : handler_.end_array());
  }

  bool open(bool object) {
    ++at_;
    if (depth_ == kMaxDepth) return unusual();
    if (!told(object ? handler_.start_object(-1UL) : handler_.start_array(-1UL))) return false;
    open_[depth_++] = object ? '{' : '[';
    skip_space();
    if (take(object ? '}' : ']')) return close(object);
    return object ? member() : value();
  }

  bool member() {
    std::string_view name;
    if (!quoted(name)) return unusual();
    if (!told(handler_.key(name))) return false;
    skip_space();
    if (!take(':')) return unusual();
    skip_space();
    return value();
  }

  bool value() {
    if (at_ == end_) return unusual();
    switch (*at_) {
      case '{':
        return open(true);
      case '[':
        return open(false);
      case '"': {
        std::string_view text;
        return quoted(text) ? told(handler_.string(text)) : unusual();
      }
      case 't':
        return word("true") ? told(handler_.boolean(true)) : unusual();
      case 'f':
        return word("false") ? told(handler_.boolean(false)) : unusual();
      case 'n':
        return word("null") ? told(handler_.null()) : unusual();
      default:
        return number();
    }
  }

  bool word(std::string_view expected) {
    if (!std::string_view(at_, static_cast<std::size_t>(end_ - at_)).starts_with(expected))
      return false;
    at_ += expected.size();
    return true;
  }

  bool quoted(std::string_view& text) {
    if (!take('"')) return false;
    const char* const start = at_;
    while (at_ != end_ && *at_ != '"') {
      if (*at_ < ' ' || *at_ > '~' || *at_ == '\\') return false;
      ++at_;
    }
    text = {start, static_cast<std::size_t>(at_ - start)};
    return take('"');
  }

  bool number() {
    constexpr std::ptrdiff_t kMaxDigits = 18;
    const bool negative = take('-');
    const char* const start = at_;
    std::int64_t number = 0;
    while (at_ != end_ && *at_ >= '0' && *at_ <= '9' && at_ - start < kMaxDigits) {
      number = number * 10 + (*at_++ - '0');
    }
    const std::ptrdiff_t digits = at_ - start;
    if (digits == 0 || (*start == '0' && (digits > 1 || negative))) return unusual();
    // Another digit, a point or an exponent: what follows is then no end of a value, and next()
    // says so.
    return told(handler_.number_integer(negative ? -number : number));
  }

  const char* at_;
  const char* const end_;
  Handler& handler_;
  std::array<char, kMaxDepth> open_{};
  std::size_t depth_ = 0;
  FastScan result_ = FastScan::unusual;
};

}  // namespace dsakit
