#include "manifest/arch.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

namespace dsakit {
namespace {

// The table of known devices: a new line is the whole change. `family` groups the devices that one
// family-specific binary (suffix f) runs on, by the number of the first of them; 0 = no such
// binaries. `products` also answers whoever names a device by its product (device_name.cpp): "RTX
// 30" stands for RTX 3060, RTX 3090 and so on.
constexpr KnownDevice kDevices[] = {
    {"sm_75", "cuda", 7, 75, 0, "T4, RTX 20"},
    {"sm_80", "cuda", 8, 80, 0, "A100, A30, A800"},
    {"sm_86", "cuda", 8, 86, 0, "A10, A40, RTX A6000, RTX 30"},
    {"sm_87", "cuda", 8, 87, 0, "Jetson Orin"},
    {"sm_89", "cuda", 8, 89, 0, "L4, L20, L40, L40S, RTX 6000 Ada, RTX 40"},
    {"sm_90", "cuda", 9, 90, 0, "H100, H200, H20, H800, GH200"},
    {"sm_100", "cuda", 10, 100, 100, "B200, GB200"},
    {"sm_101", "cuda", 10, 101, 101, "Thor under toolkits before 13"},
    {"sm_103", "cuda", 10, 103, 100, "B300, GB300"},
    {"sm_110", "cuda", 11, 110, 110, "Thor"},
    {"sm_120", "cuda", 12, 120, 120, "RTX PRO 6000, RTX 50"},
    {"sm_121", "cuda", 12, 121, 120, "GB10, DGX Spark"},
    {"gfx90a", "hip", 0, 0, 0, "MI210, MI250, MI250X"},
    {"gfx942", "hip", 0, 0, 0, "MI300X, MI300A, MI308X, MI325X"},
    {"gfx950", "hip", 0, 0, 0, "MI350X, MI355X"},
    {"gfx1250", "hip", 0, 0, 0, "MI400 series"},
    {"cpu", "cpu", 0, 0, 0, "any x86-64 or aarch64 CPU"},
};

struct SmName {
  int number;
  char suffix;  // 'a', 'f' or 0
};

// sm_<2 to 4 digits>[a|f]
std::optional<SmName> parse_sm(std::string_view text) {
  if (!text.starts_with("sm_")) return std::nullopt;
  text.remove_prefix(3);
  char suffix = 0;
  if (!text.empty() && (text.back() == 'a' || text.back() == 'f')) {
    suffix = text.back();
    text.remove_suffix(1);
  }
  if (text.size() < 2 || text.size() > 4 || text.front() == '0') return std::nullopt;
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return SmName{number, suffix};
}

bool is_gfx(std::string_view text) {
  if (!text.starts_with("gfx") || text.size() < 6 || text.size() > 8) return false;
  return std::all_of(text.begin() + 3, text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

std::optional<ArchToken> parse_range(std::string_view token, std::size_t dash, std::string& why) {
  const auto first = parse_sm(token.substr(0, dash));
  const auto last = parse_sm(token.substr(dash + 1));
  if (!first || !last || first->suffix != 0 || last->suffix != 0) {
    why = "a range is two plain sm_ names, such as sm_80-sm_89";
    return std::nullopt;
  }
  if (first->number / 10 != last->number / 10) {
    why = fmt::format("a range stays inside one major version; sm_{} and sm_{} have {} and {}",
                      first->number, last->number, first->number / 10, last->number / 10);
    return std::nullopt;
  }
  if (first->number > last->number) {
    why = "a range goes from the smaller to the larger number";
    return std::nullopt;
  }
  ArchToken result;
  for (const KnownDevice& device : kDevices) {
    if (device.number >= first->number && device.number <= last->number) {
      result.devices.push_back(device.name);
    }
  }
  return result;
}

std::optional<ArchToken> parse_single_sm(std::string_view token, std::string& why) {
  const auto sm = parse_sm(token);
  if (!sm) {
    why = "an NVIDIA name is sm_<number>, with at most the suffix a or f";
    return std::nullopt;
  }
  if (sm->suffix == 'f' && sm->number < 100) {
    why = "the suffix f exists from sm_100 on";
    return std::nullopt;
  }
  ArchToken result;
  const auto named = std::ranges::find(kDevices, sm->number, &KnownDevice::number);
  if (named == std::end(kDevices)) return result;
  for (const KnownDevice& device : kDevices) {
    const bool same = device.number == sm->number;
    const bool family = sm->suffix == 'f' && named->family != 0 && device.family == named->family &&
                        device.number > sm->number;
    if (same || family) result.devices.push_back(device.name);
  }
  return result;
}

}  // namespace

std::span<const KnownDevice> known_devices() {
  return kDevices;
}

const KnownDevice* find_device(std::string_view name) {
  const auto found = std::ranges::find(kDevices, name, &KnownDevice::name);
  return found == std::end(kDevices) ? nullptr : found;
}

std::optional<ArchToken> parse_arch_token(std::string_view token, std::string& why) {
  const std::size_t dash = token.find('-');
  if (dash != std::string_view::npos) return parse_range(token, dash, why);
  if (token.starts_with("sm")) return parse_single_sm(token, why);
  if (token.starts_with("gfx") && !is_gfx(token)) {
    why = "an AMD name is gfx and three to five hexadecimal digits";
    return std::nullopt;
  }
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  };
  if (token.empty() || token.size() > 64 || !std::ranges::all_of(token, plain)) {
    why = "an arch is a name such as sm_90a, sm_100f, sm_80-sm_89, gfx942 or cpu";
    return std::nullopt;
  }
  ArchToken result;
  if (const KnownDevice* device = find_device(token)) result.devices.push_back(device->name);
  return result;
}

}  // namespace dsakit
