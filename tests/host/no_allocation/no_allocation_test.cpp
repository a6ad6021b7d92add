// run allocates nothing: malloc and its relatives are replaced in this program, for every library
// in it, and counted while a run is under way. A program of its own for that reason.
#include <atomic>
#include <cerrno>
#include <cstddef>

#include <gtest/gtest.h>

#include "dsakit/dsakit.hpp"
#include "host/run_case.hpp"

namespace {

std::atomic<bool> counting{false};
std::atomic<int> count{0};

void note() {
  if (counting.load(std::memory_order_relaxed)) count.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

void* malloc(std::size_t bytes) noexcept {
  note();
  return __libc_malloc(bytes);
}
void* calloc(std::size_t items, std::size_t bytes) noexcept {
  note();
  return __libc_calloc(items, bytes);
}
void* realloc(void* old, std::size_t bytes) noexcept {
  note();
  return __libc_realloc(old, bytes);
}
void* memalign(std::size_t alignment, std::size_t bytes) noexcept {
  note();
  return __libc_memalign(alignment, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  return memalign(alignment, bytes);
}
int posix_memalign(void** out, std::size_t alignment, std::size_t bytes) noexcept {
  *out = memalign(alignment, bytes);
  return *out ? 0 : ENOMEM;
}
}
#pragma GCC visibility pop

namespace dsakit::test {
namespace {

TEST(NoAllocation, InRunOfTheCpuPlugin) {
  for (const char* dtype : {"bf16", "fp8_e4m3"}) {
    const api::Catalog catalog = api::Catalog::open("local", {CPU_PLUGIN_DIR});
    const api::Session session = api::Session::open(catalog, run_request("cpu", dtype));
    RunCase small(session, "decode");
    ASSERT_TRUE(small.attention);
    ASSERT_EQ(small.append(nullptr), DSAKIT_RC_OK);
    count = 0;
    counting = true;
    dsakit_rc rc = small.run(nullptr);
    for (int i = 0; i < 10 && rc == DSAKIT_RC_OK; ++i) rc = small.run(nullptr);
    counting = false;
    EXPECT_EQ(rc, DSAKIT_RC_OK);
    EXPECT_EQ(count, 0) << dtype;
  }
}

TEST(NoAllocation, IsCountedWhereThereIsOne) {
  count = 0;
  counting = true;
  std::string text(100, 'x');
  counting = false;
  EXPECT_GT(count, 0) << text;
}

}  // namespace
}  // namespace dsakit::test
