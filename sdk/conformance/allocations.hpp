// Counts the heap allocations of the whole process, plugins and their threads included: the program
// that links this file answers every malloc.
//
// Invariants: counting changes no allocation. Where the C library or a sanitizer does not let a
// program stand in front of malloc, can_count() is false. Any thread.
#pragma once

#include <cstdint>

namespace dsakit::conformance {

bool can_count_allocations();
void start_counting_allocations();
// How many there were since start; counting ends.
std::int64_t stop_counting_allocations();

}  // namespace dsakit::conformance
