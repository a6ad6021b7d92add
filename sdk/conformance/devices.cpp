#include "sdk/conformance/devices.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace dsakit::conformance {

Place Devices::find(RowSpace& row) {
  const std::vector<std::string> platforms = row.platforms();
  const auto serves = [&](const char* name) {
    return std::ranges::find(platforms, name) != platforms.end();
  };
  Place place;
  if (serves("cuda")) place = find_cuda(row);
  if (place.gpu) return place;
  if (serves("cpu") || platforms.empty()) return {};
  if (!place.missing.empty()) return place;
  place.missing = fmt::format("the kit reaches no device of {}", fmt::join(platforms, ", "));
  return place;
}

Place Devices::find_cuda(RowSpace& row) {
  if (!detection_) detection_ = detect_devices();
  std::vector<std::string> found;
  for (const DetectedDevice& device : detection_->devices) {
    if (device.platform != "cuda") continue;
    if (row.accepts_device("cuda", device.device)) {
      Place place = open(device.ordinal);
      if (place.gpu) row.settle("cuda", device.device, {kDLCUDA, device.ordinal});
      return place;
    }
    found.push_back(device.device);
  }
  std::string reason = found.empty() ? "none found" : fmt::format("{}", fmt::join(found, ", "));
  for (const ProbeNote& note : detection_->notes)
    if (note.platform == "cuda" && found.empty()) reason = note.text;
  Place place;
  place.missing = fmt::format("needs a CUDA device that the row accepts; here: {}", reason);
  return place;
}

Place Devices::open(int ordinal) {
  if (const auto known = opened_.find(ordinal); known != opened_.end()) return known->second;
  Place place;
  auto device = CudaDevice::open(ordinal);
  if (device) {
    place.gpu = std::move(*device);
    place.ordinal = ordinal;
    place.reference = CudaReference::load(*place.gpu);
  } else {
    place.missing = fmt::format("CUDA device {} cannot be used: {}", ordinal, device.error());
  }
  return opened_[ordinal] = place;
}

}  // namespace dsakit::conformance
