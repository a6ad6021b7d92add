// Collects files into a Catalog: reads each, remembers what is wrong with it, then settles
// identity, shadowing and contradictions between files, and compiles the solver.
//
// Invariants: a file is opened once; nothing is merged; a file that is set aside shadows nobody.
// Used by one thread, then given up by finish().
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "catalog/catalog.hpp"

namespace dsakit {

class CatalogBuilder {
 public:
  explicit CatalogBuilder(std::string name);

  // Whether this directory (by device and inode) was not visited before; true for one that cannot
  // be read.
  bool first_visit(const std::string& directory);
  void add_searched(SearchDir dir);
  void add_diagnostic(Diagnostic diagnostic);

  void add_plugin(const std::string& path, const std::string& origin);
  void add_manifest_file(const std::string& folder, const std::string& file);
  void add_text(const std::string& file, const std::string& text);

  std::shared_ptr<const Catalog> finish(const std::vector<std::string>& disabled) &&;

 private:
  void take_manifest(CatalogEntry entry, const std::string& json);
  void set_aside(CatalogEntry entry, Diagnostic reason);
  void settle_identity(const std::vector<std::string>& disabled);
  bool compile();

  std::shared_ptr<Catalog> catalog_;
  std::set<std::pair<std::uint64_t, std::uint64_t>> directories_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::size_t>
      files_;  // device and inode → entry
};

}  // namespace dsakit
