// Names that people give to devices, and the answer to one that is no name of the device table.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "diag/nearest.hpp"
#include "manifest/arch.hpp"

namespace dsakit {
namespace {

constexpr std::size_t kShortestPart =
    4;  // "spark" of "DGX Spark"; less is in other names by chance

// Letters and digits in lower case: "DGX Spark" is dgxspark.
std::string plain(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z')) out += c;
    if (c >= 'A' && c <= 'Z') out += static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

std::vector<std::string> products_of(const KnownDevice& device) {
  std::vector<std::string> out;
  constexpr std::string_view kSeparator = ", ";
  std::string_view rest = device.products;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(kSeparator), rest.size());
    out.push_back(plain(rest.substr(0, end)));
    rest.remove_prefix(std::min(end + kSeparator.size(), rest.size()));
  }
  return out;
}

// How well a text names a product: equal, then holding the longest product name, then being a part
// of one; 0: not at all.
std::size_t likeness(const std::string& text, const std::string& product) {
  if (text == product) return 10000;
  if (product.size() >= 3 && text.find(product) != std::string::npos) return 1000 + product.size();
  if (text.size() >= kShortestPart && product.find(text) != std::string::npos) return 1;
  return 0;
}

const KnownDevice* device_of_product(const std::string& text) {
  const KnownDevice* best = nullptr;
  std::size_t best_likeness = 0;
  for (const KnownDevice& device : known_devices()) {
    for (const std::string& product : products_of(device)) {
      const std::size_t found = likeness(text, product);
      if (found <= best_likeness) continue;
      best = &device;
      best_likeness = found;
    }
  }
  return best;
}

bool all_digits(const std::string& text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// sm90, SM_90 and the compute capability 9.0.
const KnownDevice* device_of_number(const std::string& text) {
  const std::string number = text.starts_with("sm") ? text.substr(2) : text;
  const std::string name = all_digits(number) ? "sm_" + number : text;
  return find_device(name);
}

// What is to be said of a name with a suffix or of a range: "sm_100f" names code, not a device.
std::string code_note(std::string_view name) {
  std::string why;
  const auto token = parse_arch_token(name, why);
  if (!token || token->devices.empty()) return "";
  return fmt::format("`{}` names code, and a request names a device: `{}`", name,
                     fmt::join(token->devices, "` or `"));
}

// `cuda:0`, `hip`: what an engine calls a device of its own machine.
std::string platform_note(std::string_view name) {
  const std::string_view platform = name.substr(0, name.find(':'));
  const bool known = std::ranges::any_of(
      known_devices(), [&](const KnownDevice& device) { return device.platform == platform; });
  if (!known) return "";
  return fmt::format(
      "`{}` is a platform, and a request names a device by its arch; without a name "
      "the devices of this machine are taken",
      platform);
}

}  // namespace

const KnownDevice* device_meant_by(std::string_view text) {
  const std::string name = plain(text);
  if (name.empty()) return nullptr;
  if (const KnownDevice* device = device_of_number(name)) return device;
  if (const KnownDevice* device = device_of_product(name)) return device;
  // GeForce cards are often called by their number alone.
  return all_digits(name) && name.size() == 4 ? device_of_product("rtx" + name) : nullptr;
}

tl::expected<const KnownDevice*, Diagnostic> device_or_error(std::string_view name) {
  if (const KnownDevice* device = find_device(name)) return device;
  std::vector<std::string> names;
  for (const KnownDevice& device : known_devices()) names.emplace_back(device.name);
  Diagnostic error = Diagnostic(Code::E0403).with("device", std::string(name));
  if (std::string note = code_note(name); !note.empty()) {
    const auto nearest = nearest_of_all(name, names);
    error = std::move(error).with("nearest", *nearest).note(std::move(note));
  } else if (std::string platform = platform_note(name); !platform.empty()) {
    error = std::move(error).note(std::move(platform));
  } else if (const KnownDevice* meant = device_meant_by(name)) {
    error = std::move(error)
                .with("nearest", std::string(meant->name))
                .note(fmt::format("that is `{}` ({})", meant->name, meant->products));
  } else if (const auto nearest = nearest_name(name, names)) {
    error = std::move(error)
                .with("nearest", *nearest)
                .note(fmt::format("the nearest known device is `{}`", *nearest));
  }
  error.notes.push_back(fmt::format("known devices: {}", fmt::join(names, ", ")));
  return tl::unexpected(std::move(error));
}

}  // namespace dsakit
