// Memory of the emulated runtime, as that of a GPU's, is not what a program counts when it stands
// in front of malloc: this library's operator new goes to the C library directly. Linked with
// -Bsymbolic, so that nobody else uses it.
#include <cstdlib>
#include <new>

#ifdef __GLIBC__
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
}

void* operator new(std::size_t bytes) {
  if (void* const memory = __libc_malloc(bytes)) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  if (void* const memory = __libc_memalign(static_cast<std::size_t>(alignment), bytes))
    return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
#endif
