// The entry point of plugins that are read and never used: it answers that no version is common.
#include "dsakit/plugin_abi.h"

extern "C" __attribute__((visibility("default"))) const dsakit_plugin* dsakit_plugin_entry_v1(
    const dsakit_host*) {
  return nullptr;
}
