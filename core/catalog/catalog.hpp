// Which backends exist: searches plugin folders (or a folder of manifest JSON files), reads
// manifests without loading anything, settles identity and shadowing, and keeps the result as an
// immutable snapshot (framework §6).
//
// Invariants: a snapshot never changes; one bad file never harms another; same id: the earlier
// search directory wins. Snapshots are shared pointers to const; any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tl/expected.hpp>

#include "diag/diagnostic.hpp"
#include "manifest/manifest.hpp"
#include "manifest/plugin_file.hpp"
#include "solver/solver.hpp"

namespace dsakit {

// One searched directory and why it is searched.
struct SearchDir {
  std::string path;  // absolute, unless a user named it otherwise
  std::string
      origin;  // "API", "DSAKIT_PLUGIN_PATH_ADD", "beside libdsakit", "XDG_DATA_HOME", "system"
  bool named = false;  // somebody asked for it by name, so that its absence deserves a warning
  std::string state;   // after the search: "3 plugin files", "does not exist"
};

// Everything that `list --why` shows about one file.
struct CatalogEntry {
  enum class Status : std::uint8_t { used, shadowed, duplicate, set_aside, disabled };
  Status status = Status::used;
  std::string file;
  std::string directory_origin;
  std::shared_ptr<const Manifest> manifest;  // null if it could not be read
  std::optional<PluginFile> plugin;          // absent in manifest-only catalogues
  std::vector<Diagnostic> diagnostics;       // why it is not used; warnings
};

// "used", "set aside", …
std::string_view entry_status_name(CatalogEntry::Status status);

class Catalog {
 public:
  // The plugins in `dirs`, in that order; ids matching `disabled` (globs) are listed and not used.
  static std::shared_ptr<const Catalog> open_plugins(const std::vector<SearchDir>& dirs,
                                                     const std::vector<std::string>& disabled = {},
                                                     const std::string& name = "local");

  // The *.json files of a folder, bytewise by name. E0101 if the folder cannot be read.
  static tl::expected<std::shared_ptr<const Catalog>, Diagnostic> open_manifests(
      const std::string& folder, const std::string& name);

  // From manifests in memory (tests, embedded catalogues): pairs of file name and JSON text.
  static std::shared_ptr<const Catalog> from_texts(
      const std::vector<std::pair<std::string, std::string>>& files, const std::string& name);

  const std::string& name() const { return name_; }
  const Solver& solver() const { return *solver_; }
  const std::vector<CatalogEntry>& entries() const { return entries_; }  // search order
  const std::vector<SearchDir>& searched() const { return searched_; }
  const std::vector<Diagnostic>& diagnostics() const {
    return diagnostics_;
  }  // of the search itself
  // The used entry of that id, or null.
  const CatalogEntry* find(std::string_view id) const;

 private:
  Catalog() = default;
  std::string name_;
  std::vector<CatalogEntry> entries_;
  std::vector<SearchDir> searched_;
  std::vector<Diagnostic> diagnostics_;
  std::unique_ptr<Solver> solver_;
  friend class CatalogBuilder;
};

}  // namespace dsakit
