// The manifest-only catalogues that are part of the library: each folder catalogs/<name>/ of the
// source tree, embedded at build time as text (cmake/DsakitEmbedCatalog.cmake). They answer
// questions about backends that are not installed here, and read no file.
//
// Invariants: names are unique and ordered bytewise, and so are the files of a catalogue (their
// search order). Static data; any thread.
#pragma once

#include <span>
#include <string_view>

namespace dsakit {

struct EmbeddedManifest {
  std::string_view file;  // "sglang/fa3.json", for messages
  std::string_view json;
};

struct NamedCatalog {
  std::string_view name;  // what --catalog takes
  std::span<const EmbeddedManifest> manifests;
};

std::span<const NamedCatalog> named_catalogs();

}  // namespace dsakit
