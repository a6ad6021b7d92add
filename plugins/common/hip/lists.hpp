// Kernels between the two forms of index lists: rows of one width, and ragged lists. Rows become
// ragged in three steps: each token's count, the bounds of all lists, the entries. A workgroup is
// one wave.
#pragma once

#include "common/hip/sparse_call.hpp"
#include "common/hip/wave.hpp"

namespace dsakit::hip {

// Calls take(entry, whether it counts) for this lane's part of a token's row, all lanes together.
template <class Take>
DSAKIT_DEVICE void walk_row(const ListArguments& a, std::uint32_t token, Take take) {
  const std::int32_t* const row = a.rows + token * a.row_stride;
  std::int32_t length = a.lengths == nullptr ? a.width : a.lengths[token];
  if (length > a.width) length = a.width;
  for (std::int32_t from = 0; from < length; from += kWave) {
    const std::int32_t at = from + thread_id();
    const std::int32_t entry = at < length ? row[at] : -1;
    take(entry, entry >= 0 && entry <= a.last_slot);
  }
}

// One workgroup a token.
DSAKIT_DEVICE void count_entries(const ListArguments& a) {
  const std::uint32_t token = workgroup_id();
  std::int32_t mine = 0;
  walk_row(a, token, [&](std::int32_t, bool counts) { mine += counts ? 1 : 0; });
  const WaveSum sum = wave_sum(mine);
  if (thread_id() == 0) a.indptr[token + 1] = sum.all;
}

// Counts become bounds, by one workgroup.
DSAKIT_DEVICE void sum_counts(const ListArguments& a) {
  std::int32_t carried = 0;
  if (thread_id() == 0) a.indptr[0] = 0;
  for (std::int64_t from = 0; from < a.tokens; from += kWave) {
    const std::int64_t token = from + thread_id();
    const std::int32_t count = token < a.tokens ? a.indptr[token + 1] : 0;
    const WaveSum sum = wave_sum(count);
    if (token < a.tokens) a.indptr[token + 1] = carried + sum.before + count;
    carried += sum.all;
  }
}

// One workgroup a token.
DSAKIT_DEVICE void fill_ragged(const ListArguments& a) {
  const std::uint32_t token = workgroup_id();
  std::int32_t* out = a.indices + a.indptr[token];
  walk_row(a, token, [&](std::int32_t entry, bool counts) {
    const WaveSum sum = wave_sum(counts ? 1 : 0);
    if (counts) out[sum.before] = entry;
    out += sum.all;
  });
}

// One workgroup a token.
DSAKIT_DEVICE void fill_rows(const ListArguments& a) {
  const std::uint32_t token = workgroup_id();
  const std::int32_t from = a.indptr[token], count = a.indptr[token + 1] - from;
  std::int32_t* const row = a.rows + token * a.row_stride;
  for (std::int32_t i = thread_id(); i < a.width; i += kWave)
    row[i] = i < count ? a.indices[from + i] : -1;
}

}  // namespace dsakit::hip
