// What is known of the HIP runtime without its headers: the names of its library, and where the
// name of an arch is in a struct whose layout differs between versions. For the detection of
// devices and for plugins. Any thread.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace dsakit {

inline constexpr std::array<const char*, 3> kHipLibraries{"libamdhip64.so.7", "libamdhip64.so.6",
                                                          "libamdhip64.so.5"};

// What hipGetDevicePropertiesR0600(), or before 6.0 hipGetDeviceProperties(), writes to data().
class HipProperties {
 public:
  void* data() { return bytes_.data(); }

  // gcnArchName without its features, as "gfx942" of "gfx942:sramecc+:xnack-"; empty if there is
  // none. It is the last member string that reads as an arch name; `name`, the first member, may
  // read as one, too.
  std::string arch() const {
    const std::string_view all(bytes_.data(), bytes_.size());
    std::string_view found;
    for (std::size_t at = all.find("gfx"); at != all.npos; at = all.find("gfx", at + 3)) {
      if (const std::string_view arch = arch_at(all.substr(at)); !arch.empty()) found = arch;
    }
    return std::string(found);
  }

 private:
  // The name at the start of `text`; empty if it is no such name.
  static std::string_view arch_at(std::string_view text) {
    const std::size_t end = text.find_first_not_of("0123456789abcdef", 3);
    if (end == text.npos || end < 6 || end > 8) return {};
    return text[end] == '\0' || text[end] == ':' ? text.substr(0, end) : std::string_view{};
  }

  // Several times the largest hipDeviceProp_t, so that a newer runtime's longer struct fits.
  alignas(64) std::array<char, 16 * 1024> bytes_{};
};

}  // namespace dsakit
