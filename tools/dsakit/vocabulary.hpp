// What may be typed where: backends, devices, dtypes, features, families, for help texts. Derived
// from the catalogue and the tables of core at the moment of asking; there is no second list. One
// thread.
#pragma once

#include <string>
#include <vector>

#include "catalog/catalog.hpp"
#include "command.hpp"

namespace dsakit::cli {

// Tokens that rows of the catalogue name for a dimension (lists, subsets, includes), sorted, each
// once.
std::vector<std::string> declared_values(const Catalog& catalog, const std::string& dim);

// The vocabulary of the chosen catalogue, to follow a command's options in its help.
std::string vocabulary(const Cli& cli);

}  // namespace dsakit::cli
