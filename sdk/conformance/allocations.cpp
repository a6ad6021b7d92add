#include "sdk/conformance/allocations.hpp"

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>

namespace {
std::atomic<bool> counting{false};
std::atomic<std::int64_t> allocations{0};
}  // namespace

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && \
    !defined(DSAKIT_SANITIZED)
#define DSAKIT_STANDS_BEFORE_MALLOC 1

namespace {
void note_allocation() {
  if (counting.load(std::memory_order_relaxed)) allocations.fetch_add(1, std::memory_order_relaxed);
}
}  // namespace

// The program's functions come before the C library's, for its plugins as well.
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

void* malloc(std::size_t size) {
  note_allocation();
  return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) {
  note_allocation();
  return __libc_calloc(count, size);
}
void* realloc(void* from, std::size_t size) {
  note_allocation();
  return __libc_realloc(from, size);
}
void* memalign(std::size_t alignment, std::size_t size) {
  note_allocation();
  return __libc_memalign(alignment, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  note_allocation();
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** to, std::size_t alignment, std::size_t size) {
  note_allocation();
  *to = __libc_memalign(alignment, size);
  return *to == nullptr ? ENOMEM : 0;
}
}
#endif

namespace dsakit::conformance {

bool can_count_allocations() {
#ifdef DSAKIT_STANDS_BEFORE_MALLOC
  return true;
#else
  return false;
#endif
}

void start_counting_allocations() {
  allocations = 0;
  counting = true;
}

std::int64_t stop_counting_allocations() {
  counting = false;
  return allocations;
}

}  // namespace dsakit::conformance
