#include "run/sequences.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace dsakit::cli {
namespace {

constexpr std::int64_t kKeysAPage = 64;
constexpr std::size_t kDim = indexer::kHeadDim;
constexpr float kDrift = 0.97F;       // correlation of the index queries of neighbouring tokens
constexpr std::int64_t kMemory = 96;  // tokens after which the correlation is small

enum IndexStream : std::uint64_t {
  kIndexKeys = 1ULL << 60,
  kIndexQueries = 2ULL << 60,
  kGates = 3ULL << 60,
  kPoolLogits = 4ULL << 60
};

std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

// Four 16-bit uniforms added: nearly normal, within 3.5 deviations, exact on every machine.
float bell(std::uint64_t bits) {
  const auto part = [bits](int shift) { return static_cast<std::int64_t>(bits >> shift & 0xFFFF); };
  const std::int64_t sum = part(0) + part(16) + part(32) + part(48) - 2 * 65535;
  return static_cast<float>(sum) * (1.0F / 37836.9F);
}

}  // namespace

void make_values(std::uint64_t seed, std::uint64_t stream, std::span<float> values,
                 float amplitude) {
  const std::uint64_t start = mix(mix(seed) ^ stream);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = amplitude * bell(mix(start + i * 0xD1342543DE82EF95ULL));
}

void make_slots(std::uint64_t seed, std::uint64_t stream, std::int64_t slots,
                std::span<std::int32_t> out) {
  const std::uint64_t start = mix(mix(seed) ^ stream);
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<std::int32_t>(mix(start + i) % static_cast<std::uint64_t>(slots));
}

IndexedSequences::IndexedSequences(const Shape& shape) : shape_(shape) {
  const std::int64_t keys = shape.tokens / shape.kpool;
  keys_a_sequence_ = (keys + kKeysAPage - 1) / kKeysAPage * kKeysAPage;
  const KvLayout& layout = *find_kv_layout("indexer_132");
  const std::int64_t pages =
      std::max<std::int64_t>(1, keys_a_sequence_ / kKeysAPage) * shape.sequences;
  bytes_.resize(static_cast<std::size_t>(pages * layout.page_bytes(kKeysAPage)));
  pool_ = kvcache::compact_pool(layout, bytes_.data(), pages, kKeysAPage);
  for (std::int64_t sequence = 0; sequence < shape.sequences; ++sequence) make_keys(sequence);
}

void IndexedSequences::make_keys(std::int64_t sequence) {
  const auto kpool = static_cast<std::size_t>(shape_.kpool);
  std::vector<float> tokens(kpool * kDim);
  std::vector<float> logits(kpool);
  std::array<float, kDim> key{};
  for (std::int64_t i = 0; i < shape_.tokens / shape_.kpool; ++i) {
    const auto stream = static_cast<std::uint64_t>(slot(sequence, i));
    make_values(shape_.seed, kIndexKeys + stream, tokens, 1.0F);
    make_values(shape_.seed, kPoolLogits + stream, logits, 1.0F);
    indexer::pool_keys(tokens, logits, key);
    kvcache::encode_row(pool_, slot(sequence, i), kvcache::ScaleRule::arbitrary_fp32, key);
  }
}

// An exponentially weighted sum of noise that belongs to positions: neighbours share most of it.
indexer::Query IndexedSequences::query(std::int64_t sequence, std::int64_t position) const {
  const auto heads = static_cast<std::size_t>(shape_.heads);
  std::vector<float> values(heads * kDim, 0.0F);
  std::vector<float> noise(values.size());
  float weight = std::sqrt(1.0F - kDrift * kDrift);
  for (std::int64_t back = 0; back <= std::min(kMemory, position); ++back) {
    const std::int64_t at = sequence * shape_.tokens + position - back;
    make_values(shape_.seed, kIndexQueries + static_cast<std::uint64_t>(at), noise, weight);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += noise[i];
    weight *= kDrift;
  }
  std::vector<float> gates(heads);
  make_values(shape_.seed, kGates + static_cast<std::uint64_t>(sequence), gates,
              1.0F / std::sqrt(static_cast<float>(shape_.heads)));
  return indexer::quantise_query(values, gates, kvcache::ScaleRule::arbitrary_fp32);
}

void IndexedSequences::select(std::int64_t sequence, std::int64_t position,
                              std::span<std::int32_t> out) const {
  const std::int64_t visible = position + 1;
  const auto keys = static_cast<std::size_t>(visible / shape_.kpool);
  std::vector<std::int64_t> slots(keys);
  for (std::size_t i = 0; i < keys; ++i) slots[i] = slot(sequence, static_cast<std::int64_t>(i));
  std::vector<float> scores(keys);
  indexer::score_keys(query(sequence, position), pool_, slots, scores);
  if (shape_.kpool == 1)
    indexer::select_topk(scores, out);
  else
    indexer::select_pooled_topk(scores, visible, shape_.kpool, out);
}

double overlap(std::span<const std::int32_t> before, std::span<const std::int32_t> now) {
  std::vector<std::int32_t> sorted(before.begin(), before.end());
  std::ranges::sort(sorted);
  std::int64_t valid = 0;
  std::int64_t shared = 0;
  for (const std::int32_t position : now) {
    if (position < 0) continue;
    ++valid;
    shared += std::ranges::binary_search(sorted, position) ? 1 : 0;
  }
  return valid == 0 ? 1.0 : static_cast<double>(shared) / static_cast<double>(valid);
}

}  // namespace dsakit::cli
