#include "manifest/elf_image.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace dsakit {
namespace {

constexpr std::size_t kMaxSegments = 64;
constexpr std::uint64_t kMaxDynamicBytes = 64 * 1024;
constexpr std::uint64_t kMaxStringTable = 16 * 1024 * 1024;
constexpr std::size_t kMaxString = 4096;
constexpr std::size_t kMaxNeeded = 256;

#if defined(__x86_64__)
constexpr Elf64_Half kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr Elf64_Half kMachine = EM_AARCH64;
#else
#error "add the ELF machine number of this architecture"
#endif

template <class T>
std::span<std::byte> bytes_of(T& object) {
  return std::as_writable_bytes(std::span(&object, 1));
}

}  // namespace

Diagnostic ElfImage::not_a_plugin(std::string reason) const {
  return Diagnostic(Code::E0102).with("file", *name_).with("reason", std::move(reason));
}

Diagnostic ElfImage::cut_short(std::string reason) const {
  return Diagnostic(Code::E0103).with("file", *name_).with("reason", std::move(reason));
}

tl::expected<ElfImage, Diagnostic> ElfImage::open(const ReadAt& read_at, std::uint64_t size,
                                                  const std::string& name) {
  ElfImage image(read_at, size, name);
  if (auto error = image.read_headers()) return tl::unexpected(std::move(*error));
  if (auto error = image.check_segments()) return tl::unexpected(std::move(*error));
  return image;
}

std::optional<Diagnostic> ElfImage::check_identity(const Elf64_Ehdr& header) const {
  const unsigned char* ident = header.e_ident;
  if (ident[EI_CLASS] != ELFCLASS64) return not_a_plugin("it is not a 64-bit ELF file");
  if (ident[EI_DATA] != ELFDATA2LSB) return not_a_plugin("it is not a little-endian ELF file");
  if (ident[EI_VERSION] != EV_CURRENT || header.e_version != EV_CURRENT) {
    return not_a_plugin(fmt::format("ELF version {} is unknown", header.e_version));
  }
  if (header.e_machine != kMachine) {
    return not_a_plugin(
        fmt::format("ELF machine {}, this machine is {}", header.e_machine, kMachine));
  }
  if (header.e_type != ET_DYN) {
    return not_a_plugin(fmt::format("ELF type {}, a shared object is {}", header.e_type, ET_DYN));
  }
  if (header.e_phentsize != sizeof(Elf64_Phdr)) {
    return not_a_plugin(fmt::format("program headers of {} bytes", header.e_phentsize));
  }
  if (header.e_phnum == 0 || header.e_phnum > kMaxSegments) {
    return not_a_plugin(
        fmt::format("{} program headers, allowed are 1 to {}", header.e_phnum, kMaxSegments));
  }
  return std::nullopt;
}

std::optional<Diagnostic> ElfImage::read_headers() {
  Elf64_Ehdr header{};
  const std::size_t known = std::min<std::uint64_t>(size_, sizeof(header));
  if (!(*read_at_)(0, bytes_of(header).first(known)))
    return cut_short("its first bytes cannot be read");
  if (known < SELFMAG || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
    return not_a_plugin("it is not an ELF file");
  }
  if (known < sizeof(header)) {
    return cut_short(fmt::format("{} bytes, an ELF header has {}", size_, sizeof(header)));
  }
  if (auto error = check_identity(header)) return error;
  const std::uint64_t table = std::uint64_t{header.e_phnum} * sizeof(Elf64_Phdr);
  if (!inside(header.e_phoff, table)) {
    return cut_short(fmt::format("{} program headers at byte {} leave the file of {} bytes",
                                 header.e_phnum, header.e_phoff, size_));
  }
  segments_.resize(header.e_phnum);
  if (!(*read_at_)(header.e_phoff, std::as_writable_bytes(std::span(segments_)))) {
    return cut_short("its program headers cannot be read");
  }
  return std::nullopt;
}

std::optional<Diagnostic> ElfImage::check_segments() const {
  bool loads = false;
  for (const Elf64_Phdr& segment : segments_) {
    if (segment.p_type != PT_LOAD) continue;
    loads = true;
    if (!inside(segment.p_offset, segment.p_filesz)) {
      return cut_short(fmt::format("a segment of {} bytes at byte {} leaves the file of {} bytes",
                                   segment.p_filesz, segment.p_offset, size_));
    }
  }
  if (!loads) return not_a_plugin("it has no loadable segment");
  return std::nullopt;
}

tl::expected<std::vector<std::byte>, Diagnostic> ElfImage::segment_bytes(
    const Elf64_Phdr& segment, std::uint64_t limit) const {
  if (!inside(segment.p_offset, segment.p_filesz)) {
    return tl::unexpected(cut_short(fmt::format("{} bytes at byte {} leave the file of {} bytes",
                                                segment.p_filesz, segment.p_offset, size_)));
  }
  if (segment.p_filesz > limit) {
    return tl::unexpected(
        Diagnostic(Code::E0105)
            .with("file", *name_)
            .with("reason", fmt::format("a segment of {} bytes, at most {} are read",
                                        segment.p_filesz, limit)));
  }
  std::vector<std::byte> bytes(segment.p_filesz);
  if (!(*read_at_)(segment.p_offset, bytes))
    return tl::unexpected(cut_short("a segment cannot be read"));
  return bytes;
}

std::optional<std::uint64_t> ElfImage::offset_of(std::uint64_t address,
                                                 std::uint64_t length) const {
  for (const Elf64_Phdr& segment : segments_) {
    if (segment.p_type != PT_LOAD || address < segment.p_vaddr) continue;
    const std::uint64_t skip = address - segment.p_vaddr;
    if (skip <= segment.p_filesz && length <= segment.p_filesz - skip)
      return segment.p_offset + skip;
  }
  return std::nullopt;
}

std::optional<Diagnostic> ElfImage::read_dynamic(PluginFile& out) const {
  const auto dynamic = std::ranges::find(segments_, Elf64_Word{PT_DYNAMIC}, &Elf64_Phdr::p_type);
  if (dynamic == segments_.end()) return not_a_plugin("it has no dynamic section");
  const std::uint64_t bytes = dynamic->p_filesz;
  if (!inside(dynamic->p_offset, bytes) || bytes > kMaxDynamicBytes ||
      bytes % sizeof(Elf64_Dyn) != 0) {
    return not_a_plugin("its dynamic section is damaged");
  }
  std::vector<Elf64_Dyn> entries(bytes / sizeof(Elf64_Dyn));
  if (!(*read_at_)(dynamic->p_offset, std::as_writable_bytes(std::span(entries)))) {
    return cut_short("its dynamic section cannot be read");
  }
  std::uint64_t table = 0, table_size = 0;
  for (const Elf64_Dyn& entry : entries) {
    if (entry.d_tag == DT_NULL) break;
    if (entry.d_tag == DT_STRTAB) table = entry.d_un.d_ptr;
    if (entry.d_tag == DT_STRSZ) table_size = entry.d_un.d_val;
    if (entry.d_tag == DT_FLAGS) out.static_tls = (entry.d_un.d_val & DF_STATIC_TLS) != 0;
  }
  const auto strings = offset_of(table, table_size);
  if (!strings || table_size > kMaxStringTable)
    return not_a_plugin("its dynamic string table is damaged");

  const auto text_at = [&](std::uint64_t index, std::string& text) {
    if (index >= table_size) return false;
    text.resize(std::min<std::uint64_t>(kMaxString, table_size - index));
    if (!(*read_at_)(*strings + index, std::as_writable_bytes(std::span(text)))) return false;
    const std::size_t end = text.find('\0');
    if (end == std::string::npos) return false;
    text.resize(end);
    return true;
  };
  std::string rpath;
  for (const Elf64_Dyn& entry : entries) {
    if (entry.d_tag == DT_NULL) break;
    std::string* text = nullptr;
    if (entry.d_tag == DT_SONAME) text = &out.soname;
    if (entry.d_tag == DT_RUNPATH) text = &out.runpath;
    if (entry.d_tag == DT_RPATH) text = &rpath;
    if (entry.d_tag == DT_NEEDED) {
      if (out.needed.size() == kMaxNeeded) return not_a_plugin("it needs too many libraries");
      text = &out.needed.emplace_back();
    }
    if (text != nullptr && !text_at(entry.d_un.d_val, *text)) {
      return not_a_plugin("a name in its dynamic section is damaged");
    }
  }
  if (out.runpath.empty()) out.runpath = std::move(rpath);
  return std::nullopt;
}

}  // namespace dsakit
