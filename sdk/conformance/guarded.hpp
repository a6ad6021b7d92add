// A copy of bytes that ends where readable memory ends: whoever reads or writes further ends the
// process. Up to seven bytes between, which alignment needs, tell by their value whether they were
// written. Not copyable; one thread.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
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
    slack_ = (8 - bytes % 8) % 8;
    end_ = region_ + pages_ - page - slack_;
    std::memset(end_, kSlack, slack_);
    at_ = end_ - bytes;
    std::memcpy(at_, from, bytes);
  }
  ~Guarded() { munmap(region_, pages_); }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;

  bool intact() const {
    return std::all_of(end_, end_ + slack_, [](std::byte b) { return b == std::byte{kSlack}; });
  }

  template <class Struct>
  Struct* as() {
    return reinterpret_cast<Struct*>(at_);
  }

 private:
  static constexpr unsigned char kSlack = 0xC7;
  std::byte *region_ = nullptr, *at_ = nullptr, *end_ = nullptr;
  std::size_t pages_ = 0, slack_ = 0;
};

// `value` with `size` as its first field, cut after `bytes` bytes.
template <class Struct>
Guarded guarded_copy(Struct value, std::uint32_t size, std::size_t bytes) {
  value.size = size;
  return {&value, bytes};
}

}  // namespace dsakit::conformance
