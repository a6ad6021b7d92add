// A catalogue of the size that the speed bars speak of: 64 backends with eight rows each. They are
// variants of plugin/manifest.json, which has the shape of the manifests in catalogs/.
// Deterministic; any thread.
#pragma once

#include <string>
#include <string_view>

namespace dsakit::bench {

inline constexpr int kBackends = 64;

// The manifest of backend `number`: every second one has the KV dtypes of its rows swapped, and
// ranks differ.
std::string typical_manifest(int number);

// GLM-5.2 with FP8 rows on `device`, in batch form; some of the backends accept it on sm_90.
std::string typical_request(std::string_view device);

// A new folder with 64 plugin files: copies of the built plugin whose manifests have ids of their
// own. Removed by the destructor.
class PluginFolder {
 public:
  PluginFolder();
  ~PluginFolder();
  PluginFolder(const PluginFolder&) = delete;
  PluginFolder& operator=(const PluginFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace dsakit::bench
