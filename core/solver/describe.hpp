// Words for rows and values in the evidence lines of a rejection. Private to solver/. Pure; any
// thread.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "solver/query.hpp"

namespace dsakit {

// Built-in dimensions in the table's order, then declared ones by name: reports must not depend on
// the order of files.
std::vector<int> dimension_order(const DimensionTable& dims);

// The unmet conditions of a row in a phase as one line: "arch accepts sm_100, sm_103; kv_dtype
// accepts bf16".
std::string describe_fails(const Query& query, const Evaluated& evaluated, int row, Phase phase);

// The request's values of the dimensions that `rows` fail on: "arch = sm_120   kv_dtype =
// fp8_e4m3".
std::string describe_request(const Query& query, const Evaluated& evaluated,
                             std::span<const int> rows);

// Facts that explain an arch mismatch: "sm_100 and sm_120 have different major versions, …"; may be
// empty.
std::string arch_note(const Query& query, const Evaluated& evaluated, std::span<const int> rows);

// What a person would say is unsupported, from a row's first unmet condition: GPU, model, KV dtype,
// request.
std::string subject_of_fails(const Query& query, const Evaluated& evaluated, int row);

// "prefill `a` with decode `b`".
std::string describe_session(const Session& session);

// "prefill+decode".
std::string describe_phases(const std::array<bool, 3>& phases);

// Ids in backquotes, joined by commas.
std::string quoted_list(std::span<const std::string> ids);

}  // namespace dsakit
