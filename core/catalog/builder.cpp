#include "catalog/builder.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>

#include "catalog/search.hpp"
#include "catalog/text_file.hpp"
#include "manifest/json.hpp"
#include "manifest/schema.hpp"

namespace dsakit {
namespace {

using Status = CatalogEntry::Status;

bool same_bytes(const std::string& a, const std::string& b) {
  std::ifstream first(a, std::ios::binary);
  std::ifstream second(b, std::ios::binary);
  if (!first || !second) return false;
  return std::equal(std::istreambuf_iterator<char>(first), {},
                    std::istreambuf_iterator<char>(second), {});
}

Diagnostic same_file(const CatalogEntry& entry, const CatalogEntry& first, const char* how) {
  return Diagnostic(Code::W0112).with("file", entry.file).with("other", first.file).note(how);
}

}  // namespace

CatalogBuilder::CatalogBuilder(std::string name) : catalog_(new Catalog()) {
  catalog_->name_ = std::move(name);
}

bool CatalogBuilder::first_visit(const std::string& directory) {
  struct stat info {};
  if (::stat(directory.c_str(), &info) != 0) return true;
  return directories_.insert({info.st_dev, info.st_ino}).second;
}

void CatalogBuilder::add_searched(SearchDir dir) {
  catalog_->searched_.push_back(std::move(dir));
}

void CatalogBuilder::add_diagnostic(Diagnostic diagnostic) {
  catalog_->diagnostics_.push_back(std::move(diagnostic));
}

void CatalogBuilder::set_aside(CatalogEntry entry, Diagnostic reason) {
  entry.status = Status::set_aside;
  entry.diagnostics.push_back(std::move(reason));
  catalog_->entries_.push_back(std::move(entry));
}

void CatalogBuilder::take_manifest(CatalogEntry entry, const std::string& json) {
  auto parsed = parse_manifest(json, entry.file, ManifestKind::built);
  if (!parsed) return set_aside(std::move(entry), std::move(parsed.error()));
  // Without code there is nothing that could have run: every row is `declared`, whatever the file
  // says.
  if (Manifest& manifest = parsed->manifest; !entry.plugin && !manifest.build.evidence.empty()) {
    manifest.build.evidence.clear();
    manifest.json = canonical_manifest(manifest);
    manifest.json.pop_back();
  }
  entry.manifest = std::make_shared<const Manifest>(std::move(parsed->manifest));
  entry.diagnostics = std::move(parsed->warnings);
  catalog_->entries_.push_back(std::move(entry));
}

void CatalogBuilder::add_plugin(const std::string& path, const std::string& origin) {
  CatalogEntry entry;
  entry.file = path;
  entry.directory_origin = origin;
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0) {
    const auto [seen, fresh] =
        files_.emplace(std::pair{info.st_dev, info.st_ino}, catalog_->entries_.size());
    if (!fresh) {
      entry.status = Status::duplicate;
      entry.diagnostics.push_back(
          same_file(entry, catalog_->entries_[seen->second], "both names lead to one file"));
      catalog_->entries_.push_back(std::move(entry));
      return;
    }
  }
  auto plugin = read_plugin_file(path);
  if (!plugin) return set_aside(std::move(entry), std::move(plugin.error()));
  const std::string json = plugin->manifest_json;
  entry.plugin = std::move(*plugin);
  take_manifest(std::move(entry), json);
}

void CatalogBuilder::add_manifest_file(const std::string& folder, const std::string& file) {
  CatalogEntry entry;
  entry.file = file;
  entry.directory_origin = folder;
  const auto text = read_text_file(folder + "/" + file, JsonLimits{}.max_bytes);
  if (!text) return set_aside(std::move(entry), text.error());
  take_manifest(std::move(entry), *text);
}

void CatalogBuilder::add_text(const std::string& file, const std::string& text) {
  CatalogEntry entry;
  entry.file = file;
  take_manifest(std::move(entry), text);
}

// Same id: the entry found first keeps it. Bytes are compared only where ids clash and sizes are
// equal.
void CatalogBuilder::settle_identity(const std::vector<std::string>& disabled) {
  std::map<std::string, const CatalogEntry*> owners;
  for (CatalogEntry& entry : catalog_->entries_) {
    if (!entry.manifest || entry.status == Status::set_aside) continue;
    const std::string& id = entry.manifest->id;
    const bool off = std::any_of(disabled.begin(), disabled.end(),
                                 [&](const std::string& glob) { return glob_match(glob, id); });
    if (const auto [owner, fresh] = owners.emplace(id, &entry); fresh) {
      entry.status = off ? Status::disabled : Status::used;
    } else if (entry.status == Status::used) {
      const CatalogEntry& first = *owner->second;
      const bool copy = entry.plugin && first.plugin && entry.plugin->size == first.plugin->size &&
                        same_bytes(entry.plugin->path, first.plugin->path);
      entry.status = copy ? Status::duplicate : Status::shadowed;
      entry.diagnostics.push_back(copy ? same_file(entry, first, "both hold the same bytes")
                                       : Diagnostic(Code::W0111)
                                             .with("file", entry.file)
                                             .with("other", first.file)
                                             .with("backend", id));
    }
  }
}

// Compiles the used entries; false if some were set aside that hid another file, which now counts.
bool CatalogBuilder::compile() {
  std::vector<SolverInput> inputs;
  for (const CatalogEntry& entry : catalog_->entries_) {
    if (entry.status == Status::used) inputs.push_back({entry.manifest, entry.file});
  }
  Solver solver = Solver::compile(inputs, catalog_->name_);
  bool uncovered = false;
  for (const Solver::SetAside& aside : solver.set_aside()) {
    for (CatalogEntry& entry : catalog_->entries_) {
      if (!entry.manifest || entry.manifest->id != aside.id) continue;
      if (entry.status == Status::used) {
        entry.status = Status::set_aside;
        entry.diagnostics.push_back(aside.reason);
      } else if (entry.status == Status::shadowed) {
        entry.status = Status::used;
        entry.diagnostics.pop_back();
        uncovered = true;
      }
    }
  }
  catalog_->solver_ = std::make_unique<Solver>(std::move(solver));
  return !uncovered;
}

std::shared_ptr<const Catalog> CatalogBuilder::finish(const std::vector<std::string>& disabled) && {
  settle_identity(disabled);
  while (!compile()) settle_identity(disabled);
  const auto& entries = catalog_->entries_;
  if (std::none_of(entries.begin(), entries.end(),
                   [](const CatalogEntry& entry) { return entry.status == Status::used; })) {
    Diagnostic nothing(Code::W0114);
    for (const SearchDir& dir : catalog_->searched_)
      nothing.evidence.push_back({dir.path, dir.state});
    nothing.notes.emplace_back("`dsakit help W0114` says what to do, also without any plugin");
    add_diagnostic(std::move(nothing));
  }
  return std::move(catalog_);
}

}  // namespace dsakit
