// The entry point of a plugin that is read and never used.
#include "dsakit/plugin_abi.h"

extern "C" __attribute__((visibility("default"))) const dsakit_plugin* dsakit_plugin_entry_v1(
    const dsakit_host*) {
  return nullptr;
}
