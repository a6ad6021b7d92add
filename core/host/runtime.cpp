#include "host/runtime.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdio>

#include <fmt/format.h>

#include "loader/loader.hpp"

namespace dsakit {
namespace {

// No workspace is larger: the largest that fits an address space.
constexpr std::uint64_t kMaxWorkspace = std::uint64_t{1} << 47;

constexpr const char* kThrew = "the plugin threw an exception";

// Calls into a plugin; a number that plugin_abi.h does not define is a defect.
template <class Call>
dsakit_rc enter(dsakit_error* error, Call call) noexcept {
  try {
    const dsakit_rc rc = call();
    if (rc >= DSAKIT_RC_OK && rc <= DSAKIT_RC_INTERNAL) return rc;
    return fill_error(error, DSAKIT_RC_INTERNAL,
                      "the plugin answered with a number that means nothing");
  } catch (...) {
    return fill_error(error, DSAKIT_RC_INTERNAL, kThrew);
  }
}

const char* workspace_defect(const dsakit_workspace& answer) {
  if (!std::has_single_bit(answer.alignment)) return "its alignment is not a power of two";
  if (answer.bytes > kMaxWorkspace) return "it is larger than any memory";
  if (answer.zero_bytes > answer.bytes) return "more bytes must be zero than there are";
  return nullptr;
}

std::string reason_of(dsakit_error& error, dsakit_rc rc) {
  error.text[sizeof(error.text) - 1] = '\0';
  if (error.text[0] == '\0') return fmt::format("it answered {} and gave no reason", rc);
  if (error.domain == DSAKIT_DOMAIN_RC) return error.text;
  return fmt::format("{} (number {})", error.text, error.code);
}

std::string_view platform_of(const Request& request) {
  const auto found = request.values.find("platform");
  const auto* token = found == request.values.end() ? nullptr : std::get_if<Token>(&found->second);
  return token ? std::string_view(*token) : "the";
}

}  // namespace

dsakit_rc fill_error(dsakit_error* error, dsakit_rc rc, const char* text) noexcept {
  if (!error || error->size < DSAKIT_ERROR_SIZE_V1) return rc;
  error->code = rc;
  error->domain = DSAKIT_DOMAIN_RC;
  const std::size_t known = std::min<std::size_t>(error->size, sizeof(dsakit_error));
  const std::size_t room = known - offsetof(dsakit_error, text);
  if (room > 0) std::snprintf(error->text, room, "%s", text);
  return rc;
}

Attention::~Attention() {
  try {
    if (instance_) plugin_.destroy(instance_);
  } catch (...) {
    instance_ = nullptr;  // it is lost, and the contract says that it cannot happen
  }
}

dsakit_rc Attention::workspace(std::int64_t tokens, dsakit_workspace* answer,
                               dsakit_error* error) const noexcept {
  if (!answer || answer->size < DSAKIT_WORKSPACE_SIZE_V1)
    return fill_error(error, DSAKIT_RC_INVALID,
                      "there is no workspace struct, or its size is too small");
  const dsakit_rc rc =
      enter(error, [&] { return plugin_.workspace(instance_, tokens, answer, error); });
  if (rc != DSAKIT_RC_OK) return rc;
  const char* defect = workspace_defect(*answer);
  return defect ? fill_error(error, DSAKIT_RC_INTERNAL, defect) : rc;
}

dsakit_rc Attention::prepare(const dsakit_run_args* args, dsakit_error* error) noexcept {
  if (!DSAKIT_HAS_FUNCTION(&plugin_, prepare)) return DSAKIT_RC_OK;
  return enter(error, [&] { return plugin_.prepare(instance_, args, error); });
}

dsakit_rc Attention::run(const dsakit_run_args* args, dsakit_error* error) noexcept {
  return enter(error, [&] { return plugin_.run(instance_, args, error); });
}

bool Attention::can_append() const {
  return DSAKIT_HAS_FUNCTION(&plugin_, kv_append);
}

bool Attention::can_dequant() const {
  return DSAKIT_HAS_FUNCTION(&plugin_, kv_dequant);
}

dsakit_rc Attention::append(const dsakit_kv_args* args, dsakit_error* error) noexcept {
  if (!can_append()) return fill_error(error, DSAKIT_RC_UNSUPPORTED, "the plugin has no kv_append");
  return enter(error, [&] { return plugin_.kv_append(instance_, args, error); });
}

dsakit_rc Attention::dequant(const dsakit_kv_args* args, dsakit_error* error) noexcept {
  if (!can_dequant())
    return fill_error(error, DSAKIT_RC_UNSUPPORTED, "the plugin has no kv_dequant");
  return enter(error, [&] { return plugin_.kv_dequant(instance_, args, error); });
}

tl::expected<LoadedSession, Diagnostic> LoadedSession::load(const Catalog& catalog,
                                                            const Request& request,
                                                            const Answer& answer) {
  LoadedSession loaded(request, catalog.solver().dimensions());
  loaded.session_ = answer.session;
  if (!answer.kv_dtype.empty()) loaded.request_.values["kv_dtype"] = Token(answer.kv_dtype);
  for (const Phase phase : kPhases) {
    const std::string& id = answer.session.backend[index(phase)];
    if (id.empty()) continue;
    const CatalogEntry* entry = catalog.find(id);
    if (!entry) {
      return tl::make_unexpected(
          Diagnostic(Code::E0201).with("backend", id).with("catalog", catalog.name()));
    }
    const auto plugin = load_plugin(*entry);
    if (!plugin) return tl::make_unexpected(plugin.error());
    Part& part = loaded.parts_[index(phase)];
    part.plugin = *plugin;
    part.manifest = entry->manifest;
    const auto& rows = entry->manifest->rows;
    const auto row = std::ranges::find(rows, answer.session.row[index(phase)], &Row::name);
    if (row != rows.end()) part.row = &*row;
  }
  return loaded;
}

tl::expected<std::unique_ptr<Attention>, Diagnostic> LoadedSession::create(
    Phase phase, const InstanceOptions& options) const {
  const Part& part = parts_[index(phase)];
  if (!part.row) {
    return tl::make_unexpected(
        Diagnostic(Code::E0711).with("phase", std::string(phase_name(phase))));
  }
  auto config = InstanceConfig::make(request_, *part.manifest, *part.row, dims_, phase, options);
  if (!config) return tl::make_unexpected(std::move(config.error()));
  std::unique_ptr<Attention> made(new Attention(*part.plugin, std::move(*config)));
  const auto refuse = [&](Code code, std::string reason) {
    return tl::make_unexpected(Diagnostic(code)
                                   .with("backend", part.manifest->id)
                                   .with("row", part.row->name)
                                   .with("phase", std::string(phase_name(phase)))
                                   .with("platform", std::string(platform_of(request_)))
                                   .with("device", std::to_string(options.device_id))
                                   .with("reason", std::move(reason)));
  };
  dsakit_error error{};
  error.size = sizeof(error);
  dsakit_rc rc = enter(&error, [&] {
    const dsakit_config& own = made->config();
    const dsakit_rc probed = part.plugin->probe(own.device_type, own.device_id, &error);
    if (probed != DSAKIT_RC_OK) return probed;
    return part.plugin->create(&own, &made->instance_, &error);
  });
  if (rc == DSAKIT_RC_OK && !made->instance_)
    return refuse(Code::E0713, "create answered OK without an instance");
  if (rc == DSAKIT_RC_OK) {
    dsakit_workspace most{};
    most.size = sizeof(most);
    rc = made->workspace(options.max_tokens, &most, &error);
    if (rc == DSAKIT_RC_OK) return made;
    return refuse(Code::E0713, fmt::format("workspace: {}", reason_of(error, rc)));
  }
  made->instance_ = nullptr;
  switch (rc) {
    case DSAKIT_RC_NO_DEVICE:
      return refuse(Code::E0708, reason_of(error, rc));
    case DSAKIT_RC_INVALID:
    case DSAKIT_RC_UNSUPPORTED:
      return refuse(Code::E0709, reason_of(error, rc));
    case DSAKIT_RC_INTERNAL:
      return refuse(Code::E0713, reason_of(error, rc));
    default:
      return refuse(Code::E0712, reason_of(error, rc));
  }
}

}  // namespace dsakit
