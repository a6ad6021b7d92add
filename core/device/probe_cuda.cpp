// NVIDIA devices through the CUDA driver API, declared here by hand so that no CUDA header is
// needed.
#include <fmt/format.h>

#include "device/driver_library.hpp"

namespace dsakit {
namespace {

// CUresult, CUdevice and CUdevice_attribute are ints in the driver's C interface.
using InitFn = int(unsigned);
using CountFn = int(int*);
using DeviceFn = int(int*, int);
using NameFn = int(char*, int, int);
using AttributeFn = int(int*, int, int);
using MemoryFn = int(std::size_t*, int);
using VersionFn = int(int*);
using ErrorNameFn = int(int, const char**);

constexpr int kSuccess = 0;
constexpr int kNoDevice = 100;
constexpr int kComputeMajor = 75;
constexpr int kComputeMinor = 76;
constexpr int kMaxDevices = 1024;

struct Driver {
  InitFn* init;
  CountFn* count;
  DeviceFn* device;
  AttributeFn* attribute;
  NameFn* name;  // optional, as are those below
  MemoryFn* memory;
  VersionFn* version;
  ErrorNameFn* error_name;

  explicit Driver(const DriverLibrary& library)
      : init(library.function<InitFn>("cuInit")),
        count(library.function<CountFn>("cuDeviceGetCount")),
        device(library.function<DeviceFn>("cuDeviceGet")),
        attribute(library.function<AttributeFn>("cuDeviceGetAttribute")),
        name(library.function<NameFn>("cuDeviceGetName")),
        memory(library.function<MemoryFn>("cuDeviceTotalMem_v2")),
        version(library.function<VersionFn>("cuDriverGetVersion")),
        error_name(library.function<ErrorNameFn>("cuGetErrorName")) {}

  bool usable() const {
    return init != nullptr && count != nullptr && device != nullptr && attribute != nullptr;
  }

  std::string error_text(int result) const {
    const char* text = nullptr;
    if (error_name != nullptr && error_name(result, &text) == kSuccess && text != nullptr) {
      return fmt::format("{} ({})", text, result);
    }
    return fmt::format("error {}", result);
  }
};

std::string cuda_version(const Driver& driver) {
  int version = 0;  // 1000 × major + 10 × minor
  if (driver.version == nullptr || driver.version(&version) != kSuccess || version < 1000)
    return {};
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

// What one device says about itself; false if it does not answer.
bool describe(const Driver& driver, int ordinal, DetectedDevice& out) {
  int handle = 0, major = 0, minor = 0;
  if (driver.device(&handle, ordinal) != kSuccess ||
      driver.attribute(&major, kComputeMajor, handle) != kSuccess ||
      driver.attribute(&minor, kComputeMinor, handle) != kSuccess || major < 1 || minor < 0 ||
      minor > 9) {
    return false;
  }
  out.device = fmt::format("sm_{}{}", major, minor);
  out.platform = "cuda";
  out.ordinal = ordinal;
  char name[256] = {};
  if (driver.name != nullptr && driver.name(name, sizeof name - 1, handle) == kSuccess)
    out.name = name;
  std::size_t bytes = 0;
  if (driver.memory != nullptr && driver.memory(&bytes, handle) == kSuccess)
    out.memory_bytes = bytes;
  return true;
}

}  // namespace

void probe_cuda(const DriverSources& sources, Detection& detection) {
  const auto note = [&](std::string text) { detection.notes.push_back({"cuda", std::move(text)}); };
  const DriverLibrary library(sources.cuda_libraries);
  if (!library) return note(library.error());
  const Driver driver(library);
  if (!driver.usable()) return note(fmt::format("{}: lacks functions of a driver", library.name()));

  int result = driver.init(0);
  int count = 0;
  if (result == kSuccess) result = driver.count(&count);
  if (result != kSuccess && result != kNoDevice) {
    return note(fmt::format("{}: the driver does not start: {}", library.name(),
                            driver.error_text(result)));
  }
  if (result == kNoDevice || count <= 0) {
    return note(fmt::format("{}: the driver has no device", library.name()));
  }
  const std::string version = cuda_version(driver);
  const std::string kernel_driver = version_in_files(sources.cuda_version_files);
  for (int ordinal = 0; ordinal < count && ordinal < kMaxDevices; ++ordinal) {
    DetectedDevice device;
    if (!describe(driver, ordinal, device)) {
      note(fmt::format("{}: device {} does not answer", library.name(), ordinal));
      continue;
    }
    device.driver = kernel_driver;
    device.runtime_cuda = version;
    detection.devices.push_back(std::move(device));
  }
}

}  // namespace dsakit
