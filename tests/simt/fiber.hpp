// A function with a stack of its own that is left and entered again in a few instructions. x86-64
// and AArch64. One thread an object.
#pragma once

#include <cstddef>
#include <memory>

namespace dsakit::simt {

class Fiber {
 public:
  // `body(context)` starts at the next enter(); it must never return.
  void start(void (*body)(void*), void* context);
  // Runs the fiber until it leaves.
  void enter();
  // Called inside: back to enter().
  void leave();

 private:
  static constexpr std::size_t kStack = 64 * 1024;
  std::unique_ptr<std::byte[]> stack_;
  void* inside_ = nullptr;  // stack pointers
  void* outside_ = nullptr;
};

}  // namespace dsakit::simt
