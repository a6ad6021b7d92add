#include "host/user_config.hpp"

#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "catalog/text_file.hpp"
#include "manifest/json.hpp"

namespace dsakit {
namespace {

using nlohmann::json;

Diagnostic unusable(const std::string& file, const std::string& path, const std::string& found,
                    const char* allowed) {
  return Diagnostic(Code::E0606)
      .with("file", file)
      .with("path", path)
      .with("found", found)
      .with("allowed", allowed);
}

Typed from_config(const std::string& key, const std::string& id, const std::string& file) {
  return {id, {fmt::format("{} = {}  in {}", key, id, file), "config file"}};
}

std::optional<Diagnostic> take_backend(const json& value, const std::string& file,
                                       UserConfig& config) {
  if (value.is_string()) {
    config.choice.fill(from_config("backend", value.get<std::string>(), file));
    return std::nullopt;
  }
  if (!value.is_object()) {
    return unusable(file, "backend", json_excerpt(value),
                    "an id or {\"prefill\",\"decode\",\"mtp\"}");
  }
  for (const auto& [key, id] : value.items()) {
    const auto phase = parse_phase(key);
    if (!phase) return unusable(file, "backend." + key, key, "prefill, decode or mtp");
    if (!id.is_string()) return unusable(file, "backend." + key, json_excerpt(id), "an id");
    config.choice[index(*phase)] = from_config("backend." + key, id.get<std::string>(), file);
  }
  return std::nullopt;
}

std::optional<Typed> from_environment(const Environment& environment, Phase phase) {
  static constexpr std::array kNames{"DSAKIT_BACKEND_PREFILL", "DSAKIT_BACKEND_DECODE",
                                     "DSAKIT_BACKEND_MTP"};
  const std::array values{&environment.backend_prefill, &environment.backend_decode,
                          &environment.backend_mtp};
  const auto make = [](const char* name, const std::string& id) {
    return Typed{id, {fmt::format("{}={}", name, id), "environment"}};
  };
  if (const auto& own = *values[index(phase)]) return make(kNames[index(phase)], *own);
  if (environment.backend) return make("DSAKIT_BACKEND", *environment.backend);
  return std::nullopt;
}

}  // namespace

tl::expected<UserConfig, Diagnostic> parse_user_config(std::string_view text,
                                                       const std::string& file) {
  const auto parsed = parse_strict_json(text);
  if (!parsed) return tl::unexpected(unusable(file, "the top", parsed.error(), "one JSON object"));
  if (!parsed->is_object()) {
    return tl::unexpected(unusable(file, "the top", json_excerpt(*parsed), "one JSON object"));
  }
  UserConfig config;
  config.file = file;
  for (const auto& [key, value] : parsed->items()) {
    if (key == "backend") {
      if (auto wrong = take_backend(value, file, config)) return tl::unexpected(std::move(*wrong));
    } else if (key == "policy") {
      auto policy = parse_policy(canonical_json(value), file);
      if (!policy) return tl::unexpected(std::move(policy.error()));
      config.policy = std::move(*policy);
    } else {
      return tl::unexpected(unusable(file, key, key, "backend, policy"));
    }
  }
  return config;
}

tl::expected<UserConfig, Diagnostic> read_user_config(const Environment& environment) {
  if (environment.xdg_config_home.empty()) return UserConfig{};
  const std::string file = environment.xdg_config_home + "/dsakit/config.json";
  std::error_code error;
  if (!std::filesystem::exists(file, error)) return UserConfig{};
  const auto text = read_text_file(file, JsonLimits{}.max_bytes);
  if (!text) return tl::unexpected(text.error());
  return parse_user_config(*text, file);
}

void apply_preferences(Request& request, const Environment& environment, const UserConfig& user) {
  const std::array<bool, 3> requested = request.phases();
  for (const Phase phase : kPhases) {
    auto& choice = request.choice[index(phase)];
    if (!requested[index(phase)] || choice) continue;
    choice = from_environment(environment, phase);
    if (!choice) choice = user.choice[index(phase)];
  }
}

tl::expected<Policy, Diagnostic> read_policy(const std::string& file) {
  const auto text = read_text_file(file, JsonLimits{}.max_bytes);
  if (!text) return tl::unexpected(text.error());
  return parse_policy(*text, file);
}

}  // namespace dsakit
