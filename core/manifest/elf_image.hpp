// A bounded view of an ELF shared object: headers, segments and the dynamic section, with every
// offset checked against the file before it is read. Private to core/manifest.
#pragma once

#include <elf.h>

#include <optional>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "diag/diagnostic.hpp"
#include "manifest/plugin_file.hpp"

namespace dsakit {

class ElfImage {
 public:
  // Errors: E0102, E0103. `read_at` and `name` must outlive the image.
  static tl::expected<ElfImage, Diagnostic> open(const ReadAt& read_at, std::uint64_t size,
                                                 const std::string& name);

  const std::vector<Elf64_Phdr>& segments() const { return segments_; }

  // The file bytes of a segment. E0103 if they leave the file, E0105 if there are more than
  // `limit`.
  tl::expected<std::vector<std::byte>, Diagnostic> segment_bytes(const Elf64_Phdr& segment,
                                                                 std::uint64_t limit) const;

  // needed, soname, runpath and static_tls of `out`; E0102 if there is no sound dynamic section.
  std::optional<Diagnostic> read_dynamic(PluginFile& out) const;

 private:
  ElfImage(const ReadAt& read_at, std::uint64_t size, const std::string& name)
      : read_at_(&read_at), size_(size), name_(&name) {}

  std::optional<Diagnostic> read_headers();
  std::optional<Diagnostic> check_identity(const Elf64_Ehdr& header) const;
  std::optional<Diagnostic> check_segments() const;
  // Whether [offset, offset + length) lies inside the file.
  bool inside(std::uint64_t offset, std::uint64_t length) const {
    return offset <= size_ && length <= size_ - offset;
  }
  // File offset of `length` bytes at a virtual address, if one PT_LOAD holds them in the file.
  std::optional<std::uint64_t> offset_of(std::uint64_t address, std::uint64_t length) const;

  Diagnostic not_a_plugin(std::string reason) const;
  Diagnostic cut_short(std::string reason) const;

  const ReadAt* read_at_;
  std::uint64_t size_;
  const std::string* name_;
  std::vector<Elf64_Phdr> segments_;
};

}  // namespace dsakit
