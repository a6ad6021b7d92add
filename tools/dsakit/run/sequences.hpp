// Made-up sequences that behave as real ones do for attention: keys, queries and attention sinks of
// moderate size, and top-k lists from the reference indexer whose queries drift slowly, so that
// neighbouring tokens select mostly the same keys. The same seed gives the same values everywhere.
//
// Invariants: a token sees only itself and earlier ones. Const use from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "indexer/indexer.hpp"
#include "kvcache/codec.hpp"

namespace dsakit::cli {

// `elements` values of standard deviation `amplitude`, a function of the arguments alone.
void make_values(std::uint64_t seed, std::uint64_t stream, std::span<float> values,
                 float amplitude);

// Slots in [0, slots), evenly spread.
void make_slots(std::uint64_t seed, std::uint64_t stream, std::int64_t slots,
                std::span<std::int32_t> out);

// Index keys of sequences in an indexer_132 cache, and the lists that the indexer makes from them.
class IndexedSequences {
 public:
  struct Shape {
    std::int64_t sequences = 1, tokens = 1;  // tokens: most that a sequence will have
    std::int64_t width = 1;                  // of the index row
    int heads = 64, kpool = 1;
    std::uint64_t seed = 1;
  };
  explicit IndexedSequences(const Shape& shape);

  // Positions that token `position` of a sequence attends to, best first, then -1; `out` has
  // `width` elements.
  void select(std::int64_t sequence, std::int64_t position, std::span<std::int32_t> out) const;

 private:
  void make_keys(std::int64_t sequence);
  indexer::Query query(std::int64_t sequence, std::int64_t position) const;
  std::int64_t slot(std::int64_t sequence, std::int64_t key) const {
    return sequence * keys_a_sequence_ + key;
  }

  Shape shape_;
  std::int64_t keys_a_sequence_;
  std::vector<std::byte> bytes_;
  kvcache::Pool pool_;
};

// Share of the entries of `now` (valid ones) that are in `before` too.
double overlap(std::span<const std::int32_t> before, std::span<const std::int32_t> now);

}  // namespace dsakit::cli
