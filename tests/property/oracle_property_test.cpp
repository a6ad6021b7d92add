// P15: the shipped solver equals the brute-force oracle, over 10^5 requests in eight shards.
#include <gtest/gtest.h>

#include "property/compare.hpp"
#include "property/harness.hpp"

namespace dsakit::property {
namespace {

constexpr int kShards = 8;
constexpr int kCatalogues = 250;
constexpr int kRequests = 50;
static_assert(kShards * kCatalogues * kRequests >= 100000);

// The whole evaluation is compared where it does not depend on which dtype a refusal under `auto`
// shows.
bool evaluation_is_defined(const Case& one, const oracle::Result& expected) {
  return expected.verdict == oracle::Verdict::ok || one.request.value("kv_dtype", Json()) != "auto";
}

std::string equals_oracle(const Built& built, const Case& one) {
  auto aside = built.oracle().set_aside();
  if (built.set_aside().size() != aside.size()) {
    return "set aside: oracle " + Json(aside).dump() + ", solver " + Json(built.set_aside()).dump();
  }
  const auto expected = built.oracle().answer(one.request, one.policy);
  const Answer answer = resolve(built.solver(), one.request, one.policy);
  std::string found = differences(expected, answer, built.oracle().dims());
  if (!found.empty() || expected.verdict == oracle::Verdict::error) return found;
  found = differences(expected, allowed(built.solver(), one.request, one.policy));
  if (!found.empty() || one.seed % 4 != 0) return found;
  const auto explanation = explain(built.solver(), one.request, one.policy);
  if (to_json(explanation.answer) != to_json(answer)) return "explain gives another answer";
  if (!evaluation_is_defined(one, expected)) return "";
  return differences(expected, explanation.evaluation);
}

class P15 : public testing::TestWithParam<int> {};

TEST_P(P15, P15_EqualsOracle) {
  const auto seed = 1500000 + 10000 * static_cast<std::uint64_t>(GetParam());
  EXPECT_EQ(for_cases(seed, kCatalogues, kRequests, equals_oracle), kCatalogues * kRequests);
}

INSTANTIATE_TEST_SUITE_P(Property, P15, testing::Range(0, kShards));

}  // namespace
}  // namespace dsakit::property
