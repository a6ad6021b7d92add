// Independent items over the machine's cores; the calling thread works too and reports progress.
#pragma once

#include <cstdint>
#include <functional>

#include "run/progress.hpp"

namespace dsakit::cli {

// Calls body(i) once for each i in [0, count), on `threads` threads (0: one a core). `body` must
// not throw.
void parallel_for(std::int64_t count, int threads, Progress& progress,
                  const std::function<void(std::int64_t)>& body);

}  // namespace dsakit::cli
