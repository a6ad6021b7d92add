// Times a shape on the cpu, by the clock of the host, over a pool of random keys. One thread.
#pragma once

#include "bench/line.hpp"
#include "run/job.hpp"

namespace dsakit::cli {

// Repeats the call for `seconds`. E0804, E0805; throws std::bad_alloc.
tl::expected<void, Diagnostic> measure_on_cpu(JobRunners& runners, double seconds,
                                              std::uint64_t seed, BenchLine& line);

}  // namespace dsakit::cli
