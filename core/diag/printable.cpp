#include "diag/printable.hpp"

#include <cstdint>

#include <fmt/format.h>

namespace dsakit {
namespace {

struct Decoded {
  std::uint32_t code = 0;
  std::size_t length = 0;  // in bytes; 0: not UTF-8
};

// The code point at the start of `text`, which is not empty: shortest form, no surrogates.
Decoded decode(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t first = byte(0);
  if (first < 0x80) return {first, 1};
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return {};
  std::uint32_t code = first & (0xffU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3fU);
  }
  static constexpr std::uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  return code < kSmallest[length] || surrogate || code > 0x10ffff ? Decoded{}
                                                                  : Decoded{code, length};
}

// C1 controls, line separators, marks that reorder or hide text.
bool steers(std::uint32_t code) {
  return (code >= 0x80 && code < 0xa0) || (code >= 0x200b && code <= 0x200f) ||
         (code >= 0x2028 && code <= 0x202e) || (code >= 0x2060 && code <= 0x2069) ||
         code == 0x061c || code == 0xfeff;
}

}  // namespace

std::string printable(std::string_view text, bool keep_lines) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Decoded next = decode(text);
    const bool control =
        (next.code < 0x20 && !(keep_lines && next.code == '\n')) || next.code == 0x7f;
    if (next.length == 0 || control) {
      out += fmt::format("\\x{:02x}", static_cast<std::uint8_t>(text.front()));
    } else if (steers(next.code)) {
      out += fmt::format("\\u{{{:04x}}}", next.code);
    } else {
      out += text.substr(0, next.length);
    }
    text.remove_prefix(next.length == 0 ? 1 : next.length);
  }
  return out;
}

}  // namespace dsakit
