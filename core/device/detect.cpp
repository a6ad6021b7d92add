#include "device/detect.hpp"

#include <unistd.h>

#include <fstream>
#include <string_view>

#include "device/driver_library.hpp"

namespace dsakit {
namespace {

// The "model name" line that x86 kernels write; empty elsewhere.
std::string cpu_name(const std::string& cpu_info) {
  std::ifstream in(cpu_info);
  std::string line;
  while (std::getline(in, line)) {
    if (!std::string_view(line).starts_with("model name")) continue;
    const std::size_t colon = line.find(": ");
    return colon == line.npos ? std::string() : line.substr(colon + 2);
  }
  return {};
}

DetectedDevice cpu_device(const DriverSources& sources) {
  DetectedDevice cpu;
  cpu.device = "cpu";
  cpu.platform = "cpu";
  cpu.name = cpu_name(sources.cpu_info);
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page_bytes = ::sysconf(_SC_PAGESIZE);
  if (pages > 0 && page_bytes > 0) {
    cpu.memory_bytes = static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page_bytes);
  }
  return cpu;
}

}  // namespace

Detection detect_devices(const DriverSources& sources) {
  Detection detection;
  probe_cuda(sources, detection);
  probe_hip(sources, detection);
  detection.devices.push_back(cpu_device(sources));
  return detection;
}

}  // namespace dsakit
