#include <gtest/gtest.h>

#include <set>

#include "diag/diagnostic.hpp"

namespace dsakit {
namespace {

TEST(Codes, NamesAreUniqueWellFormedAndFoundAgain) {
  std::set<std::string_view> names;
  for (const Code code : all_codes()) {
    const std::string_view name = code_name(code);
    EXPECT_TRUE(names.insert(name).second) << name;
    ASSERT_EQ(name.size(), 5u) << name;
    EXPECT_EQ(name[0], code_severity(code) == Severity::error ? 'E' : 'W') << name;
    EXPECT_EQ(name.find_first_not_of("0123456789", 1), std::string_view::npos) << name;
    EXPECT_EQ(find_code(name), code);
  }
  EXPECT_GT(names.size(), 30u);
}

TEST(Codes, ANumberIsUsedOnce) {
  std::set<std::string_view> numbers;
  for (const Code code : all_codes()) {
    EXPECT_TRUE(numbers.insert(code_name(code).substr(1)).second) << code_name(code);
  }
}

TEST(Codes, HeadlinesAreOneLineWithoutBlame) {
  for (const Code code : all_codes()) {
    const std::string_view text = code_headline(code);
    EXPECT_FALSE(text.empty()) << code_name(code);
    EXPECT_EQ(text.find_first_of("\n?!"), std::string_view::npos) << code_name(code);
    EXPECT_NE(text.back(), '.') << code_name(code);
  }
}

TEST(Codes, UnknownNamesAreNotFound) {
  for (const char* name : {"", "E", "E9999", "e0203", "E0203 ", "W0203"})
    EXPECT_EQ(find_code(name), std::nullopt);
}

}  // namespace
}  // namespace dsakit
