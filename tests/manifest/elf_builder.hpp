// A minimal ELF shared object in memory, made of parts that a test can spoil one by one: header,
// segments (one PT_LOAD over the whole file, PT_NOTE, PT_DYNAMIC), notes, dynamic entries, strings.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "manifest/plugin_file.hpp"

namespace dsakit::test {

inline std::string note(const std::string& owner, std::uint32_t type,
                        const std::string& descriptor) {
  Elf64_Nhdr header{static_cast<Elf64_Word>(owner.size() + 1),
                    static_cast<Elf64_Word>(descriptor.size()), type};
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof(header));
  bytes += owner + '\0';
  bytes.resize((bytes.size() + 3) / 4 * 4);
  bytes += descriptor;
  bytes.resize((bytes.size() + 3) / 4 * 4);
  return bytes;
}

inline std::string descriptor(const std::string& json) {
  const auto bytes = encode_note_descriptor(json);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

struct ElfBuilder {
  Elf64_Ehdr header{};
  std::string notes = note(std::string(kNoteOwner), kNoteType, descriptor("{}"));
  std::string strings{"\0libfirst.so\0libown.so\0/run/path\0", 33};
  std::vector<Elf64_Dyn> dynamic;
  std::vector<Elf64_Phdr> segments;

  ElfBuilder() {
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_type = ET_DYN;
#if defined(__x86_64__)
    header.e_machine = EM_X86_64;
#else
    header.e_machine = EM_AARCH64;
#endif
    header.e_version = EV_CURRENT;
    header.e_phoff = sizeof(Elf64_Ehdr);
    header.e_phentsize = sizeof(Elf64_Phdr);
    dynamic = {entry(DT_NEEDED, 1), entry(DT_SONAME, 13), entry(DT_RUNPATH, 23)};
    layout();
  }

  static Elf64_Dyn entry(Elf64_Sxword tag, Elf64_Xword value) {
    Elf64_Dyn dyn{};
    dyn.d_tag = tag;
    dyn.d_un.d_val = value;
    return dyn;
  }

  // Places notes, strings and dynamic entries behind the headers; addresses are file offsets plus
  // 0x1000.
  void layout() {
    constexpr Elf64_Addr kBase = 0x1000;
    Elf64_Off at = sizeof(Elf64_Ehdr) + 3 * sizeof(Elf64_Phdr);
    segments.assign(3, Elf64_Phdr{});
    segments[1] = segment(PT_NOTE, at, notes.size());
    at += notes.size();
    const Elf64_Off strings_at = at;
    at = (at + strings.size() + 7) / 8 * 8;
    entries_ = dynamic;
    entries_.push_back(entry(DT_STRTAB, kBase + strings_at));
    entries_.push_back(entry(DT_STRSZ, strings.size()));
    entries_.push_back(entry(DT_NULL, 0));
    segments[2] = segment(PT_DYNAMIC, at, entries_.size() * sizeof(Elf64_Dyn));
    at += segments[2].p_filesz;
    segments[0] = segment(PT_LOAD, 0, at);
    segments[0].p_vaddr = kBase;
    header.e_phnum = static_cast<Elf64_Half>(segments.size());
  }

  std::string build() const {
    std::string bytes(reinterpret_cast<const char*>(&header), sizeof(header));
    bytes.append(reinterpret_cast<const char*>(segments.data()),
                 segments.size() * sizeof(Elf64_Phdr));
    bytes += notes;
    bytes += strings;
    bytes.resize((bytes.size() + 7) / 8 * 8);
    bytes.append(reinterpret_cast<const char*>(entries_.data()),
                 entries_.size() * sizeof(Elf64_Dyn));
    return bytes;
  }

 private:
  static Elf64_Phdr segment(Elf64_Word type, Elf64_Off offset, Elf64_Xword size) {
    Elf64_Phdr header{};
    header.p_type = type;
    header.p_offset = offset;
    header.p_filesz = header.p_memsz = size;
    header.p_align = 4;
    return header;
  }

  std::vector<Elf64_Dyn> entries_;
};

inline tl::expected<PluginFile, Diagnostic> read_bytes(const std::string& bytes) {
  const ReadAt read_at = [&](std::uint64_t offset, std::span<std::byte> out) {
    if (offset > bytes.size() || out.size() > bytes.size() - offset) return false;
    if (!out.empty()) std::memcpy(out.data(), bytes.data() + offset, out.size());
    return true;
  };
  return read_plugin_image(read_at, bytes.size(), "image");
}

}  // namespace dsakit::test
