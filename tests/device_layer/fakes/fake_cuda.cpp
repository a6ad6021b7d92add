// A CUDA driver for tests: FAKE_INIT is what cuInit returns; one of three devices does not answer.
#include <cstddef>
#include <cstring>

extern "C" {
#ifndef FAKE_NO_COUNT
int cuDeviceGetCount(int* count) {
  *count = FAKE_COUNT;
  return 0;
}
#endif
int cuInit(unsigned) {
  return FAKE_INIT;
}
int cuDeviceGet(int* handle, int ordinal) {
  *handle = 100 + ordinal;
  return ordinal == 1 ? 101 : 0;
}
int cuDeviceGetAttribute(int* value, int attribute, int handle) {
  const bool first = handle == 100;
  if (attribute == 75) *value = first ? 9 : 12;
  if (attribute == 76) *value = first ? 0 : 1;
  return 0;
}
#ifndef FAKE_BARE
int cuDeviceGetName(char* name, int length, int handle) {
  std::strncpy(name, handle == 100 ? "NVIDIA H200" : "NVIDIA GB10",
               static_cast<std::size_t>(length));
  return 0;
}
int cuDeviceTotalMem_v2(std::size_t* bytes, int) {
  *bytes = 141UL << 30;
  return 0;
}
int cuDriverGetVersion(int* version) {
  *version = 12090;
  return 0;
}
int cuGetErrorName(int, const char** text) {
  *text = "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH";
  return 0;
}
#endif
}
