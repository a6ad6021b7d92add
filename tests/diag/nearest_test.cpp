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

TEST(Nearest, APartOfANameMeansThatName) {
  const std::vector<std::string> dtypes{"bf16", "fp8_e4m3", "fp8_e5m2"};
  EXPECT_EQ(nearest_name("fp8", dtypes), "fp8_e4m3");
  EXPECT_EQ(nearest_name("sparse", kKnown), "flashmla_sparse");
  EXPECT_EQ(nearest_name("e", dtypes), std::nullopt) << "one letter is in many names";
}

TEST(Nearest, OrdersByWhatIsMostLikelyMeant) {
  EXPECT_EQ(by_nearness("fp8", std::vector<std::string>{"bf16", "fp8_e5m2", "fp8_e4m3"}),
            (std::vector<std::string>{"fp8_e4m3", "fp8_e5m2", "bf16"}));
  EXPECT_TRUE(by_nearness("fp8", {}).empty());
}

}  // namespace
}  // namespace dsakit
