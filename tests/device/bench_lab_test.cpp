// Device test of what `dsakit bench` writes on a GPU and of how it times: indices, lengths, queries
// and rows as they must be, spans that are those of the work.
//
// Exit status 1 if a case failed; cases are skipped without a GPU or CUPTI.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "bench/gpu_lab.hpp"
#include "bench/matrix_product.hpp"
#include "kvcache/float8.hpp"

namespace dsakit::cli {
namespace {

class Lab : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = GpuLab::open(0);
    if (!opened) GTEST_SKIP() << std::get<std::string>(opened.error().fields.front().value);
    lab_ = std::move(*opened);
  }

  template <class T>
  std::vector<T> read(const void* from, std::size_t count) {
    std::vector<T> out(count);
    EXPECT_TRUE(lab_->wait() && lab_->device().download(out.data(), from, count * sizeof(T)));
    return out;
  }

  std::vector<std::int32_t> indices(IndexFill fill) {
    const auto memory = lab_->make(static_cast<std::size_t>(fill.tokens * fill.row_stride) * 4);
    EXPECT_TRUE(lab_->device().fill(memory.get(), std::byte{0x77},
                                    static_cast<std::size_t>(fill.tokens * fill.row_stride) * 4));
    fill.to = static_cast<std::int32_t*>(memory.get());
    EXPECT_TRUE(lab_->fill(fill));
    return read<std::int32_t>(memory.get(),
                              static_cast<std::size_t>(fill.tokens * fill.row_stride));
  }

  std::unique_ptr<GpuLab> lab_;
};

IndexFill list_of(std::int64_t tokens, std::int64_t topk, std::int64_t pool) {
  IndexFill fill;
  fill.tokens = tokens;
  fill.topk = topk;
  fill.row_stride = topk + 4;
  fill.pool = pool;
  fill.seed = 11;
  return fill;
}

std::set<std::int32_t> row_of(const std::vector<std::int32_t>& list, const IndexFill& fill,
                              std::int64_t token) {
  const auto first = list.begin() + token * fill.row_stride;
  return {first, first + fill.topk};
}

TEST_F(Lab, IndexRowsAreFreshPermutationsOfTheirPool) {
  for (const std::int64_t pool : {2048, 2049, 131072}) {
    IndexFill fill = list_of(9, 2048, pool);
    const auto one = indices(fill);
    fill.seed = 12;
    const auto other = indices(fill);
    EXPECT_NE(one, other);
    for (std::int64_t t = 0; t < fill.tokens; ++t) {
      const auto row = row_of(one, fill, t);
      EXPECT_EQ(row.size(), 2048u) << "no repeats, pool " << pool;
      EXPECT_GE(*row.begin(), 0);
      EXPECT_LT(*row.rbegin(), pool);
      EXPECT_EQ(one[static_cast<std::size_t>(t * fill.row_stride + fill.topk)], 0x77777777);
    }
    EXPECT_FALSE(std::is_sorted(one.begin(), one.begin() + fill.topk));
  }
}

TEST_F(Lab, RequestsHavePoolsOfTheirOwn) {
  IndexFill fill = list_of(8, 512, 1000);
  fill.tokens_per_pool = 2;
  const auto list = indices(fill);
  for (std::int64_t t = 0; t < fill.tokens; ++t) {
    const auto row = row_of(list, fill, t);
    EXPECT_GE(*row.begin(), t / 2 * 1000);
    EXPECT_LT(*row.rbegin(), (t / 2 + 1) * 1000);
    EXPECT_EQ(row.size(), 512u);
  }
}

TEST_F(Lab, NeighboursShareWhatTheyAreAskedTo) {
  IndexFill fill = list_of(4, 1000, 50000);
  fill.shift = 150;
  const auto list = indices(fill);
  for (std::int64_t t = 1; t < fill.tokens; ++t) {
    const auto before = row_of(list, fill, t - 1), now = row_of(list, fill, t);
    EXPECT_EQ(now.size(), 1000u);
    EXPECT_EQ(std::ranges::count_if(now, [&](auto slot) { return before.contains(slot); }), 850);
  }
}

TEST_F(Lab, SomeIndicesAreInvalid) {
  IndexFill fill = list_of(64, 2048, 131072);
  fill.row_stride = fill.topk;
  fill.invalid = 42949673;  // 1 %
  const auto list = indices(fill);
  EXPECT_NEAR(static_cast<double>(std::ranges::count(list, -1)) / static_cast<double>(list.size()),
              0.01, 0.001);
}

TEST_F(Lab, QueriesAreNormalAndLengthsSpread) {
  QueryFill fill;
  fill.tokens = 64;
  fill.heads = 16;
  fill.width = 576;
  fill.head_stride = 580;
  fill.token_stride = 16 * 580;
  fill.seed = 5;
  const auto count = static_cast<std::size_t>(fill.tokens * fill.token_stride);
  const auto memory = lab_->make(count * 2);
  ASSERT_TRUE(lab_->device().fill(memory.get(), std::byte{0}, count * 2));
  fill.to = static_cast<std::uint16_t*>(memory.get());
  ASSERT_TRUE(lab_->fill(fill));
  double sum = 0, squares = 0;
  for (const std::uint16_t bits : read<std::uint16_t>(memory.get(), count)) {
    const auto value = static_cast<double>(kvcache::bf16_decode(bits));
    sum += value;
    squares += value * value;
  }
  const double values = 64.0 * 16 * 576;
  EXPECT_NEAR(sum / values, 0, 0.01);
  EXPECT_NEAR(squares / values, 1, 0.01);
  LengthFill length;
  length.to = reinterpret_cast<std::int32_t*>(memory.get());
  length.tokens = 4096;
  length.topk = 2048;
  ASSERT_TRUE(lab_->fill(length));
  double mean = 0;
  for (const std::int32_t each : read<std::int32_t>(memory.get(), 4096)) {
    EXPECT_TRUE(each >= 0 && each <= 2048);
    mean += each / 4096.0;
  }
  EXPECT_NEAR(mean, 1024, 40);
}

TEST_F(Lab, RowsAreCopiesOfSamplesAndGapsStay) {
  const std::vector<std::uint32_t> samples{10, 11, 20, 21, 30, 31};
  const auto from = lab_->make(samples.size() * 4);
  ASSERT_TRUE(lab_->device().upload(from.get(), samples.data(), samples.size() * 4));
  constexpr std::size_t kWords = 5 * 20;
  const auto to = lab_->make(kWords * 4);
  ASSERT_TRUE(lab_->device().fill(to.get(), std::byte{0}, kWords * 4));
  RowFill fill;
  fill.to = static_cast<std::uint32_t*>(to.get());
  fill.samples = static_cast<const std::uint32_t*>(from.get());
  fill.rows = 5 * 4;
  fill.samples_count = 3;
  fill.row_words = 2;
  fill.rows_per_page = 4;
  fill.page_stride = 20;
  fill.row_stride = 3;
  ASSERT_TRUE(lab_->fill(fill));
  const auto words = read<std::uint32_t>(to.get(), kWords);
  for (std::size_t i = 0; i < kWords; ++i) {
    const std::size_t in_page = i % 20;
    if (in_page >= 12 || in_page % 3 == 2) {
      EXPECT_EQ(words[i], 0u) << i;
    } else {
      EXPECT_EQ(words[i] % 10, in_page % 3) << i;
      EXPECT_NE(words[i], 0u) << i;
    }
  }
}

TEST_F(Lab, SpansAreThoseOfTheMarkedWork) {
  const auto memory = lab_->make(std::size_t{1} << 30);
  const auto fill = [&](int times) {
    bool good = lab_->flush(Flush::dirty) && lab_->mark_before();
    for (int i = 0; i < times; ++i)
      good = good && lab_->device().enqueue_fill(memory.get(), std::byte{1}, std::size_t{1} << 30,
                                                 lab_->stream());
    return good && lab_->mark_behind();
  };
  const auto spans = lab_->time(6, [&](int i) { return fill(i + 1); });
  ASSERT_TRUE(spans);
  for (std::size_t i = 0; i < spans->size(); ++i) {
    EXPECT_EQ((*spans)[i].activities, static_cast<int>(i) + 1);
    EXPECT_GT((*spans)[i].us, static_cast<double>(i + 1) * 150) << "a GB takes that at 7 TB/s";
  }
}

TEST_F(Lab, TheProductOfTheCeilingIsAProduct) {
  auto product = MatrixProduct::open(lab_->stream());
  if (!product) GTEST_SKIP() << product.error();
  constexpr int kSize = 64;
  std::vector<std::uint16_t> a(kSize * kSize, kvcache::bf16_encode(0.0F)), b = a;
  for (int i = 0; i < kSize; ++i)
    a[static_cast<std::size_t>(i * kSize + i)] = kvcache::bf16_encode(2.0F);
  for (std::size_t i = 0; i < b.size(); ++i)
    b[i] = kvcache::bf16_encode(static_cast<float>(i % 97));
  const auto x = lab_->make(a.size() * 2), y = lab_->make(a.size() * 2),
             z = lab_->make(a.size() * 2);
  ASSERT_TRUE(lab_->device().upload(x.get(), a.data(), a.size() * 2));
  ASSERT_TRUE(lab_->device().upload(y.get(), b.data(), b.size() * 2));
  ASSERT_TRUE((*product)->enqueue(kSize, x.get(), y.get(), z.get()));
  const auto c = read<std::uint16_t>(z.get(), a.size());
  for (std::size_t i = 0; i < c.size(); ++i)
    ASSERT_EQ(kvcache::bf16_decode(c[i]), 2.0F * static_cast<float>(i % 97));
}

}  // namespace
}  // namespace dsakit::cli

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
