// Why rows that serve one by one share no session (R7), as diagnostics: layouts or other shared
// values that differ (E0305), declared conflicts (E0306), conditions without a common value
// (E0307). Private to solver/. Pure; any thread.
#pragma once

#include <optional>
#include <vector>

#include "solver/query.hpp"

namespace dsakit {

// Rows by backend id, then row name: reports must not depend on the order of files.
std::vector<int> by_name(const Query& query, std::vector<int> rows);

// The clash of the first pair if every pair of rows clashes; nothing otherwise.
std::optional<Diagnostic> clash_between(const Query& query, Phase a, const std::vector<int>& rows_a,
                                        Phase b, const std::vector<int>& rows_b);

// Why a backend that serves each requested phase by itself is in no session.
std::optional<Diagnostic> clash_of_backend(const Query& query, const CompiledBackend& backend);

}  // namespace dsakit
