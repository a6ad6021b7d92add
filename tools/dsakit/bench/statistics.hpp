// Median and spread of samples. Pure; any thread.
#pragma once

#include <vector>

namespace dsakit::cli {

// Between the sorted values, linearly; `share` from 0 to 1. Requires a value.
double quantile(std::vector<double> values, double share);

struct Spread {
  double median = 0, p10 = 0, p90 = 0;
};
Spread spread_of(const std::vector<double>& values);

}  // namespace dsakit::cli
