#include "loader/loader.hpp"

#include <sys/stat.h>

#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <boost/dll/shared_library.hpp>

#include "device/detect.hpp"
#include "loader/mapped_image.hpp"

namespace dsakit {
namespace {

using Loaded = tl::expected<const dsakit_plugin*, Diagnostic>;

Diagnostic refusal(Code code, const std::string& file) {
  return Diagnostic(code).with("file", file);
}

tl::unexpected<Diagnostic> contradiction(const std::string& file, std::string what) {
  return tl::make_unexpected(refusal(Code::E0706, file).with("reason", std::move(what)));
}

// The file must still be the one whose manifest the solver judged.
std::optional<Diagnostic> changed_since(const PluginFile& file) {
  struct stat now {};
  if (stat(file.path.c_str(), &now) != 0) {
    return refusal(Code::E0702, file.path).with("reason", std::generic_category().message(errno));
  }
  if (now.st_dev != file.dev || now.st_ino != file.ino ||
      static_cast<std::uint64_t>(now.st_size) != file.size) {
    return refusal(Code::E0702, file.path).with("reason", "another file has taken its place");
  }
  return std::nullopt;
}

// Opens the library for good: its handle is never closed. The caller holds the load mutex.
tl::expected<dsakit_plugin_entry_fn, Diagnostic> open_library(const std::string& path) {
  namespace dll = boost::dll;
  static auto& forever = *new std::vector<std::unique_ptr<dll::shared_library>>();
  auto library = std::make_unique<dll::shared_library>();
  try {
    library->load(dll::fs::path(path), dll::load_mode::rtld_now | dll::load_mode::rtld_local);
    auto* entry = &library->get<const dsakit_plugin*(const dsakit_host*)>(DSAKIT_PLUGIN_ENTRY_NAME);
    forever.push_back(std::move(library));
    return entry;
  } catch (const std::exception& error) {
    return tl::make_unexpected(refusal(Code::E0701, path).with("reason", error.what()));
  }
}

Loaded negotiate(dsakit_plugin_entry_fn entry, const std::string& path) {
  static constexpr const char* kHostName = "dsakit " DSAKIT_VERSION;
  dsakit_error error{};
  error.size = sizeof(error);
  dsakit_host host{};
  host.size = sizeof(host);
  host.abi_min = kHostAbiMin;
  host.abi_max = kHostAbiMax;
  host.name = kHostName;
  host.error = &error;
  const dsakit_plugin* plugin = nullptr;
  try {
    plugin = entry(&host);
  } catch (...) {
    return tl::make_unexpected(
        refusal(Code::E0704, path).with("reason", "its entry threw an exception"));
  }
  if (plugin) return plugin;
  error.text[sizeof(error.text) - 1] = '\0';
  return tl::make_unexpected(
      refusal(Code::E0704, path)
          .with("reason", error.text[0] != '\0' ? error.text : "it gave no reason"));
}

// Only after this may the fields of version 1 be read.
std::optional<Diagnostic> table_defect(const dsakit_plugin& plugin, const std::string& path) {
  const auto bad = [&](std::string reason) {
    return refusal(Code::E0705, path).with("reason", std::move(reason));
  };
  if (plugin.size < DSAKIT_PLUGIN_SIZE_V1) {
    return bad(fmt::format("its size is {}, version 1 has {}", plugin.size, DSAKIT_PLUGIN_SIZE_V1));
  }
  if (plugin.abi < kHostAbiMin || plugin.abi > kHostAbiMax) {
    return bad(
        fmt::format("it chose ABI {}, asked were {} to {}", plugin.abi, kHostAbiMin, kHostAbiMax));
  }
  if (!plugin.id || !plugin.manifest) return bad("its id or its manifest is null");
  if (!plugin.probe || !plugin.create || !plugin.workspace || !plugin.run || !plugin.destroy) {
    return bad("a function that every plugin must have is null");
  }
  return std::nullopt;
}

// Decision 4: file, mapped image, table and manifest say the same.
Loaded agree(const dsakit_plugin* plugin, const Manifest& manifest, const PluginFile& file) {
  const auto mapped = mapped_manifest(reinterpret_cast<const void*>(plugin));
  if (!mapped) return contradiction(file.path, "the loaded image has no manifest note");
  if (*mapped != file.manifest_json) {
    return contradiction(file.path, "the manifest in the loaded image is not the one in the file");
  }
  if (plugin->manifest != mapped->data() || plugin->manifest_size != mapped->size()) {
    return contradiction(file.path,
                         "its table points to another manifest than the one in its note");
  }
  if (plugin->id != manifest.id) {
    return contradiction(file.path, fmt::format("its table says id `{}`, its manifest `{}`",
                                                plugin->id, manifest.id));
  }
  for (std::size_t i = 0; i < manifest.version.size(); ++i) {
    if (plugin->version[i] != static_cast<std::uint32_t>(manifest.version[i])) {
      return contradiction(file.path, "its table and its manifest give different versions");
    }
  }
  if (plugin->abi < static_cast<std::uint32_t>(manifest.abi_min) ||
      plugin->abi > static_cast<std::uint32_t>(manifest.abi_max)) {
    return contradiction(file.path, fmt::format("it chose ABI {}, its manifest allows {} to {}",
                                                plugin->abi, manifest.abi_min, manifest.abi_max));
  }
  return plugin;
}

tl::expected<dsakit_plugin_entry_fn, Diagnostic> open_unchanged(const PluginFile& file) {
  if (auto changed = changed_since(file)) return tl::make_unexpected(std::move(*changed));
  static const Detection drivers = detect_devices();  // drivers first, plugins after
  return open_library(file.path);
}

// Held while libraries are opened and entries are called for the first time.
std::mutex& load_mutex() {
  static std::mutex mutex;
  return mutex;
}

Loaded load_file(const CatalogEntry& entry) {
  const PluginFile& file = *entry.plugin;
  const Manifest& manifest = *entry.manifest;
  if (manifest.abi_max < static_cast<std::int32_t>(kHostAbiMin) ||
      manifest.abi_min > static_cast<std::int32_t>(kHostAbiMax)) {
    return tl::make_unexpected(
        refusal(Code::E0703, file.path)
            .with("found", fmt::format("{} to {}", manifest.abi_min, manifest.abi_max))
            .with("allowed", fmt::format("{} to {}", kHostAbiMin, kHostAbiMax)));
  }
  const auto entry_function = open_unchanged(file);
  if (!entry_function) return tl::make_unexpected(entry_function.error());
  const Loaded plugin = negotiate(*entry_function, file.path);
  if (!plugin) return plugin;
  if (auto defect = table_defect(**plugin, file.path))
    return tl::make_unexpected(std::move(*defect));
  return agree(*plugin, manifest, file);
}

}  // namespace

Loaded load_plugin(const CatalogEntry& entry) {
  if (!entry.plugin || !entry.manifest)
    return tl::make_unexpected(refusal(Code::E0707, entry.file));
  static std::map<std::pair<std::uint64_t, std::uint64_t>, const dsakit_plugin*> loaded;
  const std::scoped_lock lock(load_mutex());
  const std::pair key(entry.plugin->dev, entry.plugin->ino);
  if (const auto found = loaded.find(key); found != loaded.end()) {
    return agree(found->second, *entry.manifest, *entry.plugin);
  }
  const Loaded plugin = load_file(entry);
  if (plugin) loaded.emplace(key, *plugin);
  return plugin;
}

tl::expected<dsakit_plugin_entry_fn, Diagnostic> open_plugin_entry(const CatalogEntry& entry) {
  if (!entry.plugin || !entry.manifest)
    return tl::make_unexpected(refusal(Code::E0707, entry.file));
  const std::scoped_lock lock(load_mutex());
  return open_unchanged(*entry.plugin);
}

}  // namespace dsakit
