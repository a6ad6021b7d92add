// The indexer against a naive version in float64 that decodes the cache's bytes by itself.
#include "indexer/indexer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <set>
#include <vector>

namespace dsakit::indexer {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

double e4m3_by_definition(int code) {
  const int exponent = (code >> 3) & 15;
  const double mantissa = code & 7;
  const double magnitude = exponent == 0 ? mantissa * std::pow(2.0, -9)
                                         : (8.0 + mantissa) * std::pow(2.0, exponent - 10);
  return (code & 128) != 0 ? -magnitude : magnitude;
}

double e4m3(std::uint8_t code) {
  static const std::vector<double> values = [] {
    std::vector<double> table;
    for (int each = 0; each < 256; ++each) table.push_back(e4m3_by_definition(each));
    return table;
  }();
  return values[code];
}

struct KeyCache {
  std::vector<std::byte> bytes;
  kvcache::Pool pool;
  std::vector<std::int64_t> slots;  // of each position, shuffled
};

KeyCache random_keys(std::int64_t pages, std::int64_t page_size, kvcache::ScaleRule rule) {
  const KvLayout& layout = *find_kv_layout("indexer_132");
  KeyCache cache;
  cache.bytes.resize(static_cast<std::size_t>(pages * layout.page_bytes(page_size)));
  cache.pool = kvcache::compact_pool(layout, cache.bytes.data(), pages, page_size);
  cache.slots.resize(static_cast<std::size_t>(pages * page_size));
  std::iota(cache.slots.begin(), cache.slots.end(), 0);
  std::mt19937 random(3);
  std::shuffle(cache.slots.begin(), cache.slots.end(), random);
  std::normal_distribution<float> normal;
  std::vector<float> key(kHeadDim);
  for (const std::int64_t slot : cache.slots) {
    for (float& value : key) value = normal(random);
    kvcache::encode_row(cache.pool, slot, rule, key);
  }
  return cache;
}

struct Values {
  std::vector<float> q, gates;
};

Values random_query(int heads, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Values values{std::vector<float>(static_cast<std::size_t>(heads) * kHeadDim),
                std::vector<float>(static_cast<std::size_t>(heads))};
  for (float& value : values.q) value = normal(random);
  for (float& value : values.gates) value = normal(random) / 8;
  return values;
}

// Reads keys as the layout says: in a page all codes first, then all scales.
double naive_score(const Query& query, const KeyCache& cache, std::int64_t slot) {
  const std::int64_t size = cache.pool.page_size;
  const std::byte* page = cache.bytes.data() + slot / size * size * 132;
  const std::byte* codes = page + slot % size * 128;
  float scale = 0;
  std::memcpy(&scale, page + size * 128 + slot % size * 4, 4);
  double score = 0;
  for (int head = 0; head < query.heads(); ++head) {
    double logit = 0;
    for (int d = 0; d < kHeadDim; ++d)
      logit += e4m3(query.codes[static_cast<std::size_t>(head * kHeadDim + d)]) *
               e4m3(std::to_integer<std::uint8_t>(codes[d]));
    score +=
        static_cast<double>(query.weights[static_cast<std::size_t>(head)]) * std::max(0.0, logit);
  }
  return score * static_cast<double>(scale);
}

class Scores : public testing::TestWithParam<std::tuple<int, int, kvcache::ScaleRule>> {};

TEST_P(Scores, MatchTheNaiveVersion) {
  const auto [heads, page_size, rule] = GetParam();
  const KeyCache cache = random_keys(5, page_size, rule);
  const Values values = random_query(heads, 17);
  const Query query = quantise_query(values.q, values.gates, rule);
  std::vector<float> scores(cache.slots.size());
  score_keys(query, cache.pool, cache.slots, scores);
  double spread = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const double expected = naive_score(query, cache, cache.slots[i]);
    EXPECT_NEAR(scores[i], expected, 2e-5) << i;
    spread = std::max(spread, std::fabs(expected));
  }
  EXPECT_GT(spread, 0.1);
}

INSTANTIATE_TEST_SUITE_P(Shapes, Scores,
                         testing::Combine(testing::Values(1, 32, 64), testing::Values(1, 7, 64),
                                          testing::Values(kvcache::ScaleRule::arbitrary_fp32,
                                                          kvcache::ScaleRule::pow2_fp32)));

TEST(QuantisedQuery, KeepsTheValueInCodesTimesWeights) {
  const Values values = random_query(4, 5);
  const std::vector<float> ones(4, 1.0F);
  const Query query = quantise_query(values.q, ones, kvcache::ScaleRule::arbitrary_fp32);
  for (std::size_t i = 0; i < query.codes.size(); ++i) {
    const double value = e4m3(query.codes[i]) * static_cast<double>(query.weights[i / kHeadDim]);
    EXPECT_NEAR(value, values.q[i], std::fabs(values.q[i]) / 16 + 1e-5);
  }
}

TEST(QuantisedQuery, NegativeLogitsDoNotCount) {
  KeyCache cache = random_keys(1, 4, kvcache::ScaleRule::arbitrary_fp32);
  std::vector<float> key(kHeadDim, 1.0F);
  kvcache::encode_row(cache.pool, 2, kvcache::ScaleRule::arbitrary_fp32, key);
  std::vector<float> q(2 * kHeadDim, -1.0F);
  std::fill_n(q.begin(), kHeadDim, 0.5F);
  const std::vector<float> gates{2.0F, 100.0F};
  const Query query = quantise_query(q, gates, kvcache::ScaleRule::arbitrary_fp32);
  float score = 0;
  score_keys(query, cache.pool, std::vector<std::int64_t>{2}, std::span<float>(&score, 1));
  EXPECT_NEAR(score, 2.0F * 64.0F, 1e-3F);
}

TEST(TopK, BestFirstThenLowerPositionThenPadding) {
  const std::vector<float> scores{1.0F, 3.0F, kNan, 3.0F, -2.0F, 0.0F};
  std::vector<std::int32_t> out(4);
  select_topk(scores, out);
  EXPECT_EQ(out, (std::vector<std::int32_t>{1, 3, 0, 5}));
  out.resize(8);
  select_topk(scores, out);
  EXPECT_EQ(out, (std::vector<std::int32_t>{1, 3, 0, 5, 4, 2, -1, -1}));
  select_topk({}, out);
  EXPECT_EQ(std::count(out.begin(), out.end(), -1), 8);
}

TEST(TopK, AgreesWithSortingOnRandomScoresWithTies) {
  std::mt19937 random(23);
  std::uniform_int_distribution<int> value(-20, 20);
  for (const std::size_t k : {1U, 5U, 100U, 999U, 1000U}) {
    std::vector<float> scores(1000);
    for (float& score : scores) score = static_cast<float>(value(random));
    std::vector<std::int32_t> order(scores.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
      return scores[static_cast<std::size_t>(a)] > scores[static_cast<std::size_t>(b)];
    });
    std::vector<std::int32_t> out(k);
    select_topk(scores, out);
    order.resize(k);
    EXPECT_EQ(out, order);
  }
}

TEST(PooledTopK, PoolsInOrderThenTheTail) {
  const int kpool = 4;
  std::vector<std::int32_t> out(static_cast<std::size_t>(index_row_width(8, kpool)));
  const std::vector<float> scores{0.0F, 5.0F, 1.0F, 5.0F};
  select_pooled_topk(scores, 18, kpool, out);
  EXPECT_EQ(out, (std::vector<std::int32_t>{4, 5, 6, 7, 12, 13, 14, 15, 16, 17, -1}));
  select_pooled_topk(std::span(scores).first(1), 7, kpool, out);
  EXPECT_EQ(out, (std::vector<std::int32_t>{0, 1, 2, 3, 4, 5, 6, -1, -1, -1, -1}));
  select_pooled_topk({}, 3, kpool, out);
  EXPECT_EQ(out, (std::vector<std::int32_t>{0, 1, 2, -1, -1, -1, -1, -1, -1, -1, -1}));
}

TEST(PooledTopK, WithoutPoolingItIsPlainTopK) {
  const std::vector<float> scores{2.0F, 7.0F, 1.0F};
  std::vector<std::int32_t> pooled(2), plain(2);
  select_pooled_topk(scores, 3, 1, pooled);
  select_topk(scores, plain);
  EXPECT_EQ(pooled, plain);
}

TEST(PoolKeys, SoftmaxWeightsOverTheTokens) {
  std::mt19937 random(4);
  std::normal_distribution<float> normal;
  std::vector<float> keys(4 * kHeadDim), out(kHeadDim);
  for (float& value : keys) value = normal(random);
  const std::vector<float> logits{0.5F, -1.0F, 90.0F, 89.0F};
  pool_keys(keys, logits, out);
  double total = 0;
  for (const float logit : logits) total += std::exp(static_cast<double>(logit) - 90.0);
  for (std::size_t d = 0; d < kHeadDim; ++d) {
    double expected = 0;
    for (std::size_t token = 0; token < 4; ++token)
      expected += std::exp(static_cast<double>(logits[token]) - 90.0) / total *
                  static_cast<double>(keys[token * kHeadDim + d]);
    EXPECT_NEAR(out[d], expected, 1e-6);
  }
}

}  // namespace
}  // namespace dsakit::indexer
