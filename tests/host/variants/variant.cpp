// One plugin in many builds: it runs and computes nothing, or it misbehaves in the one way that its
// VARIANT names.
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "dsakit/plugin_abi.h"

extern "C" {
extern const char dsakit_manifest_json[];
extern const std::uint64_t dsakit_manifest_json_size;
}

namespace {

bool is(const char* variant) {
  return std::strcmp(VARIANT, variant) == 0;
}

dsakit_rc answer(dsakit_error* error, dsakit_rc rc, const char* text) {
  if (error) std::snprintf(error->text, sizeof(error->text), "%s", text);
  return rc;
}

dsakit_rc probe(std::int32_t, std::int32_t, dsakit_error* error) {
  return is("no_device") ? answer(error, DSAKIT_RC_NO_DEVICE, "no left-handed device")
                         : DSAKIT_RC_OK;
}

dsakit_rc create(const dsakit_config* config, dsakit_instance** instance, dsakit_error* error) {
  static int something = 0;
  if (is("create_throws")) throw std::runtime_error("from create");
  if (is("refuses")) return answer(error, DSAKIT_RC_UNSUPPORTED, "not on a Monday");
  if (is("no_memory")) return answer(error, DSAKIT_RC_MEMORY, "too little memory");
  if (is("odd_number")) return 77;
  if (config->size < DSAKIT_CONFIG_SIZE_V1) return DSAKIT_RC_ABI;
  *instance = is("no_instance") ? nullptr : reinterpret_cast<dsakit_instance*>(&something);
  return DSAKIT_RC_OK;
}

dsakit_rc workspace(const dsakit_instance*, std::int64_t tokens, dsakit_workspace* workspace,
                    dsakit_error*) {
  workspace->alignment = is("odd_alignment") ? 3 : 64;
  workspace->bytes = is("huge_workspace") ? ~std::uint64_t{0} : static_cast<std::uint64_t>(tokens);
  workspace->zero_bytes = is("zeroes_more") ? workspace->bytes + 1 : 0;
  return DSAKIT_RC_OK;
}

dsakit_rc run(dsakit_instance*, const dsakit_run_args*, dsakit_error*) {
  if (is("run_throws")) throw 7;
  if (is("run_odd_number")) return -5;
  return DSAKIT_RC_OK;
}

void destroy(dsakit_instance*) {}

dsakit_plugin make_table() {
  dsakit_plugin plugin{};
  plugin.size = sizeof(plugin);
  plugin.abi = 1;
  plugin.id = VARIANT_ID;
  plugin.version[0] = 1;
  plugin.manifest = dsakit_manifest_json;
  plugin.manifest_size = dsakit_manifest_json_size;
  plugin.probe = probe;
  plugin.create = create;
  plugin.workspace = workspace;
  plugin.run = run;
  plugin.destroy = destroy;
  return plugin;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const dsakit_plugin* dsakit_plugin_entry_v1(
    const dsakit_host*) {
  static const dsakit_plugin table = make_table();
  return &table;
}
