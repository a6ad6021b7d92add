// Reads a plugin file without loading it: our own bounded ELF reader over pread (framework §3,
// Reader). It predicts the SIGBUS that a truncated file would cause in dlopen, and never executes
// anything. Reentrant; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "diag/diagnostic.hpp"

namespace dsakit {

// The note that carries the manifest (framework §3, Container).
inline constexpr std::string_view kNoteOwner = "DSAKIT";
inline constexpr std::uint32_t kNoteType = 0x44534101;
inline constexpr std::uint32_t kDescriptorMagic = 0x314B5344;  // "DSK1"
inline constexpr std::uint16_t kContainerVersion = 1;
inline constexpr std::uint16_t kEncodingJson = 1;
inline constexpr std::size_t kDescriptorHeader = 16;
inline constexpr std::size_t kMaxManifestBytes = 64 * 1024;

struct PluginFile {
  std::string path;                          // resolved
  std::uint64_t dev = 0, ino = 0, size = 0;  // 0, 0 for an image in memory
  std::string manifest_json;                 // descriptor text of the one DSAKIT note
  // From PT_DYNAMIC; `runpath` is DT_RUNPATH, or DT_RPATH where there is none:
  std::vector<std::string> needed;
  std::string soname, runpath;
  bool static_tls = false;
};

// Whether a needed library comes with a GPU's driver: a plugin that needs one cannot be loaded on a
// machine without it.
bool is_driver_library(std::string_view name);

// Random access to bytes: fills `out` from `offset`, false if out of range. Lets tests and fuzzers
// run the reader over memory.
using ReadAt = std::function<bool(std::uint64_t offset, std::span<std::byte> out)>;

// Opens with O_NOFOLLOW on the resolved path. Errors: E0101 (open, not regular), E0102 (not an
// ELF64 ET_DYN of this machine), E0103 (a PT_LOAD beyond the end), E0104 (no note), E0105 (note
// damaged, twice, too large).
tl::expected<PluginFile, Diagnostic> read_plugin_file(const std::string& path);

tl::expected<PluginFile, Diagnostic> read_plugin_image(const ReadAt& read_at, std::uint64_t size,
                                                       const std::string& name);

// Walks the notes of one PT_NOTE segment and counts those of our owner; the first one's manifest,
// inside `notes`, goes to `json`. The reason if a note is malformed or there are several. Serves
// files and images that are mapped already.
std::optional<std::string> scan_notes(std::span<const std::byte> notes, std::uint64_t alignment,
                                      int& found, std::string_view& json);

// The note's descriptor around a manifest: {magic, container, encoding, length, crc32c} + JSON.
std::vector<std::byte> encode_note_descriptor(const std::string& json);

}  // namespace dsakit
