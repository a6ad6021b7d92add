/* The ABI header alone must compile as C11. */
#include "dsakit/plugin_abi.h"

uint32_t dsakit_abi_version_seen_by_c(void);
uint32_t dsakit_abi_version_seen_by_c(void) {
  return DSAKIT_ABI_VERSION;
}
