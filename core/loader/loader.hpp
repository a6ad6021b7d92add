// Loads a plugin of a catalogue: the only place that calls dlopen for plugins (framework §6, Load).
//
// A file is loaded at most once in a process and never unloaded: the handle is leaked on purpose,
// because code that a GPU runtime or a thread may still call must not go away. What a caller holds
// is a borrowed pointer for the life of the process.
//
// Invariants: one mutex around dlopen, never held while a plugin's functions run except its entry;
// device drivers are initialised before the first dlopen; after load, the note in the file, the
// note in the mapped image, the manifest that the plugin's table points to, and its id, version and
// ABI all agree. [any-thread]
#pragma once

#include <string>

#include <tl/expected.hpp>

#include "catalog/catalog.hpp"
#include "diag/diagnostic.hpp"
#include "dsakit/plugin_abi.h"

namespace dsakit {

// The ABI versions that this host can drive.
inline constexpr std::uint32_t kHostAbiMin = 1, kHostAbiMax = DSAKIT_ABI_VERSION;

// The plugin's table; valid for the life of the process. The entry must be one that the catalogue
// uses. Errors: E0701 the dynamic linker refuses it, E0702 it changed since the catalogue read it,
// E0703 no common ABI version, E0704 its entry refuses, E0705 its table is unusable, E0706 it
// contradicts its manifest, E0707 it is not a plugin file (manifest-only catalogues).
tl::expected<const dsakit_plugin*, Diagnostic> load_plugin(const CatalogEntry& entry);

// The entry function of a plugin file, opened for good and not called: for whoever judges the
// negotiation itself. Errors: E0701, E0702, E0707.
tl::expected<dsakit_plugin_entry_fn, Diagnostic> open_plugin_entry(const CatalogEntry& entry);

}  // namespace dsakit
