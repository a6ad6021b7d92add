// The generator is worth its name only if every kind of outcome is frequent; judged by the oracle.
#include <gtest/gtest.h>

#include "property/generate.hpp"
#include "property/oracle/oracle.hpp"

namespace dsakit::property {
namespace {

TEST(Generator, EveryOutcomeIsFrequent) {
  int ok = 0, with_obligations = 0, rejected = 0, by_name = 0, error = 0, nothing = 0, three = 0;
  int total = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Rng rng(seed);
    const auto manifests = random_manifests(rng);
    const oracle::Catalogue catalogue(manifests);
    for (int i = 0; i < 50; ++i, ++total) {
      const auto result =
          catalogue.answer(random_request(rng, manifests), random_policy(rng, manifests));
      ok += result.verdict == oracle::Verdict::ok;
      with_obligations += !result.obligations.empty();
      three += result.session.backend.size() == 3;
      rejected += result.verdict == oracle::Verdict::rejected;
      by_name += !result.by_name.empty();
      nothing += result.verdict == oracle::Verdict::rejected && result.allowed.empty();
      error += result.verdict == oracle::Verdict::error;
    }
  }
  RecordProperty("ok", ok);
  RecordProperty("rejected", rejected);
  EXPECT_GT(ok * 100, total * 25) << ok;
  EXPECT_GT(with_obligations * 100, total * 5) << with_obligations;
  EXPECT_GT(three * 100, total * 3) << three;
  EXPECT_GT(rejected * 100, total * 25) << rejected;
  EXPECT_GT(nothing * 100, total * 15) << nothing;
  EXPECT_GT(by_name * 100, total * 5) << by_name;
  EXPECT_GT(error * 100, total) << error;
}

TEST(Generator, SameSeedSameCase) {
  Rng a(7), b(7), c(8);
  const auto first = random_manifests(a);
  EXPECT_EQ(first, random_manifests(b));
  EXPECT_NE(first, random_manifests(c));
}

}  // namespace
}  // namespace dsakit::property
