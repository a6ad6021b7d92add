// The extension dsakit/hip_lists.h of the HIP plugins. Any thread.
#pragma once

#include "dsakit/hip_lists.h"

namespace dsakit::hip {

// The table for DSAKIT_HIP_LISTS; null for every other name.
const void* lists_extension(const char* id);

}  // namespace dsakit::hip
