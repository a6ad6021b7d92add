// A CUDA driver whose device memory is the host's, shifted by one page so that a pointer that is
// used on the wrong side is noticed.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace {

constexpr std::uint64_t kShift = std::uint64_t{1} << 46;
int contexts = 0;

void* real(std::uint64_t device) {
  return reinterpret_cast<void*>(device - kShift);
}

}  // namespace

extern "C" {
int cuInit(unsigned) {
  return 0;
}
int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return ordinal == 0 ? 0 : 101;
}
int cuDevicePrimaryCtxRetain(void** context, int) {
  *context = &contexts;
  ++contexts;
  return 0;
}
int cuDevicePrimaryCtxRelease_v2(int) {
  return contexts-- > 0 ? 0 : 201;
}
int cuCtxSetCurrent(void* context) {
  return context == &contexts ? 0 : 1;
}
int cuMemAlloc_v2(std::uint64_t* device, std::size_t bytes) {
  void* memory = bytes > (std::size_t{1} << 40) ? nullptr : std::malloc(bytes);
  if (!memory) return 2;
  *device = reinterpret_cast<std::uintptr_t>(memory) + kShift;
  return 0;
}
int cuMemFree_v2(std::uint64_t device) {
  std::free(real(device));
  return 0;
}
int cuMemcpyHtoD_v2(std::uint64_t to, const void* from, std::size_t bytes) {
  std::memcpy(real(to), from, bytes);
  return 0;
}
int cuMemcpyDtoH_v2(void* to, std::uint64_t from, std::size_t bytes) {
  std::memcpy(to, real(from), bytes);
  return 0;
}
int cuMemsetD8_v2(std::uint64_t to, unsigned char value, std::size_t bytes) {
  std::memset(real(to), value, bytes);
  return 0;
}
int cuCtxSynchronize() {
  return 0;
}
}
