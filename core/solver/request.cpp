#include "solver/request.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "diag/nearest.hpp"
#include "manifest/arch.hpp"
#include "manifest/json.hpp"
#include "manifest/schema.hpp"

namespace dsakit {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kPhaseNames[] = {"prefill", "decode", "mtp"};

// Names of options and engines for what a request says with another key.
struct OtherName {
  std::string_view written, key, note;
};
constexpr OtherName kOtherNames[] = {
    {"device", "arch", "a request names the device as `arch`, with its `platform`"},
    {"gpu", "arch", "a request names the device as `arch`, with its `platform`"},
    {"model", "model_family", "a request names the model as `model_family`"},
    {"family", "model_family", "a request names the model as `model_family`"},
    {"dtype", "kv_dtype", "the element type of the KV cache is `kv_dtype`"},
    {"kv_cache_dtype", "kv_dtype", "the element type of the KV cache is `kv_dtype`"},
    {"prefill_backend", "prefill", "a typed backend stands under the name of its phase, `prefill`"},
    {"decode_backend", "decode", "a typed backend stands under the name of its phase, `decode`"},
    {"mtp_backend", "mtp", "a typed backend stands under the name of its phase, `mtp`"},
    {"hisparse", "features", "HiSparse is `hisparse` in the list `features`"},
    {"tp", "heads", "a request says the query heads a rank, `heads`"},
    {"runtime", "runtime_cuda", "the toolkit version is `runtime_cuda` or `runtime_hip`"},
};

tl::unexpected<Diagnostic> wrong(const std::string& key, const Json& found, std::string allowed) {
  return tl::make_unexpected(Diagnostic(Code::E0402)
                                 .with("key", key)
                                 .with("found", json_excerpt(found))
                                 .with("allowed", std::move(allowed)));
}

// Fills a Request from the members of one JSON object.
class RequestReader {
 public:
  RequestReader(const DimensionTable& dims, std::string_view catalog)
      : dims_(dims), catalog_(catalog) {}

  tl::expected<void, Diagnostic> read(const std::string& key, const Json& value) {
    if (key == "phase") return tl::make_unexpected(Diagnostic(Code::E0405));
    if (key == "phases") return read_phases(value);
    if (key == "kv_layout") return read_layout(value);
    if (const auto phase = parse_phase(key)) return read_choice(*phase, value);
    return read_dimension(key, value);
  }

  Request take() { return std::move(request_); }

 private:
  tl::expected<void, Diagnostic> read_phases(const Json& value) {
    const std::string allowed = "a list of prefill, decode, mtp with at least one entry";
    if (!value.is_array() || value.empty()) return wrong("phases", value, allowed);
    request_.prefill = request_.decode = request_.mtp = false;
    for (const Json& entry : value) {
      const auto phase =
          entry.is_string() ? parse_phase(entry.get_ref<const std::string&>()) : std::nullopt;
      if (!phase) return wrong("phases", entry, allowed);
      (*phase == Phase::prefill  ? request_.prefill
       : *phase == Phase::decode ? request_.decode
                                 : request_.mtp) = true;
    }
    return {};
  }

  tl::expected<void, Diagnostic> read_layout(const Json& value) {
    if (value.is_null()) return {};
    if (!value.is_string()) return wrong("kv_layout", value, "the name of a KV row layout");
    request_.kv_layout = value.get<std::string>();
    return {};
  }

  tl::expected<void, Diagnostic> read_choice(Phase phase, const Json& value) {
    if (value.is_null()) return {};
    const std::string key(phase_name(phase));
    if (!value.is_string()) return wrong(key, value, "a backend id or a comma list of ids");
    Typed typed{value.get<std::string>(),
                {fmt::format("\"{}\":\"{}\"", key, value.get<std::string>()), "request"}};
    const auto entries = split_choice(typed, phase);
    if (!entries) return tl::make_unexpected(entries.error());
    request_.choice[index(phase)] = std::move(typed);
    return {};
  }

  tl::expected<void, Diagnostic> read_dimension(const std::string& key, const Json& value) {
    const int dim = dims_.find(key);
    if (dim < 0) return unknown_key(key);
    if (value.is_null()) {
      request_.values[key] = Unknown{};
      return {};
    }
    const DimType type = dims_.at(dim).type;
    auto parsed = parse_value(value, type);
    if (!parsed) return wrong(key, value, parsed.error());
    if (type == DimType::arch) {
      const auto device = device_or_error(std::get<Token>(*parsed));
      if (!device) return tl::make_unexpected(device.error());
    }
    request_.values[key] = std::move(*parsed);
    return {};
  }

  tl::expected<void, Diagnostic> unknown_key(const std::string& key) const {
    std::vector<std::string> known = dims_.names();
    std::erase(known, "phase");
    for (const auto reserved : reserved_request_keys()) known.emplace_back(reserved);
    auto diagnostic =
        Diagnostic(Code::E0401).with("key", key).with("catalog", std::string(catalog_));
    const auto* other = std::ranges::find(kOtherNames, key, &OtherName::written);
    if (other != std::end(kOtherNames)) {
      return tl::make_unexpected(std::move(diagnostic)
                                     .with("nearest", std::string(other->key))
                                     .note(std::string(other->note)));
    }
    if (const auto nearest = nearest_of_all(key, known)) {
      diagnostic = std::move(diagnostic)
                       .with("nearest", *nearest)
                       .note(fmt::format("the nearest name is `{}`", *nearest));
    }
    return tl::make_unexpected(std::move(diagnostic));
  }

  const DimensionTable& dims_;
  std::string_view catalog_;
  Request request_;
};

tl::unexpected<Diagnostic> wrong_policy(const std::string& file, std::string path,
                                        const Json& found, std::string allowed) {
  return tl::make_unexpected(Diagnostic(Code::E0602)
                                 .with("file", file)
                                 .with("path", std::move(path))
                                 .with("found", json_excerpt(found))
                                 .with("allowed", std::move(allowed)));
}

tl::expected<std::vector<std::string>, Diagnostic> policy_list(const Json& list,
                                                               const std::string& key,
                                                               const std::string& file) {
  if (!list.is_array()) return wrong_policy(file, "/" + key, list, "a list of names");
  if (key == "kv_dtype" && list.empty()) {
    return wrong_policy(file, "/" + key, list,
                        "at least one dtype, or no such key: then the default order holds");
  }
  std::vector<std::string> out;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (!list[i].is_string())
      return wrong_policy(file, fmt::format("/{}/{}", key, i), list[i], "a name");
    const auto& name = list[i].get_ref<const std::string&>();
    if (key == "kv_dtype" && (name == "auto" || !is_token(name))) {
      return wrong_policy(file, fmt::format("/{}/{}", key, i), list[i],
                          "the name of a dtype; `auto` is what this list decides");
    }
    out.emplace_back(key == "kv_dtype" ? resolve_alias(name) : std::string_view(name));
  }
  return out;
}

tl::expected<std::vector<Deny>, Diagnostic> policy_deny(const Json& list, const std::string& file) {
  if (!list.is_array()) return wrong_policy(file, "/deny", list, "a list of ids");
  std::vector<Deny> out;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Json& entry = list[i];
    if (entry.is_string()) {
      out.push_back({entry.get<std::string>(), "listed under deny in " + file});
    } else if (entry.is_object() && entry.contains("id") && entry["id"].is_string() &&
               (!entry.contains("reason") || entry["reason"].is_string())) {
      out.push_back(
          {entry["id"].get<std::string>(), entry.value("reason", "listed under deny in " + file)});
    } else {
      return wrong_policy(file, fmt::format("/deny/{}", i), entry, R"(an id or {"id","reason"})");
    }
  }
  return out;
}

}  // namespace

std::string_view phase_name(Phase phase) {
  return kPhaseNames[index(phase)];
}

std::optional<Phase> parse_phase(std::string_view name) {
  for (const Phase phase : kPhases) {
    if (phase_name(phase) == name) return phase;
  }
  return std::nullopt;
}

std::array<bool, 3> Request::phases() const {
  return {prefill || choice[0].has_value(), decode || choice[1].has_value(),
          mtp || choice[2].has_value()};
}

std::optional<Diagnostic> device_contradiction(const Request& request) {
  const auto token_of = [&](const char* dim) -> const Token* {
    const auto found = request.values.find(dim);
    return found == request.values.end() ? nullptr : std::get_if<Token>(&found->second);
  };
  const Token* platform = token_of("platform");
  const Token* arch = token_of("arch");
  const KnownDevice* device = arch ? find_device(*arch) : nullptr;
  if (!platform || !device || device->platform == *platform) return std::nullopt;
  Diagnostic out = Diagnostic(Code::E0408)
                       .with("platform", *platform)
                       .with("arch", *arch)
                       .with("allowed", std::string(device->platform));
  for (const char* dim : {"platform", "arch"}) {
    const auto origin = request.origins.find(dim);
    if (origin == request.origins.end() || origin->second.text.empty()) continue;
    if (std::ranges::find(out.origins, origin->second) == out.origins.end()) {
      out.origins.push_back(origin->second);
    }
  }
  std::string on_platform;
  for (const KnownDevice& other : known_devices()) {
    if (other.platform != *platform) continue;
    on_platform += fmt::format("{}`{}`", on_platform.empty() ? "" : ", ", other.name);
  }
  out.notes.push_back(fmt::format("`{}` is a device of platform {}", *arch, device->platform));
  out.notes.push_back(on_platform.empty()
                          ? fmt::format("no device of platform {} is known: leave arch unknown "
                                        "(null) to ask about it",
                                        *platform)
                          : fmt::format("devices of platform {}: {}", *platform, on_platform));
  return out;
}

tl::expected<std::vector<std::string>, Diagnostic> split_choice(const Typed& typed, Phase phase) {
  const auto refuse = [&](std::string reason) {
    return tl::make_unexpected(Diagnostic(Code::E0204)
                                   .with("text", typed.text)
                                   .with("phase", std::string(phase_name(phase)))
                                   .with("reason", std::move(reason))
                                   .from(typed.origin));
  };
  std::vector<std::string> entries;
  std::size_t start = 0;
  while (true) {
    const std::size_t comma = typed.text.find(',', start);
    std::string entry =
        typed.text.substr(start, comma == std::string::npos ? comma : comma - start);
    if (entry.empty()) return refuse(typed.text.empty() ? "it is empty" : "it has an empty entry");
    if (!entries.empty() && entries.back() == "auto") return refuse("`auto` must come last");
    entries.push_back(std::move(entry));
    if (comma == std::string::npos) return entries;
    start = comma + 1;
  }
}

tl::expected<Request, Diagnostic> parse_request(std::string_view json, const DimensionTable& dims,
                                                std::string_view catalog) {
  const auto parsed = parse_strict_json(json);
  if (!parsed) return tl::make_unexpected(Diagnostic(Code::E0404).with("reason", parsed.error()));
  if (!parsed->is_object()) {
    return tl::make_unexpected(Diagnostic(Code::E0404).with("reason", "it is not an object"));
  }
  RequestReader reader(dims, catalog);
  for (const auto& [key, value] : parsed->items()) {
    if (const auto read = reader.read(key, value); !read) return tl::make_unexpected(read.error());
  }
  return reader.take();
}

tl::expected<Policy, Diagnostic> parse_policy(std::string_view json, const std::string& file) {
  const auto parsed = parse_strict_json(json);
  if (!parsed)
    return tl::make_unexpected(
        Diagnostic(Code::E0106).with("file", file).with("reason", parsed.error()));
  if (!parsed->is_object()) return wrong_policy(file, "/", *parsed, "an object");
  Policy policy;
  for (const auto& [key, value] : parsed->items()) {
    if (key == "prefer" || key == "kv_dtype") {
      auto list = policy_list(value, key, file);
      if (!list) return tl::make_unexpected(list.error());
      if (key == "prefer") {
        policy.prefer = std::move(*list);
      } else {
        policy.kv_dtype = std::move(*list);
      }
    } else if (key == "deny") {
      auto deny = policy_deny(value, file);
      if (!deny) return tl::make_unexpected(deny.error());
      policy.deny = std::move(*deny);
    } else {
      return wrong_policy(file, "/" + key, Json(key), "prefer, deny, kv_dtype");
    }
  }
  return policy;
}

}  // namespace dsakit
