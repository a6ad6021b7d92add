// The arch language: which devices exist, and which of them an arch token of a manifest names.
// One table of known devices; a token accepts exactly the devices it names, so "sm_100 and up"
// cannot be written. Pure; any thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "diag/diagnostic.hpp"

namespace dsakit {

struct KnownDevice {
  std::string_view name;      // "sm_120", "gfx950", "cpu"
  std::string_view platform;  // cuda, hip, cpu
  int major;                  // compute capability major on cuda, 0 elsewhere
  int number;                 // 121 of sm_121; 0 elsewhere
  int family;                 // first number of the family that suffix f names; 0 = none
  std::string_view products;  // what people call it, separated by ", "
};

std::span<const KnownDevice> known_devices();

// Exact name; null if the table has none.
const KnownDevice* find_device(std::string_view name);

// The device that a product ("H100", "NVIDIA GeForce RTX 4090"), a compute capability ("9.0") or
// another spelling ("SM90") means; null if none does.
const KnownDevice* device_meant_by(std::string_view text);

// The device of that name, or E0403 with the device that is meant, else a name that is spelled
// much the same.
tl::expected<const KnownDevice*, Diagnostic> device_or_error(std::string_view name);

struct ArchToken {
  std::vector<std::string_view>
      devices;  // known devices it names; empty for well-formed but unknown hardware
};

// Expands sm_90, sm_90a, sm_100f, sm_80-sm_89, gfx942, cpu. Nothing if malformed or if a range
// spans majors (then `why` says which). Names that start with neither sm nor gfx are other vendors'
// hardware.
std::optional<ArchToken> parse_arch_token(std::string_view token, std::string& why);

}  // namespace dsakit
