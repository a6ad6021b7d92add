#include "plugins/cpu/key_list.hpp"

#include <algorithm>
#include <cstring>

namespace dsakit::cpu {
namespace {

std::int64_t read_integer(const std::byte* at, bool wide) {
  if (wide) {
    std::int64_t value = 0;
    std::memcpy(&value, at, sizeof(value));
    return value;
  }
  std::int32_t value = 0;
  std::memcpy(&value, at, sizeof(value));
  return value;
}

std::int64_t row_start(const sdk::CacheView& cache, std::int64_t token) {
  return read_integer(cache.indptr + token * cache.indptr_stride, cache.wide_indptr);
}

// Divides slots by the page size; shifts where it is a power of two.
class Pages {
 public:
  explicit Pages(std::int64_t size) : size_(size) {
    if ((size & (size - 1)) == 0) shift_ = __builtin_ctzll(static_cast<unsigned long long>(size));
  }
  std::int64_t page(std::int64_t slot) const { return shift_ >= 0 ? slot >> shift_ : slot / size_; }
  std::int64_t row(std::int64_t slot) const { return slot - page(slot) * size_; }

 private:
  std::int64_t size_;
  int shift_ = -1;
};

KeyRow key_row(const KvLayout& layout, const sdk::CacheView& cache, const Pages& pages,
               std::int64_t slot) {
  const std::byte* page = cache.data + pages.page(slot) * cache.page_stride;
  const std::int64_t row = pages.row(slot);
  if (layout.footer())
    return {page + row * layout.row_bytes,
            page + cache.page_size * layout.row_bytes + row * layout.footer_bytes};
  const std::byte* data = page + row * cache.row_stride;
  if (layout.group != 0) return {data, data + layout.scale_offset};
  return {data, reinterpret_cast<const std::byte*>(cache.scale)};
}

}  // namespace

KeyList key_list(const sdk::RunView& view, std::int64_t token) {
  KeyList list;
  for (int c = 0; c < view.caches; ++c) {
    const sdk::CacheView& cache = view.cache[c];
    if (cache.indptr != nullptr) {
      list.begin[c] = row_start(cache, token);
      list.length[c] = row_start(cache, token + 1) - list.begin[c];
    } else if (cache.length != nullptr) {
      const std::byte* at = cache.length + token / cache.tokens_per_length * cache.length_stride;
      list.length[c] = std::clamp<std::int64_t>(read_integer(at, false), 0, cache.topk);
    } else {
      list.length[c] = cache.topk;
    }
  }
  return list;
}

int collect_rows(const KvLayout& layout, const sdk::RunView& view, std::int64_t token,
                 const KeyList& list, std::int64_t first, std::int64_t last, KeyRow* rows) {
  int count = 0;
  std::int64_t before = 0;
  for (int c = 0; c < view.caches; ++c) {
    const sdk::CacheView& cache = view.cache[c];
    const Pages pages(cache.page_size);
    const std::byte* indices = cache.indices;
    if (cache.indptr == nullptr) indices += cache.index_row(token);
    const int width = cache.wide_indices ? 8 : 4;
    const auto slots = static_cast<std::uint64_t>(cache.slots());
    const std::int64_t from = std::clamp<std::int64_t>(first - before, 0, list.length[c]);
    const std::int64_t to = std::clamp<std::int64_t>(last - before, 0, list.length[c]);
    for (std::int64_t j = from; j < to; ++j) {
      const std::int64_t slot =
          read_integer(indices + (list.begin[c] + j) * width, cache.wide_indices);
      if (static_cast<std::uint64_t>(slot) < slots)
        rows[count++] = key_row(layout, cache, pages, slot);
    }
    before += list.length[c];
  }
  return count;
}

bool ragged_rows_fit(const sdk::CacheView& cache, std::int64_t tokens, std::int64_t most) {
  if (cache.indptr == nullptr) return true;
  std::int64_t start = row_start(cache, 0);
  if (start < 0) return false;
  for (std::int64_t token = 1; token <= tokens; ++token) {
    const std::int64_t end = row_start(cache, token);
    if (end < start || end - start > most || end > cache.topk) return false;
    start = end;
  }
  return true;
}

}  // namespace dsakit::cpu
