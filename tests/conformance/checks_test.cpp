// The list of checks: names, order, and a line for each in the documentation.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>

#include "sdk/conformance/check.hpp"

namespace dsakit::conformance {
namespace {

TEST(Checks, HaveUniqueNamesInTheOrderOfTheirLevels) {
  const std::vector<Check> checks = all_checks();
  std::set<std::string> names;
  for (const Check& check : checks) EXPECT_TRUE(names.insert(check.name).second) << check.name;
  EXPECT_TRUE(std::ranges::is_sorted(checks, {}, &Check::level));
}

TEST(Checks, EachIsInTheDocumentation) {
  std::ifstream in(DSAKIT_TESTS_DIR "/../docs/conformance.md");
  const std::string page((std::istreambuf_iterator<char>(in)), {});
  for (const Check& check : all_checks())
    EXPECT_NE(page.find("`" + std::string(check.name) + "`"), std::string::npos) << check.name;
}

}  // namespace
}  // namespace dsakit::conformance
