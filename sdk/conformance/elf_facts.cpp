#include "sdk/conformance/elf_facts.hpp"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>

namespace dsakit::conformance {
namespace {

class Image {
 public:
  explicit Image(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(in), {});
  }

  template <class Struct>
  bool read(std::uint64_t offset, Struct& to) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(Struct)) return false;
    std::memcpy(&to, bytes_.data() + offset, sizeof(Struct));
    return true;
  }

  std::string text(std::uint64_t offset) const {
    if (offset >= bytes_.size()) return "";
    const auto start = bytes_.begin() + static_cast<std::ptrdiff_t>(offset);
    return {start, std::find(start, bytes_.end(), '\0')};
  }

 private:
  std::vector<char> bytes_;
};

void read_segments(const Image& image, const Elf64_Ehdr& header, ElfFacts& facts) {
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment{};
    if (!image.read(header.e_phoff + std::uint64_t{i} * sizeof(segment), segment)) return;
    if (segment.p_type == PT_GNU_STACK) facts.executable_stack = (segment.p_flags & PF_X) != 0;
    if (segment.p_type != PT_DYNAMIC) continue;
    Elf64_Dyn entry{};
    for (std::uint64_t at = 0; at + sizeof(entry) <= segment.p_filesz; at += sizeof(entry)) {
      if (!image.read(segment.p_offset + at, entry) || entry.d_tag == DT_NULL) break;
      const std::uint64_t value = entry.d_un.d_val;
      if (entry.d_tag == DT_FLAGS) facts.bind_now |= (value & DF_BIND_NOW) != 0;
      if (entry.d_tag == DT_FLAGS) facts.text_relocations |= (value & DF_TEXTREL) != 0;
      if (entry.d_tag == DT_FLAGS_1) facts.bind_now |= (value & DF_1_NOW) != 0;
      if (entry.d_tag == DT_FLAGS_1) facts.no_delete |= (value & DF_1_NODELETE) != 0;
      facts.bind_now |= entry.d_tag == DT_BIND_NOW;
      facts.text_relocations |= entry.d_tag == DT_TEXTREL;
    }
  }
}

void read_symbols(const Image& image, const Elf64_Shdr& symbols, std::uint64_t strings,
                  ElfFacts& facts) {
  facts.exported.emplace();
  Elf64_Sym symbol{};
  for (std::uint64_t at = 0; at + sizeof(symbol) <= symbols.sh_size; at += sizeof(symbol)) {
    if (!image.read(symbols.sh_offset + at, symbol)) return;
    const unsigned binding = ELF64_ST_BIND(symbol.st_info);
    // A version script defines the version's name as an absolute symbol.
    if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx == SHN_ABS || binding == STB_LOCAL)
      continue;
    const std::string name = image.text(strings + symbol.st_name);
    facts.exported->push_back(name);
    if (binding == STB_GNU_UNIQUE) facts.unique.push_back(name);
  }
}

}  // namespace

ElfFacts read_elf_facts(const std::string& file) {
  ElfFacts facts;
  const Image image(file);
  Elf64_Ehdr header{};
  if (!image.read(0, header)) return facts;
  read_segments(image, header, facts);
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section{};
    Elf64_Shdr strings{};
    if (!image.read(header.e_shoff + std::uint64_t{i} * sizeof(section), section)) return facts;
    if (section.sh_type == SHT_DYNSYM &&
        image.read(header.e_shoff + std::uint64_t{section.sh_link} * sizeof(strings), strings))
      read_symbols(image, section, strings.sh_offset, facts);
  }
  return facts;
}

}  // namespace dsakit::conformance
