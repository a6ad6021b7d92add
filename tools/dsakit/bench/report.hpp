// The result of a bench, for people and for machines. Pure.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "bench/line.hpp"

namespace dsakit::cli {

// Tables. On a GPU also the session, its ceilings beside the baseline's, and how the rules of
// suites came out.
std::string bench_text(const BenchReport& report);

// On the cpu a list of lines; on a GPU an object of the session with its lines, every sample
// included.
nlohmann::ordered_json bench_json(const BenchReport& report);

// "decode, 128 heads, 64 tokens, topk 2048 of 131072 rows": a shape in words.
std::string shape_text(const BenchShape& shape);

// Why shapes were not timed, a line each; empty if all were.
std::string refusals_text(const std::vector<BenchLine>& lines);

}  // namespace dsakit::cli
