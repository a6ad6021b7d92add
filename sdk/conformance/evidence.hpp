// A report as evidence records (core/manifest/evidence.hpp): one for each device of this machine
// that rows ran on.
//
// Invariants: only checks that ran and passed are in a record; a row stands in the record of the
// device that the kit used for it. Pure; any thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "device/detect.hpp"
#include "diag/diagnostic.hpp"
#include "manifest/evidence.hpp"
#include "sdk/conformance/runner.hpp"

namespace dsakit::conformance {

// E0121 if no record can be about this build, whatever the kit finds.
std::optional<Diagnostic> why_no_record(const Manifest& manifest);

// A record of a build on a device, with neither part.
EvidenceRecord start_record(const Manifest& manifest, const DetectedDevice& device,
                            const std::string& date);

// `devices` in the order of detect_devices(); `date` as 2026-11-30. E0121 if a check failed, or if
// no row ran.
tl::expected<std::vector<EvidenceRecord>, Diagnostic> evidence_of(
    const Report& report, std::span<const DetectedDevice> devices, const std::string& date);

// "cpu/intel-xeon-platinum.json": where the record stands below evidence/.
std::string evidence_file(const EvidenceRecord& record);

}  // namespace dsakit::conformance
