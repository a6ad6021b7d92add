// What the dynamic linker mapped: finds the manifest note of a loaded library in memory, to compare
// it with the note that was read from the file. [any-thread]
#pragma once

#include <optional>
#include <string_view>

namespace dsakit {

// The manifest inside the PT_NOTE of the library that contains `address`, in place; nothing if that
// library has none or it is malformed.
std::optional<std::string_view> mapped_manifest(const void* address);

}  // namespace dsakit
