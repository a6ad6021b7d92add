#include "plugins_hip/fakes/fake_hip.hpp"

#include <cstring>
#include <deque>

namespace dsakit::test {
namespace {

constexpr int kInvalidValue = 1, kInvalidDevice = 101, kNoCode = 209, kNotFound = 500;
constexpr std::size_t kArchName = 1160;  // where this version's struct has gcnArchName

struct Kernel {
  std::string name;
  KernelFacts facts;
};
using Module = std::map<std::string, Kernel>;

// Kept for good, as their addresses are handles.
std::deque<Module>& modules() {
  static std::deque<Module> all;
  return all;
}

// What a test told this function to answer; 0: work.
int told(const char* function) {
  const auto found = fake_hip().fails.find(function);
  return found == fake_hip().fails.end() ? 0 : found->second;
}

}  // namespace

FakeHip& fake_hip() {
  static FakeHip one;
  return one;
}

}  // namespace dsakit::test

using dsakit::test::fake_hip;

extern "C" {

int hipGetDeviceCount(int* count) {
  *count = fake_hip().devices;
  return dsakit::test::told("hipGetDeviceCount");
}
int hipGetDevice(int* device) {
  *device = fake_hip().current;
  return dsakit::test::told("hipGetDevice");
}
int hipSetDevice(int device) {
  if (const int status = dsakit::test::told("hipSetDevice")) return status;
  if (device < 0 || device >= fake_hip().devices) return dsakit::test::kInvalidDevice;
  fake_hip().current = device;
  ++fake_hip().device_changes;
  return 0;
}
int hipDeviceGetAttribute(int* value, int attribute, int) {
  constexpr int kMultiprocessorCount = 63;
  *value = attribute == kMultiprocessorCount ? fake_hip().multiprocessors : -1;
  return dsakit::test::told("hipDeviceGetAttribute");
}
int hipGetDevicePropertiesR0600(void* properties, int) {
  const std::string name = fake_hip().arch.empty() ? "" : fake_hip().arch + ":sramecc+:xnack-";
  std::memset(properties, 0, 1472);
  std::memcpy(static_cast<char*>(properties) + dsakit::test::kArchName, name.c_str(), name.size());
  return dsakit::test::told("hipGetDevicePropertiesR0600");
}
const char* hipGetErrorString(int status) {
  return status == dsakit::test::kNoCode ? "no kernel image is available" : "the fake says no";
}
int hipModuleLoadData(void** module, const void* image) {
  if (const int status = dsakit::test::told("hipModuleLoadData")) return status;
  const auto code = dsakit::test::code_object(image, fake_hip().arch);
  if (code.empty()) return dsakit::test::kNoCode;
  auto& loaded = dsakit::test::modules().emplace_back();
  for (const auto& [name, facts] : dsakit::test::kernels_of(code)) loaded[name] = {name, facts};
  *module = &loaded;
  ++fake_hip().modules_loaded;
  return 0;
}
int hipModuleGetFunction(void** function, void* module, const char* name) {
  if (const int status = dsakit::test::told("hipModuleGetFunction")) return status;
  auto& loaded = *static_cast<dsakit::test::Module*>(module);
  const auto found = loaded.find(name);
  if (found == loaded.end()) return dsakit::test::kNotFound;
  *function = &found->second;
  return 0;
}
int hipModuleLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                          unsigned block_x, unsigned block_y, unsigned block_z, unsigned lds,
                          void* stream, void** parameters, void** extra) {
  if (const int status = dsakit::test::told("hipModuleLaunchKernel")) return status;
  // HIP_LAUNCH_PARAM_BUFFER_POINTER, address, …_SIZE, address of the size, …_END.
  const auto is = [&](int place, std::uintptr_t key) {
    return reinterpret_cast<std::uintptr_t>(extra[place]) == key;
  };
  if (parameters != nullptr || extra == nullptr || !is(0, 1) || !is(2, 2) || !is(4, 3))
    return dsakit::test::kInvalidValue;
  const auto& kernel = *static_cast<dsakit::test::Kernel*>(function);
  const auto* bytes = static_cast<const std::byte*>(extra[1]);
  fake_hip().launches.push_back({kernel.name,
                                 kernel.facts,
                                 {grid_x, grid_y, grid_z},
                                 {block_x, block_y, block_z},
                                 lds,
                                 stream,
                                 fake_hip().current,
                                 {bytes, bytes + *static_cast<std::size_t*>(extra[3])}});
  return 0;
}

}  // extern "C"
