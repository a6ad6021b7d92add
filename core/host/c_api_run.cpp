// The run-time half of the C API: sessions, instances and the calls into plugins.
#include <string>

#include "diag/render.hpp"
#include "dsakit/dsakit.h"
#include "host/c_api.hpp"
#include "host/runtime.hpp"

struct dsakit_session {
  dsakit::LoadedSession loaded;
};

namespace {

using namespace dsakit;
using namespace dsakit::c_api;

static_assert(sizeof(dsakit_attention_options) == DSAKIT_ATTENTION_OPTIONS_SIZE_V1);

// An instance's handle is the instance.
Attention* instance(dsakit_attention* attention) {
  return reinterpret_cast<Attention*>(attention);
}
const Attention* instance(const dsakit_attention* attention) {
  return reinterpret_cast<const Attention*>(attention);
}

dsakit_rc no_instance(dsakit_error* error) {
  return fill_error(error, DSAKIT_RC_INVALID, "the instance is null");
}

tl::expected<InstanceOptions, Diagnostic> read_options(const dsakit_attention_options* from) {
  const auto wrong = [](const char* key, std::int64_t found, const char* allowed) {
    return tl::make_unexpected(Diagnostic(Code::E0402)
                                   .with("key", std::string(key))
                                   .with("found", std::to_string(found))
                                   .with("allowed", std::string(allowed)));
  };
  if (!from) return InstanceOptions{};
  if (from->size < DSAKIT_ATTENTION_OPTIONS_SIZE_V1)
    return wrong("options.size", from->size, "the size of dsakit_attention_options");
  InstanceOptions options;
  options.device_id = from->device_id;
  options.sm_count = from->sm_count;
  options.max_tokens = from->max_tokens;
  options.topk2 = from->topk2;
  options.page_size2 = from->page_size2;
  if (from->max_tokens < 0) return wrong("max_tokens", from->max_tokens, "0 or more");
  if (from->sm_count < 0) return wrong("sm_count", from->sm_count, "0 or more");
  return options;
}

}  // namespace

extern "C" {

dsakit_status dsakit_session_open(const dsakit_catalog* catalog, const char* request_json,
                                  const char* policy_json, dsakit_session** session,
                                  char** answer_json) {
  if (session) *session = nullptr;
  return guarded(answer_json, [&]() -> dsakit_status {
    if (!catalog || !request_json || !session) {
      return give_error(
          "",
          Diagnostic(Code::E0404).with("reason", std::string("no catalogue, no text or no result")),
          answer_json);
    }
    const Advisor& advisor = catalog->advisor;
    const std::string& name = advisor.catalog().name();
    auto policy = policy_json ? parse_policy(policy_json, "policy argument")
                              : tl::expected<Policy, Diagnostic>(advisor.options().user.policy);
    if (!policy) return give_error(name, std::move(policy.error()), answer_json);
    auto request = parse_request(request_json, advisor.catalog().solver().dimensions(), name);
    if (!request) return give_error(name, std::move(request.error()), answer_json);
    const Answer answer = advisor.resolve(*request, *policy);
    if (!answer.ok()) return give_answer(answer, answer_json);
    auto loaded = LoadedSession::load(advisor.catalog(), *request, answer);
    if (!loaded) return give_failure(name, std::move(loaded.error()), answer_json);
    *session = new dsakit_session{std::move(*loaded)};
    return give_answer(answer, answer_json);
  });
}

void dsakit_session_close(dsakit_session* session) {
  delete session;
}

dsakit_status dsakit_attention_create(const dsakit_session* session, const char* phase,
                                      const dsakit_attention_options* options,
                                      dsakit_attention** attention, char** error_json) {
  if (attention) *attention = nullptr;
  return guarded(error_json, [&]() -> dsakit_status {
    const auto refuse = [&](const Diagnostic& diagnostic) {
      give(error_json, render_json(diagnostic));
      return code(status_of(diagnostic));
    };
    const auto known = phase ? parse_phase(phase) : std::nullopt;
    if (!session || !attention || !known) {
      return refuse(
          Diagnostic(Code::E0711).with("phase", std::string(phase ? phase : "(no phase)")));
    }
    const auto read = read_options(options);
    if (!read) return refuse(read.error());
    auto made = session->loaded.create(*known, *read);
    if (!made) return refuse(made.error());
    *attention = reinterpret_cast<dsakit_attention*>(made->release());
    return DSAKIT_OK;
  });
}

void dsakit_attention_destroy(dsakit_attention* attention) {
  delete instance(attention);
}

const dsakit_config* dsakit_attention_config(const dsakit_attention* attention) {
  return attention ? &instance(attention)->config() : nullptr;
}

dsakit_rc dsakit_attention_workspace(const dsakit_attention* attention, int64_t tokens,
                                     dsakit_workspace* workspace, dsakit_error* error) {
  if (!attention) return no_instance(error);
  return instance(attention)->workspace(tokens, workspace, error);
}

dsakit_rc dsakit_attention_prepare(dsakit_attention* attention, const dsakit_run_args* args,
                                   dsakit_error* error) {
  return attention ? instance(attention)->prepare(args, error) : no_instance(error);
}

dsakit_rc dsakit_attention_run(dsakit_attention* attention, const dsakit_run_args* args,
                               dsakit_error* error) {
  return attention ? instance(attention)->run(args, error) : no_instance(error);
}

dsakit_rc dsakit_attention_append(dsakit_attention* attention, const dsakit_kv_args* args,
                                  dsakit_error* error) {
  return attention ? instance(attention)->append(args, error) : no_instance(error);
}

dsakit_rc dsakit_attention_dequant(dsakit_attention* attention, const dsakit_kv_args* args,
                                   dsakit_error* error) {
  return attention ? instance(attention)->dequant(args, error) : no_instance(error);
}

}  // extern "C"
