#include <algorithm>

#include <fmt/format.h>

#include "manifest/json.hpp"
#include "manifest/schema_detail.hpp"

namespace dsakit {

std::string JsonPath::text() const {
  std::string out;
  append(out);
  return out.empty() ? "the top level" : out;
}

void JsonPath::append(std::string& out) const {
  if (parent_ != nullptr) parent_->append(out);
  if (index_ >= 0) {
    out += fmt::format("[{}]", index_);
    return;
  }
  const bool plain = !text_.empty() && std::ranges::all_of(text_, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  });
  if (parent_ == nullptr) {
    out += text_;
  } else if (plain) {
    if (!out.empty()) out += '.';
    out += text_;
  } else {
    out += '[';
    append_json_string(out, text_);
    out += ']';
  }
}

tl::unexpected<Refusal> refuse(const JsonPath& path, JsonValue found, std::string allowed) {
  return tl::unexpected(Refusal{path.text(), json_excerpt(found), std::move(allowed)});
}

std::string json_quoted(std::string_view text) {
  return json_excerpt(nlohmann::json(text));
}

}  // namespace dsakit
