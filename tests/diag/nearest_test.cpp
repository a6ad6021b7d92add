#include "diag/nearest.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace dsakit {
namespace {

const std::vector<std::string> kKnown{"flashmla_kv", "flashmla_sparse", "tilelang", "aiter"};

TEST(Nearest, FindsATypingMistake) {
  EXPECT_EQ(nearest_name("flashmla-kv", kKnown), "flashmla_kv");
  EXPECT_EQ(nearest_name("tilelnag", kKnown), "tilelang");
  EXPECT_EQ(nearest_name("aitr", kKnown), "aiter");
}

TEST(Nearest, AnExactNameIsItsOwnNearest) {
  for (const std::string& name : kKnown) EXPECT_EQ(nearest_name(name, kKnown), name);
}

TEST(Nearest, SaysNothingAboutAnUnrelatedWord) {
  EXPECT_EQ(nearest_name("zzzzzzzz", kKnown), std::nullopt);
  EXPECT_EQ(nearest_name("", kKnown), std::nullopt);
}

TEST(Nearest, AllowsAThirdOfTheLongerName) {
  const std::vector<std::string> known{"abcdefghi"};
  EXPECT_EQ(nearest_name("abcdefxyz", known), "abcdefghi");
  EXPECT_EQ(nearest_name("abcdewxyz", known), std::nullopt);
}

TEST(Nearest, ATieIsDecidedBytewiseInAnyOrder) {
  EXPECT_EQ(nearest_name("ab1", std::vector<std::string>{"ab3", "ab2"}), "ab2");
  EXPECT_EQ(nearest_name("ab1", std::vector<std::string>{"ab2", "ab3"}), "ab2");
}

TEST(Nearest, OfAllHasNoLimit) {
  EXPECT_EQ(nearest_of_all("qqqq", kKnown), "aiter");
  EXPECT_EQ(nearest_of_all("aite_", kKnown), "aiter");
  EXPECT_EQ(nearest_of_all("x", {}), std::nullopt);
}

}  // namespace
}  // namespace dsakit
