#include "sdk/conformance/devices.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace dsakit::conformance {

struct GpuPlatform {
  std::string_view name, title;
  DLDeviceType type;
};

namespace {

constexpr std::array<GpuPlatform, 2> kGpuPlatforms{
    {{"cuda", "CUDA", kDLCUDA}, {"hip", "HIP", kDLROCM}}};

}  // namespace

Place Devices::find(RowSpace& row) {
  const std::vector<std::string> platforms = row.platforms();
  const auto serves = [&](std::string_view name) {
    return std::ranges::find(platforms, name) != platforms.end();
  };
  std::string missing;
  for (const GpuPlatform& platform : kGpuPlatforms) {
    if (!serves(platform.name)) continue;
    Place place = find_gpu(row, platform);
    if (place.gpu) return place;
    missing += (missing.empty() ? "" : "; ") + place.missing;
  }
  if (serves("cpu") || platforms.empty()) return {};
  Place place;
  place.missing = missing.empty()
                      ? fmt::format("the kit reaches no device of {}", fmt::join(platforms, ", "))
                      : missing;
  return place;
}

Place Devices::find_gpu(RowSpace& row, const GpuPlatform& platform) {
  if (!detection_) detection_ = detect_devices();
  std::vector<std::string> found;
  for (const DetectedDevice& device : detection_->devices) {
    if (device.platform != platform.name) continue;
    const DLDevice handle{platform.type, device.ordinal};
    if (row.accepts_device(device.platform, device.device)) {
      Place place = open(handle);
      if (place.gpu) row.settle(device.platform, device.device, handle);
      return place;
    }
    found.push_back(device.device);
  }
  std::string reason = found.empty() ? "none found" : fmt::format("{}", fmt::join(found, ", "));
  for (const ProbeNote& note : detection_->notes)
    if (note.platform == platform.name && found.empty()) reason = note.text;
  Place place;
  place.missing =
      fmt::format("needs a {} device that the row accepts; here: {}", platform.title, reason);
  return place;
}

Place Devices::open(DLDevice handle) {
  const std::pair key{static_cast<int>(handle.device_type), handle.device_id};
  if (const auto known = opened_.find(key); known != opened_.end()) return known->second;
  Place place;
  auto device = GpuDevice::open(handle);
  if (device) {
    place.gpu = std::move(*device);
    place.ordinal = handle.device_id;
    if (handle.device_type == kDLCUDA) place.reference = CudaReference::load(*place.gpu);
  } else {
    place.missing = fmt::format("device {} cannot be used: {}", handle.device_id, device.error());
  }
  return opened_[key] = place;
}

}  // namespace dsakit::conformance
