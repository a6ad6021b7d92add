// A HIP runtime for tests: FAKE_OFFSET is where its properties hold the arch name, as versions
// differ.
#include <cstddef>
#include <cstring>

extern "C" {
int hipGetDeviceCount(int* count) {
  *count = FAKE_COUNT;
  return FAKE_COUNT == 0 ? 100 : FAKE_RESULT;
}
int FAKE_PROPERTIES(void* properties, int ordinal) {
  char* const bytes = static_cast<char*>(properties);
  const char* const arch[] = {"gfx942:sramecc+:xnack-", "gfx90a", "gfx", "gfx1250"};
  std::memset(bytes, 0x01, FAKE_OFFSET + 512);
  std::strcpy(bytes, "gfx000 is my name");
  std::strcpy(bytes + FAKE_OFFSET, arch[ordinal]);
  return 0;
}
int hipDeviceGetName(char* name, int, int) {
  std::strcpy(name, "AMD Instinct");
  return 0;
}
int hipDeviceTotalMem(std::size_t* bytes, int) {
  *bytes = 192UL << 30;
  return 0;
}
int hipRuntimeGetVersion(int* version) {
  *version = 60342134;
  return 0;
}
const char* hipGetErrorString(int) {
  return "initialization error";
}
}
