// Where the elements of the products that the kernels use are in the lanes of a wave, from three
// sources: the rule of AMD's matrix instruction calculator for dense products on this family,
// whose tables are here as data (for the wide one the rule was worked out by hand), the general
// formulas of AMD's CDNA3 instruction set document (dense layouts), and, independent of AMD, the
// tiles that the IREE compiler distributes for the same instructions. All must agree, and the
// emulator with them.
#include <gtest/gtest.h>

#include "common/cuda/kv_values.hpp"
#include "simt/emulator.hpp"

namespace dsakit::simt {
namespace {

constexpr int kM = 16, kN = 16, kMostK = 32;

struct Place {
  int lane, item;
  bool operator==(const Place&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Place& place) {
  return out << "lane " << place.lane << " item " << place.item;
}

// A tile: an element's coordinate is `outer` times `thread` times `element` in each dimension;
// lanes advance by `stride` in a dimension.
struct Tile {
  int thread[2], stride[2], element[2];
  Place of(int row, int column) const {
    const int at[] = {row, column};
    int lane = 0, item = 0;
    for (int d = 0; d < 2; ++d) {
      lane += at[d] / element[d] % thread[d] * stride[d];
      item = item * element[d] + at[d] % element[d];
    }
    return {lane, item};
  }
};

struct Instruction {
  const char* name;
  int k;
  // The calculator's tables. Of A by column k: the lane of row 0 and the item; of B by row k: the
  // lane of column 0 and the item, which are the same. Row i of A is i lanes on, as is column j of
  // B.
  Place inputs[kMostK];
  Tile a, b, c;  // of the compiler
};

// Of C and D by row: the lane of column 0 and the item; column j is j lanes on.
constexpr Place kOutputs[kM] = {{0, 0},  {0, 1},  {0, 2},  {0, 3},  {16, 0}, {16, 1},
                                {16, 2}, {16, 3}, {32, 0}, {32, 1}, {32, 2}, {32, 3},
                                {48, 0}, {48, 1}, {48, 2}, {48, 3}};

constexpr Instruction kInstructions[] = {
    {"v_mfma_f32_16x16x16_bf16",
     16,
     {{0, 0},
      {0, 1},
      {0, 2},
      {0, 3},
      {16, 0},
      {16, 1},
      {16, 2},
      {16, 3},
      {32, 0},
      {32, 1},
      {32, 2},
      {32, 3},
      {48, 0},
      {48, 1},
      {48, 2},
      {48, 3}},
     {{16, 4}, {1, 16}, {1, 4}},
     {{4, 16}, {16, 1}, {4, 1}},
     {{4, 16}, {16, 1}, {4, 1}}},
    {"v_mfma_f32_16x16x32_bf16",
     32,
     {{0, 0},  {0, 1},  {0, 2},  {0, 3},  {0, 4},  {0, 5},  {0, 6},  {0, 7},
      {16, 0}, {16, 1}, {16, 2}, {16, 3}, {16, 4}, {16, 5}, {16, 6}, {16, 7},
      {32, 0}, {32, 1}, {32, 2}, {32, 3}, {32, 4}, {32, 5}, {32, 6}, {32, 7},
      {48, 0}, {48, 1}, {48, 2}, {48, 3}, {48, 4}, {48, 5}, {48, 6}, {48, 7}},
     {{16, 4}, {1, 16}, {1, 8}},
     {{4, 16}, {16, 1}, {8, 1}},
     {{4, 16}, {16, 1}, {4, 1}}}};

Place input(const Instruction& of, int i, int k) {
  return {of.inputs[k].lane + i, of.inputs[k].item};
}
Place output(int i, int j) {
  return {kOutputs[i].lane + j, kOutputs[i].item};
}

// The document's general layouts of A (i = row) and B (i = column), and of C and D, one block.
Place input_by_document(int k_size, int i, int k) {
  const int per_lane = k_size / (kLanes / kM);
  return {i + kM * (k / per_lane), k % per_lane};
}
Place output_by_document(int i, int j) {
  constexpr int kHeight = 4;
  constexpr int kRounds = (kLanes + kN * kM / kHeight - 1) / (kN * kM / kHeight);
  constexpr int kRows = kLanes / kRounds / kN;
  constexpr int kGroups = kM / (kHeight * kRows);
  return {j + kN * (i / kHeight % kRows),
          i % kHeight + kHeight * (i / (kHeight * kRows) % kGroups)};
}

TEST(MfmaLayout, TheSourcesAgree) {
  for (const Instruction& one : kInstructions) {
    SCOPED_TRACE(one.name);
    for (int i = 0; i < kM; ++i)
      for (int k = 0; k < one.k; ++k) {
        EXPECT_EQ(input(one, i, k), one.a.of(i, k)) << i << " " << k;
        EXPECT_EQ(input(one, i, k), one.b.of(k, i)) << i << " " << k;
        EXPECT_EQ(input(one, i, k), input_by_document(one.k, i, k)) << i << " " << k;
      }
    for (int i = 0; i < kM; ++i)
      for (int j = 0; j < kN; ++j) {
        EXPECT_EQ(output(i, j), one.c.of(i, j)) << i << " " << j;
        EXPECT_EQ(output(i, j), output_by_document(i, j)) << i << " " << j;
      }
  }
}

TEST(MfmaLayout, ProductsOfTheEmulatorLieThere) {
  const auto a = [](int i, int k) { return static_cast<float>((i * 5 + k * 3) % 11 - 5); };
  const auto b = [](int k, int j) { return static_cast<float>((k * 7 + j * 2) % 13 - 6); };
  const auto c = [](int i, int j) { return static_cast<float>(100 * i + j); };
  for (const Instruction& one : kInstructions) {
    SCOPED_TRACE(one.name);
    std::vector<Product> lanes(kLanes);
    const auto part = [&](const Place& place) -> Product& {
      return lanes[static_cast<std::size_t>(place.lane)];
    };
    for (Product& lane : lanes) lane.items = one.k / 4;
    for (int i = 0; i < kM; ++i)
      for (int k = 0; k < one.k; ++k) {
        const Place at = input(one, i, k);
        part(at).a[at.item] = cuda::to_bf16(a(i, k));
        part(at).b[at.item] = cuda::to_bf16(b(k, i));
      }
    for (int i = 0; i < kM; ++i)
      for (int j = 0; j < kN; ++j) part(output(i, j)).c[output(i, j).item] = c(i, j);
    run_grid(1, kLanes, 1, [&] { multiply(lanes[static_cast<std::size_t>(thread())]); });
    for (int i = 0; i < kM; ++i)
      for (int j = 0; j < kN; ++j) {
        float sum = c(i, j);
        for (int k = 0; k < one.k; ++k) sum += a(i, k) * b(k, j);
        EXPECT_EQ(part(output(i, j)).c[output(i, j).item], sum) << i << " " << j;
      }
  }
}

TEST(MfmaLayout, LanesAgreeOnTheInstruction) {
  EXPECT_THROW(run_grid(1, kLanes, 1,
                        [] {
                          Product product{};
                          product.items = thread() == 7 ? 8 : 4;
                          multiply(product);
                        }),
               Fault);
}

}  // namespace
}  // namespace dsakit::simt
