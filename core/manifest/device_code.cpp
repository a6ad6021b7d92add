#include "manifest/device_code.hpp"

#include <algorithm>
#include <cstring>
#include <map>

#include <fmt/format.h>

#include "manifest/arch.hpp"
#include "manifest/elf_image.hpp"
#include "manifest/evidence.hpp"
#include "manifest/regular_file.hpp"

namespace dsakit {
namespace {

constexpr std::string_view kBundle = "__CLANG_OFFLOAD_BUNDLE__";
constexpr std::string_view kCompressed = "CCOB";
constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kMaxEntries = 64;
constexpr std::uint64_t kMaxId = 256;
constexpr Elf64_Half kMachineAmdGpu = 224;

// "gfx942" of "hipv4-amdgcn-amd-amdhsa--gfx942:sramecc+"; empty for the host's entry.
std::string_view target_of(std::string_view id) {
  if (id.starts_with("host")) return {};
  id = id.substr(0, id.find(':'));
  const std::size_t at = id.rfind('-');
  return id.substr(at == id.npos ? 0 : at + 1);
}

// The bundles of one segment, whose bytes end at byte `end` of the file.
class SegmentReader {
 public:
  SegmentReader(const ReadAt& read_at, std::uint64_t end,
                std::map<std::string, std::uint64_t>& codes, std::vector<std::string>& problems)
      : read_at_(read_at), end_(end), codes_(codes), problems_(problems) {}

  void run(std::uint64_t first_page) {
    for (std::uint64_t at = first_page; at < end_; at += kPage) {
      std::string magic(kBundle.size(), '\0');
      if (end_ - at < magic.size() || !read(at, magic)) return;
      if (magic.starts_with(kCompressed)) {
        problem(at, "it is compressed, so its targets cannot be read");
      } else if (magic == kBundle) {
        if (const std::string why = read_bundle(at); !why.empty()) problem(at, why);
      }
    }
  }

 private:
  // Why the bundle is damaged; empty if it is not.
  std::string read_bundle(std::uint64_t start) {
    std::uint64_t count = 0, at = start + kBundle.size();
    if (!number(at, count)) return "it is cut short";
    if (count == 0 || count > kMaxEntries)
      return fmt::format("{} entries, allowed are 1 to {}", count, kMaxEntries);
    for (std::uint64_t i = 0; i < count; ++i) {
      std::uint64_t offset = 0, bytes = 0, length = 0;
      if (!number(at, offset) || !number(at, bytes) || !number(at, length))
        return "it is cut short";
      if (length > kMaxId) return fmt::format("an id of {} bytes", length);
      std::string id(length, '\0');
      if (length > end_ - at || !read(at, id)) return "it is cut short";
      at += length;
      const std::string_view target = target_of(id);
      if (target.empty()) continue;
      const std::uint64_t room = end_ - start;
      if (offset > room || bytes > room - offset)
        return fmt::format("its code for {} leaves the segment", target);
      if (!is_code(start + offset, bytes))
        return fmt::format("what it holds for {} is no code object", target);
      codes_[std::string(target)] += bytes;
    }
    return {};
  }

  bool is_code(std::uint64_t at, std::uint64_t bytes) const {
    Elf64_Ehdr header{};
    if (bytes < sizeof(header) || !read_at_(at, std::as_writable_bytes(std::span(&header, 1))))
      return false;
    return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_machine == kMachineAmdGpu;
  }

  bool number(std::uint64_t& at, std::uint64_t& value) const {
    if (end_ - at < sizeof(value) || !read_at_(at, std::as_writable_bytes(std::span(&value, 1))))
      return false;
    at += sizeof(value);
    return true;
  }

  bool read(std::uint64_t at, std::string& text) const {
    return read_at_(at, std::as_writable_bytes(std::span(text)));
  }

  void problem(std::uint64_t at, const std::string& why) {
    problems_.push_back(fmt::format("the offload bundle at byte {}: {}", at, why));
  }

  const ReadAt& read_at_;
  std::uint64_t end_;
  std::map<std::string, std::uint64_t>& codes_;
  std::vector<std::string>& problems_;
};

// Whether `targets` name code for a device.
bool covers(const std::vector<std::string>& targets, const KnownDevice& device) {
  return std::ranges::any_of(targets, [&](const std::string& target) {
    std::string why;
    const auto arch = parse_arch_token(target, why);
    return arch && std::ranges::find(arch->devices, device.name) != arch->devices.end();
  });
}

bool is_amd(std::string_view target) {
  const KnownDevice* device = find_device(target);
  return device != nullptr && device->platform == "hip";
}

}  // namespace

bool DeviceCodeList::has(std::string_view target) const {
  return std::ranges::find(codes, target, &DeviceCode::target) != codes.end();
}

tl::expected<DeviceCodeList, Diagnostic> read_device_code(const ReadAt& read_at, std::uint64_t size,
                                                          const std::string& name) {
  const auto image = ElfImage::open(read_at, size, name);
  if (!image) return tl::unexpected(image.error());
  std::map<std::string, std::uint64_t> codes;
  DeviceCodeList out;
  for (const Elf64_Phdr& segment : image->segments()) {
    if (segment.p_type != PT_LOAD) continue;
    // Pages of the image in memory, wherever the file has them.
    const std::uint64_t skip = (kPage - segment.p_vaddr % kPage) % kPage;
    if (skip >= segment.p_filesz) continue;
    const std::uint64_t end = segment.p_offset + segment.p_filesz;
    SegmentReader(read_at, end, codes, out.problems).run(segment.p_offset + skip);
  }
  for (const auto& [target, bytes] : codes) out.codes.push_back({target, bytes});
  return out;
}

tl::expected<DeviceCodeList, Diagnostic> read_device_code(const std::string& path) {
  const auto file = RegularFile::open(path);
  if (!file) return tl::unexpected(file.error());
  return read_device_code(file->read_at(), file->size(), file->path());
}

bool lacks_code(const Manifest& manifest, const Row& row, const std::vector<std::string>& targets) {
  bool taken = false;
  for (const KnownDevice& device : known_devices()) {
    if (!row_takes(manifest, row, device)) continue;
    if (device.platform != "hip" || covers(targets, device)) return false;
    taken = true;
  }
  return taken;
}

std::vector<Diagnostic> lint_device_code(const Manifest& manifest, const DeviceCodeList& code,
                                         const std::string& file) {
  std::vector<Diagnostic> out;
  const auto rule = [&](std::string reason) {
    out.push_back(Diagnostic(Code::W0118).with("file", file).with("reason", std::move(reason)));
  };
  std::vector<std::string> held;
  for (const std::string& problem : code.problems) rule(problem);
  for (const DeviceCode& one : code.codes) {
    held.push_back(one.target);
    if (std::ranges::find(manifest.build.targets, one.target) == manifest.build.targets.end())
      rule(fmt::format("it holds code for {}, which its manifest does not name", one.target));
  }
  for (const std::string& target : manifest.build.targets) {
    if (is_amd(target) && !code.has(target))
      rule(fmt::format("its manifest names code for {}, and it holds none", target));
  }
  for (const Row& row : manifest.rows) {
    for (const KnownDevice& device : known_devices()) {
      if (device.platform != "hip" || !row_takes(manifest, row, device) || covers(held, device))
        continue;
      out.push_back(
          Diagnostic(Code::W0117)
              .with("row", row.name)
              .with("file", file)
              .with("reason",
                    fmt::format("it takes {}, and the file holds no code for it", device.name)));
    }
  }
  return out;
}

}  // namespace dsakit
