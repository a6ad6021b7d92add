// AMD devices through the HIP runtime, declared here by hand so that no ROCm header is needed.
#include <fmt/format.h>

#include "device/driver_library.hpp"
#include "device/hip_abi.hpp"

namespace dsakit {
namespace {

using CountFn = int(int*);
using NameFn = int(char*, int, int);
using MemoryFn = int(std::size_t*, int);
using VersionFn = int(int*);
using PropertiesFn = int(void*, int);
using ErrorStringFn = const char*(int);

constexpr int kSuccess = 0;
constexpr int kNoDevice = 100;
constexpr int kMaxDevices = 1024;

struct Runtime {
  CountFn* count;
  PropertiesFn* properties;
  NameFn* name;  // optional, as are those below
  MemoryFn* memory;
  VersionFn* version;
  ErrorStringFn* error_string;

  explicit Runtime(const DriverLibrary& library)
      : count(library.function<CountFn>("hipGetDeviceCount")),
        properties(library.function<PropertiesFn>("hipGetDevicePropertiesR0600")),
        name(library.function<NameFn>("hipDeviceGetName")),
        memory(library.function<MemoryFn>("hipDeviceTotalMem")),
        version(library.function<VersionFn>("hipRuntimeGetVersion")),
        error_string(library.function<ErrorStringFn>("hipGetErrorString")) {
    if (properties == nullptr) {
      properties = library.function<PropertiesFn>("hipGetDeviceProperties");
    }
  }

  bool usable() const { return count != nullptr && properties != nullptr; }

  std::string error_text(int result) const {
    const char* const text = error_string != nullptr ? error_string(result) : nullptr;
    return text != nullptr ? fmt::format("{} ({})", text, result) : fmt::format("error {}", result);
  }
};

std::string hip_version(const Runtime& runtime) {
  int version = 0;  // 10,000,000 × major + 100,000 × minor + patch
  if (runtime.version == nullptr || runtime.version(&version) != kSuccess) return {};
  if (version < 10'000'000) return {};
  return fmt::format("{}.{}", version / 10'000'000, version % 10'000'000 / 100'000);
}

bool describe(const Runtime& runtime, int ordinal, DetectedDevice& out) {
  HipProperties properties;
  if (runtime.properties(properties.data(), ordinal) != kSuccess) return false;
  out.device = properties.arch();
  if (out.device.empty()) return false;
  out.platform = "hip";
  out.ordinal = ordinal;
  char name[256] = {};
  if (runtime.name != nullptr && runtime.name(name, sizeof name - 1, ordinal) == kSuccess)
    out.name = name;
  std::size_t bytes = 0;
  if (runtime.memory != nullptr && runtime.memory(&bytes, ordinal) == kSuccess)
    out.memory_bytes = bytes;
  return true;
}

}  // namespace

void probe_hip(const DriverSources& sources, Detection& detection) {
  const auto note = [&](std::string text) { detection.notes.push_back({"hip", std::move(text)}); };
  const DriverLibrary library(sources.hip_libraries);
  if (!library) return note(library.error());
  const Runtime runtime(library);
  if (!runtime.usable())
    return note(fmt::format("{}: lacks functions of a runtime", library.name()));

  int count = 0;
  const int result = runtime.count(&count);
  if (result != kSuccess && result != kNoDevice) {
    return note(fmt::format("{}: the runtime does not start: {}", library.name(),
                            runtime.error_text(result)));
  }
  if (result == kNoDevice || count <= 0) {
    return note(fmt::format("{}: the runtime has no device", library.name()));
  }
  const std::string version = hip_version(runtime);
  const std::string kernel_driver = version_in_files(sources.hip_version_files);
  for (int ordinal = 0; ordinal < count && ordinal < kMaxDevices; ++ordinal) {
    DetectedDevice device;
    if (!describe(runtime, ordinal, device)) {
      note(fmt::format("{}: device {} does not say what it is", library.name(), ordinal));
      continue;
    }
    device.driver = kernel_driver;
    device.runtime_hip = version;
    device.emulated = library.function<int()>("dsakit_emulated_device") != nullptr;
    detection.devices.push_back(std::move(device));
  }
}

}  // namespace dsakit
