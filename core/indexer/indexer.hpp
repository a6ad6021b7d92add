// Reference lightning indexer: which keys a token attends to. FP8 keys in an indexer_132 cache, FP8
// queries of several heads, ReLU, a weighted sum over heads, then the best k positions
// (DeepSeek-V3.2). Models that pool keys (index_kpool > 1, GLM-5.3-Flash) score one pooled key for
// kpool tokens, select whole pools, and always attend to the tail that fills no pool yet.
//
// Invariants: fixed summation order, so equal bits on every machine; ties go to the lower position;
// a NaN score ranks below every number. Pure functions over caller-owned memory; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kvcache/codec.hpp"

namespace dsakit::indexer {

inline constexpr int kHeadDim = 128;

// One token's query, as the kernels see it.
struct Query {
  std::vector<std::uint8_t> codes;  // e4m3fn, [heads, kHeadDim]
  std::vector<float> weights;       // [heads]: gate weight of the head times the scale of its codes

  int heads() const { return static_cast<int>(weights.size()); }
};

// Quantises one group a head by `rule`. `values` is [heads, kHeadDim]; `gates` [heads] holds
// everything that multiplies a head's score in the model (projection, 1/sqrt(heads), softmax
// scale).
Query quantise_query(std::span<const float> values, std::span<const float> gates,
                     kvcache::ScaleRule rule);

// scores[i] = scale(k) * sum_h weights[h] * max(0, <q_h, k>) for the key k in slot slots[i].
// Every slot must be inside the pool, whose layout is indexer_132.
void score_keys(const Query& query, const kvcache::Pool& keys, std::span<const std::int64_t> slots,
                std::span<float> scores);

// Positions of the largest scores, best first, at most out.size(); the rest of `out` becomes -1.
void select_topk(std::span<const float> scores, std::span<std::int32_t> out);

// The key of a pool: sum over its tokens of softmax(logits) times key. `keys` is [tokens,
// kHeadDim].
void pool_keys(std::span<const float> keys, std::span<const float> logits, std::span<float> out);

// Width of the index row of a model: topk + kpool - 1.
constexpr int index_row_width(int topk, int kpool) {
  return topk + kpool - 1;
}

// Positions of a sequence of `tokens` tokens whose complete pools have these scores
// (pool_scores.size() == tokens / kpool): the best topk / kpool pools, best first, each as its
// kpool positions in order, then the tail; the rest of `out` becomes -1. out.size() ==
// index_row_width(topk, kpool).
void select_pooled_topk(std::span<const float> pool_scores, std::int64_t tokens, int kpool,
                        std::span<std::int32_t> out);

}  // namespace dsakit::indexer
