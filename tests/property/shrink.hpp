// Reduces a failing case: drops manifests, rows, predicates, request and policy keys as long as it
// still fails. Not thread-safe.
#pragma once

#include <functional>

namespace dsakit::property {

struct Case;

// The smallest case reached by greedy removal for which `fails` is still true. `fails(start)` must
// be true.
Case shrink(const Case& start, const std::function<bool(const Case&)>& fails);

}  // namespace dsakit::property
