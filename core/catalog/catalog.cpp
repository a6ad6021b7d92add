#include "catalog/catalog.hpp"

#include "catalog/builder.hpp"
#include "catalog/search.hpp"

namespace dsakit {
namespace {

Diagnostic cannot_search(const SearchDir& dir, std::string reason) {
  return Diagnostic(Code::W0113)
      .with("directory", dir.path)
      .with("reason", std::move(reason))
      .from({dir.path, dir.origin});
}

}  // namespace

std::shared_ptr<const Catalog> Catalog::open_plugins(const std::vector<SearchDir>& dirs,
                                                     const std::vector<std::string>& disabled,
                                                     const std::string& name) {
  CatalogBuilder builder(name);
  for (SearchDir dir : dirs) {
    if (!dir.path.starts_with('/')) {
      builder.add_diagnostic(cannot_search(dir, "it is not an absolute path"));
      dir.state = "not absolute";
    } else if (!builder.first_visit(dir.path)) {
      dir.state = "searched above";
    } else {
      FolderListing listing = list_folder(dir.path, "libdsakit_", ".so");
      if (!listing.error.empty() && (dir.named || !listing.missing)) {
        builder.add_diagnostic(cannot_search(dir, listing.error));
      }
      if (listing.names.size() > kMaxPluginFiles) {
        builder.add_diagnostic(Diagnostic(Code::W0115)
                                   .with("directory", dir.path)
                                   .with("limit", static_cast<std::int64_t>(kMaxPluginFiles)));
        listing.names.resize(kMaxPluginFiles);
      }
      dir.state = listing.missing          ? "does not exist"
                  : !listing.error.empty() ? listing.error
                  : listing.names.size() == 1
                      ? "1 plugin file"
                      : std::to_string(listing.names.size()) + " plugin files";
      for (const std::string& file : listing.names) {
        builder.add_plugin(dir.path + "/" + file, dir.origin);
      }
    }
    builder.add_searched(std::move(dir));
  }
  return std::move(builder).finish(disabled);
}

tl::expected<std::shared_ptr<const Catalog>, Diagnostic> Catalog::open_manifests(
    const std::string& folder, const std::string& name) {
  const FolderListing listing = list_folder(folder, "", ".json");
  if (!listing.error.empty()) {
    return tl::unexpected(
        Diagnostic(Code::E0101).with("file", folder).with("reason", listing.error));
  }
  CatalogBuilder builder(name);
  for (const std::string& file : listing.names) builder.add_manifest_file(folder, file);
  const std::size_t count = listing.names.size();
  builder.add_searched(
      {folder, "named", true, count == 1 ? "1 manifest" : std::to_string(count) + " manifests"});
  return std::move(builder).finish({});
}

std::shared_ptr<const Catalog> Catalog::from_texts(
    const std::vector<std::pair<std::string, std::string>>& files, const std::string& name) {
  CatalogBuilder builder(name);
  for (const auto& [file, text] : files) builder.add_text(file, text);
  return std::move(builder).finish({});
}

const CatalogEntry* Catalog::find(std::string_view id) const {
  for (const CatalogEntry& entry : entries_) {
    if (entry.status == CatalogEntry::Status::used && entry.manifest->id == id) return &entry;
  }
  return nullptr;
}

std::string_view entry_status_name(CatalogEntry::Status status) {
  switch (status) {
    case CatalogEntry::Status::used:
      return "used";
    case CatalogEntry::Status::shadowed:
      return "shadowed";
    case CatalogEntry::Status::duplicate:
      return "duplicate";
    case CatalogEntry::Status::set_aside:
      return "set aside";
    case CatalogEntry::Status::disabled:
      return "disabled";
  }
  return "";
}

}  // namespace dsakit
