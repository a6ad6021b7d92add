#include "manifest/plugin_file.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include <fmt/format.h>

#include "manifest/crc32c.hpp"
#include "manifest/elf_image.hpp"
#include "manifest/regular_file.hpp"

namespace dsakit {
namespace {

constexpr std::uint64_t kMaxNoteSegment = 1024 * 1024;
constexpr std::array<std::string_view, 3> kDriverLibraries{"libcuda.so", "libnvidia-ml.so",
                                                           "libamdhip64.so"};

struct DescriptorHeader {
  std::uint32_t magic;
  std::uint16_t container;
  std::uint16_t encoding;
  std::uint32_t length;
  std::uint32_t crc;
};
static_assert(sizeof(DescriptorHeader) == kDescriptorHeader);

using Reason = std::optional<std::string>;

// The manifest text of a descriptor, or why it is none.
Reason read_descriptor(std::span<const std::byte> descriptor, std::string_view& json) {
  DescriptorHeader header{};
  if (descriptor.size() < sizeof(header))
    return fmt::format("a descriptor of {} bytes", descriptor.size());
  std::memcpy(&header, descriptor.data(), sizeof(header));
  if (header.magic != kDescriptorMagic) return fmt::format("magic {:#010x}", header.magic);
  if (header.container != kContainerVersion)
    return fmt::format("container version {}", header.container);
  if (header.encoding != kEncodingJson) return fmt::format("encoding {}", header.encoding);
  if (header.length > kMaxManifestBytes) {
    return fmt::format("a manifest of {} bytes, at most {} are read", header.length,
                       kMaxManifestBytes);
  }
  const auto text = descriptor.subspan(sizeof(header));
  if (header.length != text.size()) {
    return fmt::format("it says {} bytes and holds {}", header.length, text.size());
  }
  if (crc32c(text) != header.crc) return std::string("its checksum does not match");
  json = {reinterpret_cast<const char*>(text.data()), text.size()};
  return std::nullopt;
}

}  // namespace

std::optional<std::string> scan_notes(std::span<const std::byte> notes, std::uint64_t alignment,
                                      int& found, std::string_view& json) {
  const std::uint64_t align = alignment == 8 ? 8 : 4;
  const auto round_up = [&](std::uint64_t n) { return (n + align - 1) / align * align; };
  std::uint64_t at = 0;
  while (at + sizeof(Elf64_Nhdr) <= notes.size()) {
    Elf64_Nhdr note{};
    std::memcpy(&note, notes.data() + at, sizeof(note));
    const std::uint64_t name_at = at + sizeof(note);
    const std::uint64_t text_at = at + round_up(sizeof(note) + std::uint64_t{note.n_namesz});
    const std::uint64_t end = text_at + note.n_descsz;
    if (end > notes.size()) return std::string("a note leaves its segment");
    std::string_view owner(reinterpret_cast<const char*>(notes.data() + name_at), note.n_namesz);
    if (!owner.empty() && owner.back() == '\0') owner.remove_suffix(1);
    if (owner == kNoteOwner) {
      if (++found > 1) return std::string("there is more than one");
      if (note.n_type != kNoteType) return fmt::format("note type {:#010x}", note.n_type);
      if (auto reason = read_descriptor(notes.subspan(text_at, note.n_descsz), json)) return reason;
    }
    at += round_up(end - at);
  }
  return std::nullopt;
}

namespace {

std::optional<Diagnostic> read_note(const ElfImage& image, PluginFile& out) {
  int found = 0;
  for (const Elf64_Phdr& segment : image.segments()) {
    if (segment.p_type != PT_NOTE) continue;
    const auto bytes = image.segment_bytes(segment, kMaxNoteSegment);
    if (!bytes) return bytes.error();
    std::string_view json;
    if (auto reason = scan_notes(*bytes, segment.p_align, found, json)) {
      return Diagnostic(Code::E0105).with("file", out.path).with("reason", std::move(*reason));
    }
    if (!json.empty()) out.manifest_json = json;
  }
  if (found == 0) return Diagnostic(Code::E0104).with("file", out.path);
  return std::nullopt;
}

}  // namespace

tl::expected<PluginFile, Diagnostic> read_plugin_image(const ReadAt& read_at, std::uint64_t size,
                                                       const std::string& name) {
  const auto image = ElfImage::open(read_at, size, name);
  if (!image) return tl::unexpected(image.error());
  PluginFile result;
  result.path = name;
  result.size = size;
  if (auto error = read_note(*image, result)) return tl::unexpected(std::move(*error));
  if (auto error = image->read_dynamic(result)) return tl::unexpected(std::move(*error));
  return result;
}

tl::expected<PluginFile, Diagnostic> read_plugin_file(const std::string& path) {
  const auto file = RegularFile::open(path);
  if (!file) return tl::unexpected(file.error());
  auto result = read_plugin_image(file->read_at(), file->size(), file->path());
  if (result) {
    result->dev = file->dev();
    result->ino = file->ino();
  }
  return result;
}

bool is_driver_library(std::string_view name) {
  return std::ranges::any_of(kDriverLibraries,
                             [&](std::string_view driver) { return name.starts_with(driver); });
}

std::vector<std::byte> encode_note_descriptor(const std::string& json) {
  const auto text = std::as_bytes(std::span(json));
  const DescriptorHeader header{kDescriptorMagic, kContainerVersion, kEncodingJson,
                                static_cast<std::uint32_t>(text.size()), crc32c(text)};
  std::vector<std::byte> descriptor(sizeof(header) + text.size());
  std::memcpy(descriptor.data(), &header, sizeof(header));
  std::memcpy(descriptor.data() + sizeof(header), text.data(), text.size());
  return descriptor;
}

}  // namespace dsakit
