// How far results may be from the truth. An element passes if its absolute or its relative error is
// small; the whole must also point in the same direction; infinities and NaN must be at the same
// places.
//
// Invariants: pure functions; any thread.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>

#include "dsakit/plugin_abi.h"
#include "sdk/conformance/reference.hpp"

namespace dsakit::conformance {

struct Tolerance {
  double absolute, relative;
  double cosine;  // of 1 - 2 sum xy / sum (x^2 + y^2)
};

// Kernels that multiply in bf16 or better; the figures of FlashMLA's own tests. The absolute part
// is meant for keys as those tests have, normal with a deviation of kKeyAmplitude, and grows with
// larger ones: it stands for weights that are rounded to bf16, each times its key.
inline constexpr float kKeyAmplitude = 0.1F;
inline constexpr Tolerance kExactOut{8e-4, 2.01 / 128, 5e-6};
inline constexpr Tolerance kExactLse{1e-6, 8.01 / 65536, 1e-7};
inline constexpr Tolerance kExactMax{1e-6, 2.01 / 65536, 1e-7};
// Kernels that multiply in 8 bits: the direction of the whole decides, not single elements.
inline constexpr Tolerance kFp8Out{HUGE_VAL, HUGE_VAL, 1e-4};
inline constexpr Tolerance kFp8Lse{2e-2, 2e-3, 1e-4};

// kExactOut for keys of this deviation.
Tolerance exact_out(double key_amplitude);

struct Comparison {
  std::int64_t elements = 0;
  std::int64_t outside = 0;   // elements that fail, misplaced infinities and NaN included
  double max_absolute = 0.0;  // over finite elements
  double cosine = 0.0;
  std::int64_t worst = -1;  // first element that fails, in [token, head, d] order; -1: none
  double expected = 0.0, found = 0.0;  // there
  double absolute = 0.0;               // of elements of at most 1
  double relative = 0.0;               // of larger ones
  double of_allowed =
      0.0;  // the largest share of what is allowed that an element needs, finite ones

  bool pass(const Tolerance& tolerance) const { return outside == 0 && cosine <= tolerance.cosine; }
};

// The worst of several comparisons.
struct Worst {
  std::int64_t elements = 0;
  double absolute = 0.0, relative = 0.0, of_allowed = 0.0;  // as in Comparison

  void add(const Comparison& comparison);
};

// What to compare: [T, h, d_v] or [T, h] in any strides, host memory.
Comparison compare_out(const Expected& expected, const DLTensor& out, const Tolerance& tolerance);
Comparison compare_lse(const Expected& expected, const DLTensor& lse, const Tolerance& tolerance);
Comparison compare_max(const Expected& expected, const DLTensor& max, const Tolerance& tolerance);

// "max error 3.1e-04, cosine 1.2e-07" or where it fails first.
std::string describe(const Comparison& comparison);

}  // namespace dsakit::conformance
