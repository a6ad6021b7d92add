// Comments and layout of C++ text.
#include <cctype>

#include "sources.hpp"

namespace dsakit {
namespace {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// Copies text without comments and layout.
class Stripper {
 public:
  explicit Stripper(const std::string& text) : text_(text) {}

  std::string run() {
    while (at_ < text_.size()) step();
    end_line();
    return std::move(out_);
  }

 private:
  bool here(std::string_view what) const { return text_.compare(at_, what.size(), what) == 0; }

  void step() {
    const char c = text_[at_];
    if (here("//")) return skip_to("\n", 0);
    if (here("/*")) {
      skip_to("*/", 2);
      blank_ = true;
    } else if (c == '\n') {
      end_line();
      ++at_;
    } else if (c == ' ' || c == '\t' || c == '\r') {
      blank_ = true;
      ++at_;
    } else if (c == '"' && ends_raw_prefix()) {
      copy_raw();
    } else if (c == '"' || (c == '\'' && !in_number())) {
      copy_quoted(c);
    } else {
      put(c);
      ++at_;
    }
  }

  void skip_to(std::string_view end, std::size_t past) {
    const std::size_t found = text_.find(end, at_ + 2);
    at_ = found == std::string::npos ? text_.size() : found + past;
  }

  // A blank counts unless it stands at the start of a line.
  void put(char c) {
    if (blank_ && line_ < out_.size()) out_ += ' ';
    blank_ = false;
    out_ += c;
  }

  void end_line() {
    blank_ = false;
    if (line_ < out_.size()) out_ += '\n';
    line_ = out_.size();
  }

  // R of R"…, u8R"…, LR"…, and no longer word.
  bool ends_raw_prefix() const {
    std::size_t first = at_;
    while (first > 0 && is_word(text_[first - 1])) --first;
    const std::string_view prefix(text_.data() + first, at_ - first);
    return prefix == "R" || prefix == "LR" || prefix == "uR" || prefix == "UR" || prefix == "u8R";
  }

  // The ' of 1'000.
  bool in_number() const {
    std::size_t first = at_;
    while (first > 0 && (is_word(text_[first - 1]) || text_[first - 1] == '\'')) --first;
    return first < at_ && std::isdigit(static_cast<unsigned char>(text_[first])) != 0;
  }

  void copy_raw() {
    const std::size_t open = text_.find('(', at_);
    std::size_t end = text_.size();
    if (open != std::string::npos) {
      const std::string close = ")" + text_.substr(at_ + 1, open - at_ - 1) + "\"";
      const std::size_t found = text_.find(close, open);
      if (found != std::string::npos) end = found + close.size();
    }
    while (at_ < end) put(text_[at_++]);
  }

  void copy_quoted(char quote) {
    put(text_[at_++]);
    while (at_ < text_.size() && text_[at_] != '\n') {
      const char c = text_[at_++];
      out_ += c;
      if (c == quote) return;
      if (c == '\\' && at_ < text_.size()) out_ += text_[at_++];
    }
  }

  const std::string& text_;
  std::string out_;
  std::size_t at_ = 0;
  std::size_t line_ = 0;  // where the line of out_ starts
  bool blank_ = false;
};

}  // namespace

std::string without_layout(const std::string& text) {
  return Stripper(text).run();
}

}  // namespace dsakit
