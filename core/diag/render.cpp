#include "diag/render.hpp"

#include <algorithm>

#include <fmt/args.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "diag/printable.hpp"

namespace dsakit {
namespace {

using Json = nlohmann::ordered_json;

constexpr auto kReplaceBadUtf8 = Json::error_handler_t::replace;

class Painter {
 public:
  explicit Painter(TextStyle style) : color_(style.color) {}
  std::string paint(std::string_view text, std::string_view ansi) const {
    return color_ ? fmt::format("\x1b[{}m{}\x1b[0m", ansi, text) : std::string(text);
  }

 private:
  bool color_;
};

Json field_json(const Field& field) {
  if (const auto* text = std::get_if<std::string>(&field.value)) return *text;
  if (const auto* number = std::get_if<std::int64_t>(&field.value)) return *number;
  return Json::parse(std::get<RawJson>(field.value).text, nullptr, false);
}

Json to_json_value(const Diagnostic& d) {
  Json json;
  json["code"] = code_name(d.code);
  json["level"] = code_severity(d.code) == Severity::error ? "error" : "warning";
  json["message"] = headline(d);
  for (const Field& field : d.fields) json[field.name] = field_json(field);
  if (!d.origins.empty()) {
    for (const Origin& o : d.origins)
      json["origins"].push_back({{"text", o.text}, {"source", o.source}});
  }
  if (!d.notes.empty()) json["notes"] = d.notes;
  if (!d.helps.empty()) json["helps"] = d.helps;
  return json;
}

void append_flat(const Diagnostic& d, Json& array) {
  array.push_back(to_json_value(d));
  for (const Diagnostic& child : d.children) append_flat(child, array);
}

}  // namespace

std::string headline(const Diagnostic& d) {
  fmt::dynamic_format_arg_store<fmt::format_context> args;
  for (const Field& field : d.fields) {
    if (const auto* text = std::get_if<std::string>(&field.value)) {
      args.push_back(fmt::arg(field.name.c_str(), printable(*text)));
    } else if (const auto* number = std::get_if<std::int64_t>(&field.value)) {
      args.push_back(fmt::arg(field.name.c_str(), *number));
    }
  }
  try {
    return fmt::vformat(code_headline(d.code), args);
  } catch (const fmt::format_error&) {
    return std::string(code_headline(d.code));  // a field is missing: still say what is known
  }
}

std::string render_text(const Diagnostic& d, TextStyle style) {
  const Painter painter(style);
  const bool is_error = code_severity(d.code) == Severity::error;
  std::string out =
      painter.paint(fmt::format("{}[{}]", is_error ? "error" : "warning", code_name(d.code)),
                    is_error ? "1;31" : "1;33");
  out += fmt::format(": {}\n", headline(d));

  const std::string arrow = painter.paint("-->", "1;34");
  std::size_t width = 0;
  for (const Origin& o : d.origins) width = std::max(width, printable(o.text).size());
  for (const Origin& o : d.origins) {
    out += fmt::format("  {} {:<{}}  ({})\n", arrow, printable(o.text), width, printable(o.source));
  }

  const std::string bar = painter.paint("|", "1;34");
  width = 0;
  for (const Evidence& e : d.evidence) width = std::max(width, e.subject.size());
  for (const Evidence& e : d.evidence) {
    out += e.subject.empty() ? fmt::format("   {}  {}\n", bar, printable(e.text))
                             : fmt::format("   {}  {:<{}}  {}\n", bar, printable(e.subject), width,
                                           printable(e.text));
  }
  const std::string equals = painter.paint("=", "1;34");
  for (const std::string& note : d.notes)
    out += fmt::format("   {} note: {}\n", equals, printable(note));
  for (const std::string& help : d.helps) {
    out += fmt::format("   {} {}: {}\n", equals, painter.paint("help", "1;32"), printable(help));
  }
  return out;
}

std::string render_json(const Diagnostic& d) {
  return to_json_value(d).dump(-1, ' ', false, kReplaceBadUtf8);
}

std::string render_json(std::span<const Diagnostic> diagnostics) {
  Json array = Json::array();
  for (const Diagnostic& d : diagnostics) append_flat(d, array);
  return array.dump(-1, ' ', false, kReplaceBadUtf8);
}

}  // namespace dsakit
