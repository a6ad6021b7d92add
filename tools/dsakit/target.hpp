// What inspect and lint look at: a plugin file, a manifest, or a backend of the catalogue by id.
// Reads without loading. One thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "diag/diagnostic.hpp"
#include "manifest/device_code.hpp"
#include "manifest/manifest.hpp"
#include "manifest/plugin_file.hpp"

namespace dsakit::cli {

struct Target {
  std::string file;
  std::optional<PluginFile> plugin;     // if it is a plugin that could be read
  std::vector<DeviceCode> device_code;  // of AMD GPUs, as the file holds it
  std::string json;  // the manifest as it stands in the file; empty: none was found
  std::shared_ptr<const Manifest> manifest;  // null: something is wrong
  std::vector<Diagnostic> diagnostics;       // errors and warnings, of reading and of lint

  bool broken() const { return !manifest; }
};

// A file that ends in .json is a source manifest, any other a plugin. E0101 if it cannot be read at
// all.
tl::expected<Target, Diagnostic> read_target(const std::string& file);

}  // namespace dsakit::cli
