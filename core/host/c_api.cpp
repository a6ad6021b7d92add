#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "device/model_config.hpp"
#include "diag/render.hpp"
#include "dsakit/dsakit.h"
#include "host/advisor.hpp"
#include "host/c_api.hpp"
#include "host/request_json.hpp"
#include "host/status.hpp"

namespace {

using namespace dsakit;
using namespace dsakit::c_api;

static_assert(DSAKIT_OK == static_cast<int>(Status::yes));
static_assert(DSAKIT_REJECTED == static_cast<int>(Status::no));
static_assert(DSAKIT_INVALID == static_cast<int>(Status::invalid));
static_assert(DSAKIT_ENVIRONMENT == static_cast<int>(Status::environment));

// What the three questions share: the handle, the policy and its errors.
template <typename Ask>
dsakit_status ask(const dsakit_catalog* catalog, const char* request, const char* policy_json,
                  char** out, Ask question) noexcept {
  return guarded(out, [&]() -> dsakit_status {
    if (!catalog || !request) {
      return give_error(
          "", Diagnostic(Code::E0404).with("reason", std::string("no catalogue or no text")), out);
    }
    const Advisor& advisor = catalog->advisor;
    if (!policy_json) return question(advisor, request, advisor.options().user.policy);
    const auto policy = parse_policy(policy_json, "policy argument");
    if (!policy) return give_error(advisor.catalog().name(), policy.error(), out);
    return question(advisor, request, *policy);
  });
}

}  // namespace

extern "C" {

const char* dsakit_version(void) {
  return DSAKIT_VERSION;
}

dsakit_status dsakit_catalog_open(const char* name, const char* const* plugin_dirs,
                                  size_t plugin_dir_count, dsakit_catalog** catalog,
                                  char** error_json) {
  if (catalog) *catalog = nullptr;
  return guarded(error_json, [&]() -> dsakit_status {
    if (!catalog) return DSAKIT_INVALID;
    AdvisorOptions options;
    if (name) options.catalog = name;
    for (size_t i = 0; plugin_dirs && i < plugin_dir_count; ++i) {
      if (plugin_dirs[i]) options.plugin_dirs.emplace_back(plugin_dirs[i]);
    }
    options.environment = read_environment();
    auto user = read_user_config(options.environment);
    tl::expected<Advisor, Diagnostic> advisor =
        user ? Advisor::open((options.user = std::move(*user), std::move(options)))
             : tl::expected<Advisor, Diagnostic>(tl::unexpected(std::move(user.error())));
    if (!advisor) {
      give(error_json, render_json(advisor.error()));
      return code(status_of(advisor.error()));
    }
    *catalog = new dsakit_catalog{std::move(*advisor)};
    return DSAKIT_OK;
  });
}

void dsakit_catalog_close(dsakit_catalog* catalog) {
  delete catalog;
}

dsakit_status dsakit_resolve(const dsakit_catalog* catalog, const char* request_json,
                             const char* policy_json, char** answer_json) {
  return ask(catalog, request_json, policy_json, answer_json,
             [&](const Advisor& advisor, const char* request, const Policy& policy) {
               return give_answer(advisor.resolve_text(request, policy), answer_json);
             });
}

dsakit_status dsakit_validate(const dsakit_catalog* catalog, const char* request_json,
                              const char* policy_json, char** answer_json) {
  return ask(catalog, request_json, policy_json, answer_json,
             [&](const Advisor& advisor, const char* request, const Policy& policy) {
               return give_answer(advisor.validate_text(request, policy), answer_json);
             });
}

dsakit_status dsakit_explain(const dsakit_catalog* catalog, const char* request_json,
                             const char* policy_json, char** answer_json) {
  return ask(catalog, request_json, policy_json, answer_json,
             [&](const Advisor& advisor, const char* request, const Policy& policy) {
               const auto [verdict, json] = advisor.explain_text(request, policy);
               give(answer_json, json);
               return code(status_of(verdict));
             });
}

dsakit_status dsakit_request_from_config(const char* config_path, const char* options_json,
                                         char** request_json) {
  return guarded(request_json, [&]() -> dsakit_status {
    if (!config_path) {
      return give_failure("",
                          Diagnostic(Code::E0501)
                              .with("file", std::string())
                              .with("reason", std::string("no path was given")),
                          request_json);
    }
    const auto options = parse_request_options(options_json ? options_json : "{}");
    if (!options) return give_failure("", options.error(), request_json);
    const auto model = read_model_config(config_path, options->family);
    if (!model) return give_failure("", model.error(), request_json);
    const auto request = make_request(*model, options->request);
    if (!request) return give_failure("", request.error(), request_json);
    give(request_json, request_json_text(*request));
    return DSAKIT_OK;
  });
}

void dsakit_string_free(char* text) {
  std::free(text);
}

}  // extern "C"
