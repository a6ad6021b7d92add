// How evenly the work of HIP calls is divided, in a model: a block costs 1, a token kTurn more for
// each of its parts, cut tokens kMergeCost; workgroups start in order, where one has ended.
#include "common/hip/plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <queue>
#include <random>
#include <vector>

#include "common/hip/sparse_call.hpp"

namespace dsakit::hip {
namespace {

struct Shape {
  int tokens, heads, units;
  bool short_lists;
};
constexpr int kTopk = 2048;

// Blocks of each token: all, or as of lengths drawn evenly.
std::vector<int> blocks_of_tokens(const Shape& shape) {
  std::mt19937 random(3);
  std::vector<int> blocks(static_cast<std::size_t>(shape.tokens), blocks_of(kTopk));
  if (shape.short_lists)
    for (int& one : blocks) one = blocks_of(static_cast<int>(random() % (kTopk + 1)));
  return blocks;
}

// When the last of workgroups ends, of which `at_once` run at once.
double end_of(const std::vector<int>& costs, int at_once) {
  std::priority_queue<double, std::vector<double>, std::greater<>> ends;
  double last = 0;
  for (const int cost : costs) {
    double start = 0;
    if (static_cast<int>(ends.size()) == at_once) {
      start = ends.top();
      ends.pop();
    }
    ends.push(start + cost);
    last = std::max(last, start + cost);
  }
  return last;
}

double end_of_plan(const Shape& shape) {
  const std::vector<int> blocks = blocks_of_tokens(shape);
  const int at_once = places(shape.heads, shape.units);
  const Plan plan =
      make_plan(shape.tokens, shape.heads, kTopk, shape.units, shape.short_lists, false);
  std::vector<int> costs;
  if (plan.cut == Cut::none) {
    for (const int one : blocks) costs.push_back(one + kTurn);
    return end_of(costs, at_once);
  }
  int length = -kTurn;
  for (const int one : blocks) length += one + kTurn;
  const Ranges ranges(plan, length);
  EXPECT_LE(ranges.count, plan.ranges);
  int covered = 0;
  for (int g = 0; g < ranges.count; ++g) {
    int cost = 0, at = 0;
    for (const int one : blocks) {
      const int first = std::max(ranges.start(g) - at, 0);
      const int last = std::min(ranges.start(g + 1) - at, one);
      if (first < last) {
        EXPECT_EQ(ranges.of(at + first), g);
        EXPECT_EQ(ranges.of(at + last - 1), g);
        cost += last - first + kTurn;
        covered += last - first;
      }
      at += one + kTurn;
    }
    costs.push_back(cost);
  }
  EXPECT_EQ(covered, length + kTurn - shape.tokens * kTurn);
  return end_of(costs, at_once) + kMergeCost;
}

// Each token in as many equal parts as there is room for at once.
double end_of_equal_parts(const Shape& shape) {
  const int at_once = places(shape.heads, shape.units);
  const int parts = std::clamp(at_once / shape.tokens, 1, kMaxSplits);
  std::vector<int> costs;
  for (const int one : blocks_of_tokens(shape))
    for (int i = 0; i < parts; ++i)
      costs.push_back(one * (i + 1) / parts - one * i / parts + kTurn);
  return end_of(costs, at_once) + (parts > 1 ? kMergeCost : 0);
}

double work(const Shape& shape) {
  double sum = 0;
  for (const int one : blocks_of_tokens(shape)) sum += one + kTurn;
  return sum / std::min(places(shape.heads, shape.units), kMaxSplits * shape.tokens);
}

// The README has these.
TEST(HipPlan, IsEvenInTheModel) {
  std::printf("%6s %5s %5s %7s %7s %7s %7s\n", "tokens", "heads", "units", "lengths", "ideal",
              "parts", "plan");
  for (const int units : {304, 256})
    for (const int heads : {16, 64, 128})
      for (const bool short_lists : {false, true})
        for (const int tokens : {1, 8, 64, 100, 128, 160, 200, 256, 320, 500, 1000, 2000}) {
          const Shape shape{tokens, heads, units, short_lists};
          const double plan = end_of_plan(shape), parts = end_of_equal_parts(shape);
          std::printf("%6d %5d %5d %7s %7.1f %7.1f %7.1f\n", tokens, heads, units,
                      short_lists ? "drawn" : "all", work(shape), parts, plan);
          EXPECT_LE(plan, parts + kMergeCost + 1);
          EXPECT_LE(plan, work(shape) * 1.15 + 2 * kTurn + kMergeCost + 1);
        }
}

}  // namespace
}  // namespace dsakit::hip
