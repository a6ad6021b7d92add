// Runs kernels for waves of 64 lanes on a CPU, and finds what a GPU would hide: lanes of a wave
// that do not reach a wave operation together, barriers that not all waves reach, LDS that is read
// before anyone wrote it or that two waves, or two lanes, touch without a barrier between.
//
// A lane runs until its next operation; waves are taken in a random order that depends on the seed.
// LDS is poisoned. One grid at a time in each thread of the program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>

namespace dsakit::simt {

inline constexpr int kLanes = 64;

struct Fault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Calls `lane` in every lane of every workgroup. Throws Fault with what went wrong.
void run_grid(std::uint32_t workgroups, int threads, std::uint64_t seed,
              const std::function<void()>& lane);

// What follows is called by lanes.
int thread();
std::uint32_t workgroup();
unsigned char* lds(std::size_t bytes);  // of the workgroup
void barrier();
float exchange(float value, int mask);  // the value of lane ^ mask
bool any(bool condition);

// Lane l's part of c += a * b, 16x16xK in bf16 and fp32. With n = K / 4 items a lane: of a, row
// l % 16 and columns n * (l / 16) on; of b, column l % 16 and rows n * (l / 16) on; of c, column
// l % 16 and rows 4 * (l / 16) on.
struct Product {
  int items = 4;  // of a and of b: 4 or 8
  std::uint16_t a[8], b[8];
  float c[4];
};
void multiply(Product& product);

// Before LDS is touched.
void read(const unsigned char* at, std::size_t bytes, std::size_t alignment);
void written(const unsigned char* at, std::size_t bytes, std::size_t alignment);

}  // namespace dsakit::simt
