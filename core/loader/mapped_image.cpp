#include "loader/mapped_image.hpp"

#include <link.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "manifest/plugin_file.hpp"

namespace dsakit {
namespace {

struct Search {
  std::uintptr_t address;
  std::optional<std::string_view> manifest;
};

bool contains(const dl_phdr_info& info, std::uintptr_t address) {
  for (const ElfW(Phdr) & segment : std::span(info.dlpi_phdr, info.dlpi_phnum)) {
    const std::uintptr_t begin = info.dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && address >= begin && address - begin < segment.p_memsz)
      return true;
  }
  return false;
}

int visit(dl_phdr_info* info, std::size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  if (!contains(*info, search.address)) return 0;
  int found = 0;
  std::string_view manifest;
  for (const ElfW(Phdr) & segment : std::span(info->dlpi_phdr, info->dlpi_phnum)) {
    if (segment.p_type != PT_NOTE) continue;
    const auto* begin = reinterpret_cast<const std::byte*>(info->dlpi_addr + segment.p_vaddr);
    if (scan_notes({begin, segment.p_memsz}, segment.p_align, found, manifest)) return 1;
  }
  if (found == 1) search.manifest = manifest;
  return 1;
}

}  // namespace

std::optional<std::string_view> mapped_manifest(const void* address) {
  Search search{reinterpret_cast<std::uintptr_t>(address), std::nullopt};
  dl_iterate_phdr(visit, &search);
  return search.manifest;
}

}  // namespace dsakit
