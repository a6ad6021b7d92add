// Device test of the Hopper sparse MLA kernels against float64 over the same bytes.
//
//   flashmla_sparse_device_test [plugin.so] [group ...]
//     groups: tiny basic shapes heads masks lengths layout rows traps graph fixed sweep; tiny is
//     for compute-sanitizer. See sparse_groups.cuh.
#include <cstring>
#include <vector>

#include "flashmla_sparse/kv_rows.hpp"
#include "sparse_groups.cuh"

namespace dsakit::test {
namespace {

// kv_append or kv_dequant, through the plugin if there is one.
void move_rows(Runner& r, const sp::KvRows& rows, bool append) {
  if (r.plugin == nullptr) {
    DSAKIT_CHECK(sp::move_kv_rows(rows, append, nullptr));
    return;
  }
  const dsakit_config config = config_for(false, 128, rows.elements, 64, rows.page_size, 1);
  dsakit_instance* instance = r.plugin->create(config);
  Tensor kv(rows.pool, kBf16, {rows.pages, rows.page_size, rows.elements},
            {rows.page_stride / 2, rows.row_stride / 2, 1});
  Tensor slots(rows.slots, rows.wide_slots ? kInt64 : kInt32, {rows.count}, {1});
  Tensor values(rows.rows, rows.rows_fp32 ? kFp32 : kBf16, {rows.count, rows.elements},
                {rows.row_bytes / (rows.rows_fp32 ? 4 : 2), 1});
  dsakit_kv_cache cache{};
  cache.size = sizeof(cache);
  cache.data = kv.get();
  dsakit_kv_args args{};
  args.size = sizeof(args);
  args.kv = &cache;
  args.slots = slots.get();
  args.rows = values.get();
  r.plugin->move_rows(instance, args, append);
  r.plugin->destroy(instance);
}

// Rows into slots of a paged pool and back, in both directions' element types.
void rows(Runner& r) {
  constexpr int kCount = 700, kElements = 576, kPage = 24, kPages = 40;
  constexpr int64_t kRow = kElements * 2 + 16, kPageStride = kRow * kPage + 48;
  auto* pool = device<uint8_t>(kPageStride * kPages);
  auto* slots = device<int64_t>(kCount);
  auto* singles = device<float>(size_t{kCount} * kElements);
  auto* halves = device<uint16_t>(size_t{kCount} * kElements);
  std::vector<float> values(size_t{kCount} * kElements);
  for (size_t i = 0; i < values.size(); ++i) {
    const uint32_t bits = mix(i * 3 + 1);
    std::memcpy(&values[i], &bits, 4);  // any float, NaN and subnormals included
  }
  std::vector<int64_t> host_slots(kCount);
  for (int i = 0; i < kCount; ++i) host_slots[i] = i % 50 == 7 ? -1 - i : i % 50 == 9 ? 960 + i : i;
  DSAKIT_CHECK(cudaMemset(pool, 0xAB, kPageStride * kPages));
  DSAKIT_CHECK(cudaMemset(halves, 0xCD, values.size() * 2));
  DSAKIT_CHECK(cudaMemcpy(slots, host_slots.data(), kCount * 8, cudaMemcpyHostToDevice));
  DSAKIT_CHECK(cudaMemcpy(singles, values.data(), values.size() * 4, cudaMemcpyHostToDevice));
  sp::KvRows rows;
  rows.pool = reinterpret_cast<std::byte*>(pool);
  rows.pages = kPages;
  rows.page_size = kPage;
  rows.page_stride = kPageStride;
  rows.row_stride = kRow;
  rows.count = kCount;
  rows.slots = reinterpret_cast<const std::byte*>(slots);
  rows.wide_slots = true;
  rows.slot_stride = 8;
  rows.rows = reinterpret_cast<std::byte*>(singles);
  rows.rows_fp32 = true;
  rows.row_bytes = kElements * 4;
  rows.elements = kElements;
  move_rows(r, rows, true);
  rows.rows = reinterpret_cast<std::byte*>(halves);
  rows.rows_fp32 = false;
  rows.row_bytes = kElements * 2;
  move_rows(r, rows, false);
  DSAKIT_CHECK(cudaDeviceSynchronize());
  const auto stored = Runner::fetch(pool, kPageStride * kPages);
  const auto back = Runner::fetch(halves, values.size());
  std::vector<uint8_t> wanted(stored.size(), 0xAB);
  int bad = 0;
  for (int i = 0; i < kCount; ++i) {
    const bool inside = host_slots[i] >= 0 && host_slots[i] < kPage * kPages;
    for (int d = 0; d < kElements; ++d) {
      uint32_t bits;
      std::memcpy(&bits, &values[size_t{static_cast<size_t>(i)} * kElements + d], 4);
      const bool nan = (bits & 0x7FFFFFFFu) > 0x7F800000u;
      const uint16_t half = static_cast<uint16_t>(nan ? (bits >> 16) | 0x40
                                                      : (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
      const int64_t slot = host_slots[i];
      if (inside) {
        std::memcpy(&wanted[slot / kPage * kPageStride + slot % kPage * kRow + 2 * d], &half, 2);
      }
      bad += back[size_t{static_cast<size_t>(i)} * kElements + d] != (inside ? half : 0xCDCD);
    }
  }
  bad += stored != wanted;
  (bad ? r.failed : r.passed) += 1;
  std::printf("%s rows into the pool and back, %d wrong\n", bad ? "FAIL" : "ok  ", bad);
}

// Plans without cut tokens: the same bits whatever else a range has, and right ones.
void fixed(Runner& r) {
  for (int heads : {128, 64, 16}) {
    for (int lengths : {-1, 0}) {
      Case c = make("fixed", 13, heads, 1200, 8192);
      c.lengths = lengths;
      c.invalid = 0.01f;
      Runner::Setup s = r.prepare(c, 1);
      Runner::Errors e;
      std::vector<__nv_bfloat16> first;
      for (int ctas : {r.max_ctas, 8, 2}) {
        const Plan plan = sp::make_plan(c.tokens, c.heads, c.topk, ctas);
        s.plan = dsakit::sparse::whole_tokens(plan, c.tokens);
        r.poison(s, c);
        DSAKIT_CHECK(sp::launch(s.problem, s.plan, r.b.workspace.data, nullptr));
        r.reference(c, s);
        DSAKIT_CHECK(cudaDeviceSynchronize());
        if (first.empty()) e = r.compare(c, s);
        const auto out = Runner::fetch(r.b.out.data, s.out_count);
        if (first.empty()) first = out;
        if (std::memcmp(first.data(), out.data(), s.out_count * 2) != 0) {
          e.add("bits on so many CTAs", ctas, 0, 0, 0, 0);
        }
      }
      r.report(c, s, e, false);
    }
  }
}

}  // namespace
}  // namespace dsakit::test

int main(int argc, char** argv) {
  return dsakit::test::run_groups(argc, argv,
                                  {{"rows", dsakit::test::rows}, {"fixed", dsakit::test::fixed}});
}
