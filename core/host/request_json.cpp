#include "host/request_json.hpp"

#include <limits>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "diag/nearest.hpp"
#include "manifest/json.hpp"

namespace dsakit {
namespace {

using nlohmann::json;

const std::vector<std::string>& option_names() {
  static const std::vector<std::string> kNames{
      "decode", "device",      "features",  "hisparse", "kv_dtype", "model_family",
      "mtp",    "mtp_backend", "page_size", "prefill",  "tp"};
  return kNames;
}

Diagnostic wrong(const std::string& key, const json& found, const char* allowed) {
  return Diagnostic(Code::E0402)
      .with("key", key)
      .with("allowed", std::string(allowed))
      .with("found", json_excerpt(found));
}

std::optional<int> positive(const json& value) {
  if (!value.is_number_integer()) return std::nullopt;
  const auto number = value.get<std::int64_t>();
  if (number < 1 || number > std::numeric_limits<std::int32_t>::max()) return std::nullopt;
  return static_cast<int>(number);
}

bool all_strings(const json& value) {
  if (!value.is_array()) return false;
  for (const json& item : value) {
    if (!item.is_string()) return false;
  }
  return true;
}

std::optional<Diagnostic> take_text(const std::string& key, const json& value,
                                    ParsedRequestOptions& out) {
  if (!value.is_string() || value.get_ref<const std::string&>().empty()) {
    return wrong(key, value, "a string that is not empty; leave the key out for none");
  }
  const auto text = value.get<std::string>();
  if (key == "device") out.request.device = text;
  if (key == "kv_dtype") out.request.kv_dtype = text;
  if (key == "model_family") out.family = text;
  const Typed typed{text, {fmt::format("{} = {}", key, text), "API"}};
  if (key == "prefill") out.request.choice[index(Phase::prefill)] = typed;
  if (key == "decode") out.request.choice[index(Phase::decode)] = typed;
  if (key == "mtp_backend") out.request.choice[index(Phase::mtp)] = typed;
  return std::nullopt;
}

std::optional<Diagnostic> take_option(const std::string& key, const json& value,
                                      ParsedRequestOptions& out) {
  if (key == "hisparse" || key == "mtp") {
    if (!value.is_boolean()) return wrong(key, value, "true or false");
    (key == "mtp" ? out.request.mtp : out.request.hisparse) = value.get<bool>();
    return std::nullopt;
  }
  if (key == "page_size" || key == "tp") {
    const auto number = positive(value);
    if (!number) return wrong(key, value, "an integer from 1 to 2147483647");
    if (key == "tp") out.request.tp = *number;
    if (key == "page_size") out.request.page_size = *number;
    return std::nullopt;
  }
  if (key == "features") {
    if (!all_strings(value)) return wrong(key, value, "a list of strings");
    out.request.features = value.get<std::vector<std::string>>();
    return std::nullopt;
  }
  return take_text(key, value, out);
}

}  // namespace

tl::expected<ParsedRequestOptions, Diagnostic> parse_request_options(std::string_view text) {
  const auto parsed = parse_strict_json(text);
  if (!parsed || !parsed->is_object()) {
    return tl::unexpected(
        Diagnostic(Code::E0404)
            .with("reason", parsed ? "the options are not an object" : parsed.error()));
  }
  ParsedRequestOptions options;
  for (const auto& [key, value] : parsed->items()) {
    const auto& names = option_names();
    if (std::find(names.begin(), names.end(), key) == names.end()) {
      Diagnostic unknown =
          Diagnostic(Code::E0401).with("key", key).with("catalog", std::string("options"));
      if (const auto near = nearest_name(key, names))
        unknown = std::move(unknown).with("nearest", *near);
      return tl::unexpected(std::move(unknown));
    }
    if (auto error = take_option(key, value, options)) return tl::unexpected(std::move(*error));
  }
  return options;
}

std::string request_json_text(const Request& request) {
  json out = json::object();
  for (const auto& [dim, value] : request.values) out[dim] = json::parse(value_json(value));
  if (request.kv_layout) out["kv_layout"] = *request.kv_layout;
  const auto phases = request.phases();
  if (phases != std::array{true, true, false}) {
    for (const Phase phase : kPhases) {
      if (phases[index(phase)]) out["phases"].push_back(phase_name(phase));
    }
  }
  for (const Phase phase : kPhases) {
    if (const auto& typed = request.choice[index(phase)])
      out[std::string(phase_name(phase))] = typed->text;
  }
  return canonical_json(out);
}

}  // namespace dsakit
