// Row codecs of every layout in the table: byte positions, scale rules, degenerate groups, paging.
#include "kvcache/codec.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "kvcache/float8.hpp"

namespace dsakit::kvcache {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Cache {
  std::vector<std::byte> bytes;
  Pool pool;
};

Cache make_cache(std::string_view name, std::int64_t pages, std::int64_t page_size) {
  const KvLayout& layout = *find_kv_layout(name);
  Cache cache;
  cache.bytes.assign(static_cast<std::size_t>(pages * layout.page_bytes(page_size)),
                     std::byte{0xA5});
  cache.pool = compact_pool(layout, cache.bytes.data(), pages, page_size);
  return cache;
}

std::vector<float> random_row(const KvLayout& layout, std::mt19937& random) {
  std::normal_distribution<float> normal(0.0F, 3.0F);
  std::vector<float> row(static_cast<std::size_t>(layout.d_qk()));
  for (float& value : row) value = normal(random);
  return row;
}

float float_at(const Cache& cache, std::size_t offset) {
  float value = 0;
  std::memcpy(&value, cache.bytes.data() + offset, 4);
  return value;
}

class EveryLayout : public testing::TestWithParam<KvLayout> {};

TEST_P(EveryLayout, RowsReturnWithinTheFormatsError) {
  const KvLayout& layout = GetParam();
  std::mt19937 random(7);
  for (const ScaleRule rule : {ScaleRule::arbitrary_fp32, ScaleRule::pow2_fp32}) {
    Cache cache = make_cache(layout.name, 3, 5);
    cache.pool.tensor_scale = 0.07F;
    const std::vector<float> row = random_row(layout, random);
    encode_row(cache.pool, 8, rule, row);
    std::vector<float> back(row.size());
    decode_row(cache.pool, 8, back);
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool byte =
          i < static_cast<std::size_t>(layout.latent) && layout.scale != KvScale::none;
      const float step = byte ? std::max(std::fabs(row[i]) / 16, 0.004F) : std::fabs(row[i]) / 256;
      EXPECT_NEAR(back[i], row[i], step) << layout.name << " element " << i;
    }
  }
}

TEST_P(EveryLayout, EncodingIsIdempotent) {
  const KvLayout& layout = GetParam();
  std::mt19937 random(9);
  Cache cache = make_cache(layout.name, 2, 4);
  encode_row(cache.pool, 5, ScaleRule::pow2_fp32, random_row(layout, random));
  const std::vector<std::byte> first = cache.bytes;
  std::vector<float> values(static_cast<std::size_t>(layout.d_qk()));
  decode_row(cache.pool, 5, values);
  encode_row(cache.pool, 5, ScaleRule::pow2_fp32, values);
  std::vector<float> again(values.size());
  decode_row(cache.pool, 5, again);
  EXPECT_EQ(values, again);
}

TEST_P(EveryLayout, SlotsShareNoByteAndFillNothingElse) {
  const KvLayout& layout = GetParam();
  for (const std::int64_t page_size : {1, 2, 7, 64}) {
    Cache cache = make_cache(layout.name, 2, page_size);
    std::vector<int> touched(cache.bytes.size());
    const auto touch = [&](const std::byte* at, std::int32_t count) {
      for (std::int32_t i = 0; i < count; ++i)
        ++touched[static_cast<std::size_t>(at + i - cache.bytes.data())];
    };
    for (std::int64_t slot = 0; slot < cache.pool.slots(); ++slot) {
      const RowAddress at = row_address(cache.pool, slot);
      touch(at.data, layout.row_bytes);
      if (layout.footer()) touch(at.scale, layout.footer_bytes);
    }
    const auto used = static_cast<std::int64_t>(std::count(touched.begin(), touched.end(), 1));
    EXPECT_EQ(used, cache.pool.slots() * layout.token_bytes) << layout.name;
    EXPECT_EQ(*std::max_element(touched.begin(), touched.end()), 1) << layout.name;
  }
}

TEST_P(EveryLayout, WritingOneSlotLeavesTheOthers) {
  const KvLayout& layout = GetParam();
  std::mt19937 random(11);
  Cache cache = make_cache(layout.name, 3, 6);
  const std::int64_t mine = 10;
  std::set<const std::byte*> own;
  const RowAddress at = row_address(cache.pool, mine);
  for (std::int32_t i = 0; i < layout.row_bytes; ++i) own.insert(at.data + i);
  for (std::int32_t i = 0; i < layout.footer_bytes; ++i) own.insert(at.scale + i);
  encode_row(cache.pool, mine, ScaleRule::arbitrary_fp32, random_row(layout, random));
  for (const std::byte& byte : cache.bytes) {
    if (!own.contains(&byte)) {
      ASSERT_EQ(byte, std::byte{0xA5}) << layout.name;
    }
  }
}

TEST_P(EveryLayout, ZeroInfinityAndNaNGroups) {
  const KvLayout& layout = GetParam();
  Cache cache = make_cache(layout.name, 1, 2);
  std::vector<float> row(static_cast<std::size_t>(layout.d_qk()), 0.0F), back(row.size());
  for (const ScaleRule rule : {ScaleRule::arbitrary_fp32, ScaleRule::pow2_fp32}) {
    std::fill(row.begin(), row.end(), 0.0F);
    encode_row(cache.pool, 1, rule, row);
    decode_row(cache.pool, 1, back);
    EXPECT_EQ(back, row) << layout.name;

    row[0] = kNan;
    row[1] = 2.0F;
    encode_row(cache.pool, 1, rule, row);
    decode_row(cache.pool, 1, back);
    EXPECT_TRUE(std::isnan(back[0])) << layout.name;
    EXPECT_NEAR(back[1], 2.0F, 0.125F) << layout.name;
    EXPECT_EQ(back[2], 0.0F) << layout.name;
  }
  if (layout.scale == KvScale::none) return;
  row[0] = kInf;
  encode_row(cache.pool, 1, ScaleRule::arbitrary_fp32, row);
  decode_row(cache.pool, 1, back);
  EXPECT_FALSE(std::isnan(back[0])) << layout.name;
  EXPECT_GT(back[0], layout.scale == KvScale::tensor_fp32 ? 200.0F : 1e30F) << layout.name;
}

INSTANTIATE_TEST_SUITE_P(Table, EveryLayout, testing::ValuesIn(kKvLayouts),
                         [](const auto& shown) { return std::string(shown.param.name); });

TEST(KvLayoutTable, SizesFollowFromTheParts) {
  for (const KvLayout& layout : kKvLayouts) {
    EXPECT_EQ(layout.token_bytes, layout.row_bytes + layout.footer_bytes) << layout.name;
    const int scales = layout.scale == KvScale::group_fp32 ? 4 * layout.latent / layout.group : 0;
    const int data = layout.latent * layout.element_bytes() + 2 * layout.rope;
    EXPECT_EQ(layout.row_bytes, data + (layout.footer() ? 0 : scales)) << layout.name;
    EXPECT_EQ(find_kv_layout(layout.name)->token_bytes, layout.token_bytes);
    EXPECT_LE(layout.d_v, layout.d_qk());
  }
  EXPECT_EQ(find_kv_layout("fp8_656"), nullptr);
}

TEST(KvLayoutTable, PaddedPagesOfV4) {
  const KvLayout& layout = *find_kv_layout("v4_584");
  EXPECT_EQ(layout.page_bytes(256), 149760);
  EXPECT_EQ(layout.page_bytes(64), 37440);
  EXPECT_EQ(layout.page_bytes(2), 1728);
  EXPECT_EQ(find_kv_layout("indexer_132")->page_bytes(64), 8448);
}

TEST(Codec, BytesOfA656Row) {
  Cache cache = make_cache("fp8_656_g128", 2, 3);
  std::vector<float> row(576, 0.0F);
  row[0] = 896.0F;  // group 0: amax 896 → scale 2
  row[1] = -2.0F;   // -1 → 0xB8
  row[130] = 3.0F;  // group 1
  row[512] = 1.0F;  // rope
  row[575] = -2.5F;
  encode_row(cache.pool, 4, ScaleRule::arbitrary_fp32, row);
  const std::size_t base = 4 * 656;
  EXPECT_EQ(cache.bytes[base], std::byte{0x7E});
  EXPECT_EQ(cache.bytes[base + 1], std::byte{0xB8});
  EXPECT_EQ(float_at(cache, base + 512), 2.0F);
  EXPECT_EQ(float_at(cache, base + 516), 3.0F / 448.0F);
  EXPECT_EQ(float_at(cache, base + 520), FLT_MIN);
  EXPECT_EQ(cache.bytes[base + 529], std::byte{0x3F});
  EXPECT_EQ(cache.bytes[base + 528], std::byte{0x80});
  EXPECT_EQ(cache.bytes[base + 655], std::byte{0xC0});
  EXPECT_EQ(cache.bytes[base + 654], std::byte{0x20});
}

TEST(Codec, BytesOfAV4Page) {
  Cache cache = make_cache("v4_584", 2, 2);
  std::vector<float> row(512, 0.0F);
  row[64] = 448.0F;   // group 1: scale 1 → 127
  row[128] = 449.0F;  // group 2: scale 2 → 128
  row[448] = 1.0F;    // rope
  encode_row(cache.pool, 3, ScaleRule::arbitrary_fp32, row);
  const std::size_t page = 1728;
  EXPECT_EQ(cache.bytes[page + 576 + 64], std::byte{0x7E});
  EXPECT_EQ(cache.bytes[page + 576 + 449], std::byte{0x3F});
  const std::size_t footer = page + 2 * 576 + 8;
  EXPECT_EQ(cache.bytes[footer], std::byte{127 - 13});  // floor 1e-4 rounds up to 2^-13
  EXPECT_EQ(cache.bytes[footer + 1], std::byte{127});
  EXPECT_EQ(cache.bytes[footer + 2], std::byte{128});
  EXPECT_EQ(cache.bytes[footer + 7], std::byte{0});
}

TEST(Codec, ScaleRules) {
  EXPECT_EQ(group_scale(ScaleRule::arbitrary_fp32, 0.0F), FLT_MIN);
  EXPECT_EQ(group_scale(ScaleRule::arbitrary_fp32, 1.0F), 1.0F / 448.0F);
  EXPECT_EQ(group_scale(ScaleRule::pow2_fp32, 0.0F), std::ldexp(1.0F, -13));
  EXPECT_EQ(group_scale(ScaleRule::pow2_fp32, 448.0F), 1.0F);
  EXPECT_EQ(group_scale(ScaleRule::pow2_fp32, std::nextafter(448.0F, kInf)), 2.0F);
  EXPECT_EQ(group_scale(ScaleRule::pow2_fp32, 0.0448F), std::ldexp(1.0F, -13));
  EXPECT_EQ(group_scale(ScaleRule::pow2_fp32, 1.0F), std::ldexp(1.0F, -8));
}

TEST(Codec, DecodingKeepsArbitraryScalesInFull) {
  Cache cache = make_cache("fp8_528_g128", 1, 1);
  std::fill(cache.bytes.begin(), cache.bytes.end(), std::byte{0x3A});  // 1.25
  const float scale = 0.0123456789F;
  std::memcpy(cache.bytes.data() + 512, &scale, 4);
  std::vector<float> row(512);
  decode_row(cache.pool, 0, row);
  EXPECT_EQ(row[0], 1.25F * scale);
}

TEST(Codec, FnuzUsesItsOwnRange) {
  Cache cache = make_cache("fp8_576_pt_fnuz", 1, 1);
  std::vector<float> row(576, 500.0F);
  row[1] = -0.0F;
  encode_row(cache.pool, 0, ScaleRule::arbitrary_fp32, row);
  EXPECT_EQ(cache.bytes[0], std::byte{0x7F});
  EXPECT_EQ(cache.bytes[1], std::byte{0});
  std::vector<float> back(576);
  decode_row(cache.pool, 0, back);
  EXPECT_EQ(back[0], 240.0F);
}

TEST(Codec, StridesBeyondTheCompactOnes) {
  Cache cache = make_cache("bf16_1024", 16, 4);
  cache.pool = {.layout = find_kv_layout("bf16_1024"),
                .data = cache.bytes.data() + 16,
                .pages = 3,
                .page_size = 4,
                .page_stride = 4 * 2048 + 32,
                .row_stride = 2048};
  std::vector<float> row(512, 1.5F), back(512);
  encode_row(cache.pool, 6, ScaleRule::arbitrary_fp32, row);
  EXPECT_EQ(row_address(cache.pool, 6).data, cache.bytes.data() + 16 + 8224 + 4096);
  decode_row(cache.pool, 6, back);
  EXPECT_EQ(back, row);
}

TEST(Codec, SlotBoundsAreOfThePool) {
  const Cache cache = make_cache("fp8_656_g128", 3, 5);
  EXPECT_TRUE(cache.pool.contains(14));
  EXPECT_FALSE(cache.pool.contains(15));
  EXPECT_FALSE(cache.pool.contains(-1));
  EXPECT_FALSE(cache.pool.contains(std::numeric_limits<std::int64_t>::min()));
}

}  // namespace
}  // namespace dsakit::kvcache
