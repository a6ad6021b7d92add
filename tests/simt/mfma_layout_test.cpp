// Where the elements of a 16x16x16 product are in the lanes of a wave: the emulator and the
// wrapper's comment against the general formulas of AMD's CDNA3 instruction set document (matrix
// arithmetic, dense layouts), and against single entries as AMD's matrix instruction calculator
// prints them.
#include <gtest/gtest.h>

#include <cmath>

#include "common/cuda/kv_values.hpp"
#include "simt/emulator.hpp"

namespace dsakit::simt {
namespace {

constexpr int kM = 16, kN = 16, kK = 16, kBlocks = 1;

struct Place {
  int lane, item;
};

// The document's layout of A (i = row) and of B (i = column).
Place input(int i, int k) {
  constexpr int kPerLane = kK / (kLanes / (kM * kBlocks));
  return {i + kM * (k / kPerLane), k % kPerLane};
}
// Its layout of C and D.
Place output(int i, int j) {
  constexpr int kHeight = 4;
  constexpr int kRounds = (kLanes + kN * kM / kHeight - 1) / (kN * kM / kHeight);
  constexpr int kRows = kLanes / kRounds / kN;
  constexpr int kGroups = kM / (kHeight * kRows);
  return {j + kN * (i / kHeight % kRows),
          i % kHeight + kHeight * (i / (kHeight * kRows) % kGroups)};
}

TEST(MfmaLayout, ProductsLieWhereTheDocumentPutsThem) {
  float expected[kM][kN] = {};
  std::vector<Product> lanes(kLanes);
  const auto a = [](int i, int k) { return static_cast<float>((i * 5 + k * 3) % 11 - 5); };
  const auto b = [](int k, int j) { return static_cast<float>((k * 7 + j * 2) % 13 - 6); };
  const auto c = [](int i, int j) { return static_cast<float>(100 * i + j); };
  for (int i = 0; i < kM; ++i)
    for (int k = 0; k < kK; ++k) {
      const Place row = input(i, k), column = input(i, k);
      lanes[static_cast<std::size_t>(row.lane)].a[row.item] = cuda::to_bf16(a(i, k));
      lanes[static_cast<std::size_t>(column.lane)].b[column.item] = cuda::to_bf16(b(k, i));
    }
  for (int i = 0; i < kM; ++i)
    for (int j = 0; j < kN; ++j) {
      const Place place = output(i, j);
      lanes[static_cast<std::size_t>(place.lane)].c[place.item] = c(i, j);
      expected[i][j] = c(i, j);
      for (int k = 0; k < kK; ++k) expected[i][j] += a(i, k) * b(k, j);
    }
  run_grid(1, kLanes, 1, [&] { multiply(lanes[static_cast<std::size_t>(thread())]); });
  for (int i = 0; i < kM; ++i)
    for (int j = 0; j < kN; ++j) {
      const Place place = output(i, j);
      EXPECT_EQ(lanes[static_cast<std::size_t>(place.lane)].c[place.item], expected[i][j])
          << i << " " << j;
    }
}

TEST(MfmaLayout, FormulasGiveTheEntriesOfTheCalculator) {
  const auto is = [](const Place& place, int lane, int item) {
    return place.lane == lane && place.item == item;
  };
  EXPECT_TRUE(is(input(0, 0), 0, 0));
  EXPECT_TRUE(is(input(3, 6), 19, 2));
  EXPECT_TRUE(is(input(15, 15), 63, 3));
  EXPECT_TRUE(is(output(0, 0), 0, 0));
  EXPECT_TRUE(is(output(5, 7), 23, 1));
  EXPECT_TRUE(is(output(15, 15), 63, 3));
}

}  // namespace
}  // namespace dsakit::simt
