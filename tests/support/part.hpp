// How much of a long enumeration a test walks through: all of it, but every kPart-th step where
// sanitizers make each step slow (a prime, so that no nested loop is passed by). The release build
// always runs the whole enumeration.
#ifndef DSAKIT_TESTS_SUPPORT_PART_HPP
#define DSAKIT_TESTS_SUPPORT_PART_HPP

#include <cstddef>

namespace dsakit::test {

#ifdef DSAKIT_SANITIZED
inline constexpr std::size_t kPart = 61;
#else
inline constexpr std::size_t kPart = 1;
#endif

}  // namespace dsakit::test

#endif
