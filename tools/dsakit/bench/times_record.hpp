// The times of a bench as evidence (docs/evidence.md): the part of a record that is bench's own.
#pragma once

#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "bench/line.hpp"
#include "catalog/catalog.hpp"
#include "diag/diagnostic.hpp"
#include "manifest/evidence.hpp"

namespace dsakit::cli {

// What a record holds of one backend's lines on the GPU.
MeasuredTimes times_of(const BenchReport& report, const std::string& backend);

// Writes the record of each backend that was timed on a GPU below `folder`; answers the files.
// E0121: nothing was timed, a ceiling makes the run void, or the build can have no record; E0803.
tl::expected<std::vector<std::string>, Diagnostic> write_times(const BenchReport& report,
                                                               const Catalog& catalog,
                                                               const std::string& folder);

}  // namespace dsakit::cli
