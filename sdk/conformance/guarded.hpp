// A copy of bytes that ends where readable memory ends: whoever reads or writes one byte further
// ends the process. Not copyable; one thread.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <new>

namespace dsakit::conformance {

class Guarded {
 public:
  Guarded(const void* from, std::size_t bytes) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    pages_ = (bytes + page - 1) / page * page + page;
    void* region =
        mmap(nullptr, pages_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (region == MAP_FAILED) throw std::bad_alloc();
    region_ = static_cast<std::byte*>(region);
    mprotect(region_ + pages_ - page, page, PROT_NONE);
    at_ = region_ + pages_ - page - bytes;
    std::memcpy(at_, from, bytes);
  }
  ~Guarded() { munmap(region_, pages_); }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;

  template <class Struct>
  Struct* as() {
    return reinterpret_cast<Struct*>(at_);
  }

 private:
  std::byte *region_ = nullptr, *at_ = nullptr;
  std::size_t pages_ = 0;
};

// `value` with `size` as its first field, cut after `bytes` bytes.
template <class Struct>
Guarded guarded_copy(Struct value, std::uint32_t size, std::size_t bytes) {
  value.size = size;
  return {&value, bytes};
}

}  // namespace dsakit::conformance
