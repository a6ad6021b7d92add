// The emulator finds each mistake that it is there for, whatever the order of the waves, and says
// nothing about kernels without one.
#include "simt/emulator.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace dsakit::simt {
namespace {

constexpr int kThreads = 4 * kLanes;
constexpr int kSeeds = 20;

// What the emulator says about a kernel; in every order of the waves that is tried it says
// something, or in every one nothing.
std::string verdict(const std::function<void()>& kernel) {
  std::string said;
  int faults = 0;
  for (int seed = 0; seed < kSeeds; ++seed) {
    try {
      run_grid(2, kThreads, static_cast<std::uint64_t>(seed), kernel);
    } catch (const Fault& fault) {
      said = fault.what();
      ++faults;
    }
  }
  EXPECT_TRUE(faults == 0 || faults == kSeeds) << faults << " " << said;
  return said;
}

void store(unsigned char* at, int value) {
  written(at, 4, 4);
  std::memcpy(at, &value, 4);
}
int load(const unsigned char* at) {
  read(at, 4, 4);
  int value = 0;
  std::memcpy(&value, at, 4);
  return value;
}
unsigned char* word(int thread) {
  return lds(kThreads * 4) + thread * 4;
}

bool says(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

TEST(Emulator, RunsWavesThroughLdsAndOperations) {
  std::vector<int> out(2 * kThreads);
  std::vector<float> sums(2 * kThreads);
  EXPECT_EQ(verdict([&] {
              store(word(thread()), thread() * 3);
              barrier();
              const auto mine = workgroup() * kThreads + static_cast<unsigned>(thread());
              out[mine] = load(word(kThreads - 1 - thread()));
              float sum = static_cast<float>(thread() % kLanes);
              for (int mask = 1; mask < kLanes; mask *= 2) sum += exchange(sum, mask);
              sums[mine] = any(thread() == 70) ? sum : -sum;
            }),
            "");
  for (int i = 0; i < 2 * kThreads; ++i) {
    const auto at = static_cast<std::size_t>(i);
    EXPECT_EQ(out[at], (kThreads - 1 - i % kThreads) * 3);
    EXPECT_EQ(sums[at], i % kThreads / kLanes == 1 ? 2016.0F : -2016.0F);
  }
}

TEST(Emulator, FindsWavesThatShareLdsWithoutABarrier) {
  const auto after_write = [](bool with_barrier) {
    return verdict([=] {
      store(word(thread()), 1);
      if (with_barrier) barrier();
      load(word((thread() + kLanes) % kThreads));
    });
  };
  EXPECT_TRUE(says(after_write(false), "which nobody wrote") ||
              says(after_write(false), "without a barrier between"));
  EXPECT_EQ(after_write(true), "");
  EXPECT_TRUE(says(verdict([] {
                     store(word(thread()), 1);
                     barrier();
                     load(word((thread() + kLanes) % kThreads));
                     store(word(thread()), 2);  // while another wave may still read
                   }),
                   "without a barrier between"));
}

TEST(Emulator, FindsLanesThatShareLdsWithoutAnOperation) {
  const auto through = [](bool with_operation) {
    return verdict([=] {
      store(word(thread()), 1);
      if (with_operation) any(false);
      load(word(thread() ^ 1));
    });
  };
  EXPECT_FALSE(through(false).empty());
  EXPECT_EQ(through(true), "");
}

TEST(Emulator, FindsLdsThatNobodyWrote) {
  EXPECT_TRUE(says(verdict([] {
                     if (thread() != 7) store(word(thread()), 1);
                     barrier();
                     load(word(thread()));
                   }),
                   "which nobody wrote"));
}

TEST(Emulator, FindsAccessBeyondLdsOrOffItsAlignment) {
  EXPECT_TRUE(says(verdict([] { written(word(0) + kThreads * 4, 4, 4); }), "of LDS at byte"));
  EXPECT_TRUE(says(verdict([] { written(word(0) + 8, 16, 16); }), "is not aligned to 16"));
}

TEST(Emulator, FindsLanesThatDoNotMeet) {
  EXPECT_TRUE(says(verdict([] {
                     if (thread() != 65) any(true);
                   }),
                   "thread 65 its end"));
  EXPECT_TRUE(says(verdict([] {
                     if (thread() % 2 == 0) {
                       any(true);
                     } else {
                       barrier();
                     }
                   }),
                   "a barrier"));
  EXPECT_TRUE(says(verdict([] { exchange(0, thread() % kLanes < 32 ? 1 : 2); }), "wave_xor"));
}

TEST(Emulator, FindsABarrierThatNotAllWavesReach) {
  EXPECT_TRUE(says(verdict([] {
                     if (thread() / kLanes != 2) barrier();
                   }),
                   "wait at a barrier"));
}

}  // namespace
}  // namespace dsakit::simt
