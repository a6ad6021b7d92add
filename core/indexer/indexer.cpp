#include "indexer/indexer.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>

#include "kvcache/float8.hpp"

namespace dsakit::indexer {
namespace {

constexpr std::size_t kDim = kHeadDim;
constexpr std::size_t kLanes = 16;

// A dot product in kLanes partial sums that are then added pairwise.
float dot(const float* a, const float* b) {
  std::array<float, kLanes> sum{};
  for (std::size_t i = 0; i < kDim; i += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane) sum[lane] += a[i + lane] * b[i + lane];
  for (std::size_t half = kLanes / 2; half > 0; half /= 2)
    for (std::size_t lane = 0; lane < half; ++lane) sum[lane] += sum[lane + half];
  return sum[0];
}

// The order of select_topk: larger first, NaN last, then the lower position.
struct Better {
  std::span<const float> scores;
  bool operator()(std::int32_t a, std::int32_t b) const {
    const float x = scores[static_cast<std::size_t>(a)];
    const float y = scores[static_cast<std::size_t>(b)];
    const bool x_nan = std::isnan(x);
    const bool y_nan = std::isnan(y);
    if (x_nan != y_nan) return y_nan;
    if (!x_nan && x != y) return x > y;
    return a < b;
  }
};

std::vector<std::int32_t> best_positions(std::span<const float> scores, std::size_t count) {
  std::vector<std::int32_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  count = std::min(count, order.size());
  const auto middle = order.begin() + static_cast<std::ptrdiff_t>(count);
  std::partial_sort(order.begin(), middle, order.end(), Better{scores});
  order.resize(count);
  return order;
}

}  // namespace

Query quantise_query(std::span<const float> values, std::span<const float> gates,
                     kvcache::ScaleRule rule) {
  Query query;
  query.codes.resize(values.size());
  query.weights.resize(gates.size());
  for (std::size_t head = 0; head < gates.size(); ++head) {
    const std::span<const float> row = values.subspan(head * kDim, kDim);
    float amax = 0.0F;
    for (const float value : row) amax = std::max(amax, std::fabs(value));
    const float scale = kvcache::group_scale(rule, amax);
    for (std::size_t i = 0; i < kDim; ++i)
      query.codes[head * kDim + i] = kvcache::e4m3fn_encode(row[i] / scale);
    query.weights[head] = gates[head] * scale;
  }
  return query;
}

void score_keys(const Query& query, const kvcache::Pool& keys, std::span<const std::int64_t> slots,
                std::span<float> scores) {
  std::vector<float> q(query.codes.size());
  std::transform(query.codes.begin(), query.codes.end(), q.begin(), kvcache::e4m3fn_decode);
  std::array<float, kDim> k{};
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const kvcache::RowAddress at = kvcache::row_address(keys, slots[i]);
    for (std::size_t d = 0; d < kDim; ++d)
      k[d] = kvcache::e4m3fn_decode(std::to_integer<std::uint8_t>(at.data[d]));
    float scale = 0.0F;
    std::memcpy(&scale, at.scale, sizeof(scale));
    float sum = 0.0F;
    for (std::size_t head = 0; head < query.weights.size(); ++head) {
      const float logit = dot(q.data() + head * kDim, k.data());
      if (!(logit <= 0.0F)) sum += query.weights[head] * logit;  // NaN passes
    }
    scores[i] = sum * scale;
  }
}

void select_topk(std::span<const float> scores, std::span<std::int32_t> out) {
  const std::vector<std::int32_t> best = best_positions(scores, out.size());
  std::fill(std::copy(best.begin(), best.end(), out.begin()), out.end(), -1);
}

void pool_keys(std::span<const float> keys, std::span<const float> logits, std::span<float> out) {
  const float largest = *std::max_element(logits.begin(), logits.end());
  float total = 0.0F;
  for (const float logit : logits) total += std::exp(logit - largest);
  std::fill(out.begin(), out.end(), 0.0F);
  for (std::size_t token = 0; token < logits.size(); ++token) {
    const float weight = std::exp(logits[token] - largest) / total;
    for (std::size_t d = 0; d < kDim; ++d) out[d] += weight * keys[token * kDim + d];
  }
}

void select_pooled_topk(std::span<const float> pool_scores, std::int64_t tokens, int kpool,
                        std::span<std::int32_t> out) {
  const auto pool = static_cast<std::size_t>(kpool);
  const std::size_t wanted = (out.size() + 1 - pool) / pool;
  auto next = out.begin();
  for (const std::int32_t index : best_positions(pool_scores, wanted)) {
    std::iota(next, next + kpool, index * kpool);
    next += kpool;
  }
  for (auto token = static_cast<std::int64_t>(pool_scores.size() * pool); token < tokens; ++token)
    *next++ = static_cast<std::int32_t>(token);
  std::fill(next, out.end(), -1);
}

}  // namespace dsakit::indexer
