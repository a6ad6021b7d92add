// Turns a token's index row into addresses of keys: lengths, ragged lists, the second cache and
// invalid indices are dealt with here and nowhere else.
//
// Invariants: a KeyRow is inside its pool; entries past a token's length are not read. Pure; any
// thread.
#pragma once

#include <cstdint>

#include "plugins/cpu/kernels.hpp"
#include "sdk/run_view.hpp"

namespace dsakit::cpu {

// The entries of one token in both caches' lists, as one list.
struct KeyList {
  std::int64_t begin[2] = {0, 0};  // first entry: of the index row (0) or of the ragged list
  std::int64_t length[2] = {0, 0};
  std::int64_t total() const { return length[0] + length[1]; }
};

KeyList key_list(const sdk::RunView& view, std::int64_t token);

// Writes the rows of the valid entries in [first, last) of the list; answers how many.
int collect_rows(const KvLayout& layout, const sdk::RunView& view, std::int64_t token,
                 const KeyList& list, std::int64_t first, std::int64_t last, KeyRow* rows);

// Whether every ragged row lies in its list, in order, with at most `most` entries; true without
// ragged lists.
bool ragged_rows_fit(const sdk::CacheView& cache, std::int64_t tokens, std::int64_t most);

}  // namespace dsakit::cpu
