// Times on a GPU beside a baseline and a bound, as text and JSON. Pure.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "bench/line.hpp"

namespace dsakit::cli {

std::string gpu_text(const BenchReport& report);
nlohmann::ordered_json gpu_json(const BenchReport& report);

// What both reports, evidence and picture call a ceiling check.
nlohmann::ordered_json ceilings_json(const BenchReport& report);
nlohmann::ordered_json clock_json(const BenchSession& session);

}  // namespace dsakit::cli
