// How much of a long enumeration a test walks through: all of it, but every kPart-th step where
// sanitizers make each step slow. The whole enumeration is always run by the release build.
#ifndef DSAKIT_TESTS_SUPPORT_PART_HPP
#define DSAKIT_TESTS_SUPPORT_PART_HPP

#include <cstddef>

namespace dsakit::test {

#ifdef DSAKIT_SANITIZED
inline constexpr std::size_t kPart = 16;
#else
inline constexpr std::size_t kPart = 1;
#endif

}  // namespace dsakit::test

#endif
