// Device test of the row kernels: what they store and read back has the bits of core/kvcache, in
// every layout that a CUDA plugin stores, and nothing else of the pool or of the rows changes.
//
// Exit status 1 if a case failed; cases are skipped without a GPU.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "flashmla_kv/kv_rows.hpp"
#include "flashmla_sparse/kv_rows.hpp"
#include "kvcache/codec.hpp"
#include "kvcache/float8.hpp"
#include "support/hostile_rows.hpp"

namespace dsakit::cuda {
namespace {

constexpr std::int64_t kPage = 24, kPages = 50, kCount = 1100;

struct Case {
  const char* layout;
  int (*move)(const KvRows&, bool append, void* stream);
  bool pow2, fp32_rows, wide_slots;
  int row_pad;    // elements between rows of values
  int row_shift;  // elements before the first
};

// Bytes that live on both sides.
class Memory {
 public:
  explicit Memory(std::size_t size) : host(size) { cudaMalloc(&device_, size); }
  ~Memory() { cudaFree(device_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  std::byte* device() const { return static_cast<std::byte*>(device_); }
  void upload() { cudaMemcpy(device_, host.data(), host.size(), cudaMemcpyHostToDevice); }
  bool download() {
    return cudaMemcpy(host.data(), device_, host.size(), cudaMemcpyDeviceToHost) == cudaSuccess;
  }
  std::vector<std::byte> host;

 private:
  void* device_ = nullptr;
};

// A pool with gaps between its rows and pages, and rows of values beside slots of which some are
// outside.
class Rows {
 public:
  explicit Rows(const Case& c)
      : c_(c),
        layout_(*find_kv_layout(c.layout)),
        width_(static_cast<std::size_t>(layout_.d_qk())),
        row_stride_(layout_.row_bytes + 16),
        page_stride_(row_stride_ * kPage + 48),
        pool(static_cast<std::size_t>(page_stride_ * kPages)),
        slots(static_cast<std::size_t>(kCount) * 8),
        values((static_cast<std::size_t>(c.row_shift) + kCount * row_elements()) *
               element_bytes()) {
    for (std::byte& byte : pool.host) byte = static_cast<std::byte>(random_());
    for (std::byte& byte : values.host) byte = static_cast<std::byte>(random_());
    for (std::int64_t i = 0; i < kCount; ++i) write_slot(i);
    slots.upload();
  }

  kvcache::Pool codec(std::vector<std::byte>& bytes) const {
    return {&layout_, bytes.data(), kPages, kPage, page_stride_, row_stride_, 1.0F};
  }
  // Every seventh is outside; the others are distinct.
  std::int64_t slot(std::int64_t i) const {
    if (i % 7 == 3) return i % 2 == 0 ? -1 - i : kPage * kPages + i;
    return i * 7 % (kPage * kPages);
  }
  bool stored(std::int64_t i) const { return i % 7 != 3; }

  KvRows args() const {
    KvRows rows;
    rows.pool = pool.device();
    rows.pages = kPages;
    rows.page_size = kPage;
    rows.page_stride = page_stride_;
    rows.row_stride = row_stride_;
    rows.count = kCount;
    rows.slots = slots.device();
    rows.wide_slots = c_.wide_slots;
    rows.slot_stride = 8;
    rows.rows = values.device() + static_cast<std::size_t>(c_.row_shift) * element_bytes();
    rows.rows_fp32 = c_.fp32_rows;
    rows.row_bytes = static_cast<std::int64_t>(row_elements() * element_bytes());
    rows.elements = layout_.d_qk();
    rows.pow2_scales = c_.pow2;
    return rows;
  }

  // Row i as the codec sees it.
  std::vector<float> row(std::int64_t i) const {
    std::vector<float> out(width_);
    for (std::size_t d = 0; d < width_; ++d) {
      if (c_.fp32_rows) {
        std::memcpy(&out[d], value(i, d), 4);
      } else {
        std::uint16_t half = 0;
        std::memcpy(&half, value(i, d), 2);
        out[d] = kvcache::bf16_decode(half);
      }
    }
    return out;
  }
  void set_row(std::int64_t i, const std::vector<float>& row) {
    for (std::size_t d = 0; d < width_; ++d) {
      if (c_.fp32_rows) {
        std::memcpy(value(i, d), &row[d], 4);
      } else {
        const std::uint16_t half = kvcache::bf16_encode(row[d]);
        std::memcpy(value(i, d), &half, 2);
      }
    }
  }
  std::mt19937& random() { return random_; }
  std::size_t width() const { return width_; }
  const KvLayout& layout() const { return layout_; }

 private:
  std::size_t element_bytes() const { return c_.fp32_rows ? 4 : 2; }
  std::size_t row_elements() const { return width_ + static_cast<std::size_t>(c_.row_pad); }
  std::size_t at(std::int64_t i, std::size_t d) const {
    return (static_cast<std::size_t>(c_.row_shift) + static_cast<std::size_t>(i) * row_elements() +
            d) *
           element_bytes();
  }
  std::byte* value(std::int64_t i, std::size_t d) { return values.host.data() + at(i, d); }
  const std::byte* value(std::int64_t i, std::size_t d) const {
    return values.host.data() + at(i, d);
  }
  void write_slot(std::int64_t i) {
    const std::int64_t wide = slot(i);
    const auto narrow = static_cast<std::int32_t>(wide);
    std::byte* to = slots.host.data() + 8 * i;
    if (c_.wide_slots)
      std::memcpy(to, &wide, 8);
    else
      std::memcpy(to, &narrow, 4);
  }

  Case c_;
  const KvLayout& layout_;
  std::size_t width_;
  std::int64_t row_stride_, page_stride_;
  std::mt19937 random_{3};

 public:
  Memory pool, slots, values;
};

class KvRowsTest : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) GTEST_SKIP() << "no device";
  }
};

TEST_P(KvRowsTest, AppendStoresTheBytesOfTheCodec) {
  Rows rows(GetParam());
  for (std::int64_t i = 0; i < kCount; ++i)
    rows.set_row(i, test::hostile_row(static_cast<int>(i) % test::kHostileRows, rows.width(),
                                      rows.random()));
  rows.pool.upload();
  rows.values.upload();
  std::vector<std::byte> wanted = rows.pool.host;
  const auto rule =
      GetParam().pow2 ? kvcache::ScaleRule::pow2_fp32 : kvcache::ScaleRule::arbitrary_fp32;
  for (std::int64_t i = 0; i < kCount; ++i)
    if (rows.stored(i)) kvcache::encode_row(rows.codec(wanted), rows.slot(i), rule, rows.row(i));
  ASSERT_EQ(GetParam().move(rows.args(), true, nullptr), cudaSuccess);
  ASSERT_TRUE(rows.pool.download()) << cudaGetErrorString(cudaGetLastError());
  EXPECT_TRUE(rows.pool.host == wanted);
}

TEST_P(KvRowsTest, DequantGivesTheValuesOfTheCodec) {
  Rows rows(GetParam());
  // The pool keeps any codes and any bf16; scales are finite.
  const kvcache::Pool pool = rows.codec(rows.pool.host);
  for (std::int64_t slot = 0; slot < pool.slots(); ++slot) {
    std::byte* scale = kvcache::row_address(pool, slot).scale;
    for (int g = 0; scale != nullptr && g < rows.layout().latent / rows.layout().group; ++g) {
      const std::uint32_t bits = (rows.random()() & 0x7FFFFFFFU) % 0x7F800000U;
      std::memcpy(scale + 4 * g, &bits, 4);
    }
  }
  rows.pool.upload();
  rows.values.upload();
  ASSERT_EQ(GetParam().move(rows.args(), false, nullptr), cudaSuccess);
  std::vector<float> values(rows.width());
  for (std::int64_t i = 0; i < kCount; ++i) {
    if (!rows.stored(i)) continue;
    kvcache::decode_row(pool, rows.slot(i), values);
    rows.set_row(i, values);
  }
  const std::vector<std::byte> wanted = rows.values.host;
  ASSERT_TRUE(rows.values.download()) << cudaGetErrorString(cudaGetLastError());
  EXPECT_TRUE(rows.values.host == wanted);
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const bool fp32 : {false, true})
    for (const bool wide : {false, true})
      for (const int pad : {0, 1, 3}) {
        for (const bool pow2 : {false, true})
          for (const char* layout : {"fp8_656_g128", "fp8_528_g128"})
            all.push_back({layout, sparse::fp8::move_kv_rows, pow2, fp32, wide, pad, pad});
        for (const char* layout : {"bf16_1152", "bf16_1024"})
          all.push_back({layout, sparse::move_kv_rows, false, fp32, wide, pad, pad});
      }
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, KvRowsTest, testing::ValuesIn(cases()), [](const auto& shown) {
  const Case& c = shown.param;
  return std::string(c.layout) + (c.pow2 ? "_pow2" : "") + (c.fp32_rows ? "_fp32" : "_bf16") +
         (c.wide_slots ? "_int64" : "_int32") + "_pad" + std::to_string(c.row_pad);
});

}  // namespace
}  // namespace dsakit::cuda
