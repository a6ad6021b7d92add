// One plugin in many builds: correct, or wrong in the one way that its VARIANT names.
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

dsakit_rc probe(std::int32_t, std::int32_t, dsakit_error*) {
  return DSAKIT_RC_OK;
}

dsakit_rc create(const dsakit_config*, dsakit_instance** instance, dsakit_error*) {
  *instance = nullptr;
  return DSAKIT_RC_UNSUPPORTED;
}

dsakit_rc workspace(const dsakit_instance*, std::int64_t, dsakit_workspace*, dsakit_error*) {
  return DSAKIT_RC_INTERNAL;
}

dsakit_rc run(dsakit_instance*, const dsakit_run_args*, dsakit_error*) {
  return DSAKIT_RC_INTERNAL;
}

void destroy(dsakit_instance*) {}

// A table of a later version: more fields than this host knows.
struct LongerTable {
  dsakit_plugin known;
  std::uint64_t later[4];
};

LongerTable make_table() {
  LongerTable table{};
  dsakit_plugin& plugin = table.known;
  plugin.size = sizeof(dsakit_plugin);
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

  static constexpr char kOther[] = "{}";
  if (is("newer_table")) plugin.size = sizeof(LongerTable);
  if (is("older_table")) plugin.size = DSAKIT_PLUGIN_SIZE_V1 - 8;
  if (is("size_zero")) plugin.size = 0;
  if (is("other_abi")) plugin.abi = 2;
  if (is("null_run")) plugin.run = nullptr;
  if (is("other_id")) plugin.id = "somebody_else";
  if (is("other_version")) plugin.version[2] = 9;
  if (is("nonsense_size")) plugin.manifest_size = ~std::uint64_t{0};
  if (is("other_manifest")) {
    plugin.manifest = kOther;
    plugin.manifest_size = sizeof(kOther) - 1;
  }
  return table;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const dsakit_plugin* dsakit_plugin_entry_v1(
    const dsakit_host* host) {
  if (is("throws")) throw std::runtime_error("thrown by the entry");
  if (is("refuses")) {
    std::strcpy(host->error->text, "this machine has no left-handed GPU");
    return nullptr;
  }
  if (is("refuses_silently")) return nullptr;
  static const LongerTable table = make_table();
  return &table.known;
}
