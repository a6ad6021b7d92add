// Which GPUs the device code inside a plugin file is for, read from the code itself and not from
// what a manifest says: the offload bundles that clang makes for AMD GPUs. Code for NVIDIA GPUs is
// not looked at.
//
// A bundle starts at a page of a loadable segment:
//   "__CLANG_OFFLOAD_BUNDLE__"   u64 entries   { u64 offset   u64 size   u64 n   char[n] id } …
// with ids such as "hipv4-amdgcn-amd-amdhsa--gfx942:sramecc+" and offsets from its start. Each
// entry is a code object, an ELF file of the AMD GPU machine.
//
// Invariants: bounded, executes nothing. Reentrant; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "diag/diagnostic.hpp"
#include "manifest/manifest.hpp"
#include "manifest/plugin_file.hpp"

namespace dsakit {

struct DeviceCode {
  std::string target;       // gfx942
  std::uint64_t bytes = 0;  // over all bundles of the file
};

struct DeviceCodeList {
  std::vector<DeviceCode> codes;      // by target
  std::vector<std::string> problems;  // a reason for each bundle that is damaged or compressed

  bool has(std::string_view target) const;
};

// E0101 to E0103 as read_plugin_file().
tl::expected<DeviceCodeList, Diagnostic> read_device_code(const std::string& path);

tl::expected<DeviceCodeList, Diagnostic> read_device_code(const ReadAt& read_at, std::uint64_t size,
                                                          const std::string& name);

// Whether a row serves AMD GPUs alone, and `targets` name code for none of them.
bool lacks_code(const Manifest& manifest, const Row& row, const std::vector<std::string>& targets);

// Where the code in a built file is not what its manifest says: W0118, or W0117 for a row that
// takes an AMD GPU for which there is no code. `file` appears in messages only.
std::vector<Diagnostic> lint_device_code(const Manifest& manifest, const DeviceCodeList& code,
                                         const std::string& file);

}  // namespace dsakit
