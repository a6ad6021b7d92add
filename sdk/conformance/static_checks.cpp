// L0: what the file says, without loading it.
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "diag/render.hpp"
#include "manifest/device_code.hpp"
#include "manifest/schema.hpp"
#include "sdk/conformance/check.hpp"
#include "sdk/conformance/elf_facts.hpp"

namespace dsakit::conformance {
namespace {

void lint(Trial& trial) {
  const CatalogEntry& entry = trial.subject().entry;
  for (const Diagnostic& warning : entry.diagnostics) trial.expect(false, headline(warning));
  for (const Diagnostic& finding : lint_rows(*entry.manifest, entry.file))
    trial.expect(false, headline(finding));
  if (const auto code = read_device_code(entry.file)) {
    for (const Diagnostic& finding : lint_device_code(*entry.manifest, *code, entry.file))
      trial.expect(false, headline(finding));
  }
  trial.count();
}

// The build writes canonical JSON with what it knows of the code.
void note(Trial& trial) {
  const CatalogEntry& entry = trial.subject().entry;
  std::string found = entry.plugin->manifest_json;
  while (found.ends_with('\n')) found.pop_back();
  trial.expect(found == entry.manifest->json, "the embedded manifest is not in canonical form");
  trial.expect(entry.manifest->has_build,
               "the embedded manifest does not say how the file was built (`build`)");
}

void name(Trial& trial) {
  const CatalogEntry& entry = trial.subject().entry;
  const std::string wanted = "libdsakit_" + entry.manifest->id + ".so";
  const std::string found = std::filesystem::path(entry.file).filename();
  trial.expect(found == wanted,
               fmt::format("the file is called {}, catalogues look for {}", found, wanted));
}

void exports(Trial& trial) {
  const ElfFacts facts = read_elf_facts(trial.subject().entry.file);
  if (!facts.exported) return trial.skip("the file has no section headers to find its symbols by");
  trial.expect(facts.exported->size() == 1 && facts.exported->front() == DSAKIT_PLUGIN_ENTRY_NAME,
               fmt::format("it exports {}; it must export {} alone",
                           fmt::join(*facts.exported, ", "), DSAKIT_PLUGIN_ENTRY_NAME));
  trial.expect(facts.unique.empty(),
               fmt::format("{} are unique in the whole process", fmt::join(facts.unique, ", ")));
}

void link(Trial& trial) {
  const PluginFile& plugin = *trial.subject().entry.plugin;
  const ElfFacts facts = read_elf_facts(trial.subject().entry.file);
  trial.expect(facts.bind_now, "it is linked without -z now, so a missing symbol shows up late");
  trial.expect(facts.no_delete, "it is linked without -z nodelete");
  trial.expect(!facts.text_relocations, "it has text relocations");
  trial.expect(!facts.executable_stack, "it asks for an executable stack");
  trial.expect(!plugin.static_tls, "it needs static TLS, which runs out in a large process");
  for (const std::string& needed : plugin.needed)
    trial.expect(!is_driver_library(needed),
                 fmt::format("it needs {}, so it cannot load without a driver", needed));
  const bool fixed = !plugin.runpath.empty() && plugin.runpath.find("$ORIGIN") == std::string::npos;
  trial.expect(!fixed, fmt::format("its RUNPATH {} names fixed directories", plugin.runpath));
}

constexpr Check kStaticChecks[] = {{"static.lint", 0, Scope::file, lint},
                                   {"static.note", 0, Scope::file, note},
                                   {"static.name", 0, Scope::file, name},
                                   {"static.exports", 0, Scope::file, exports},
                                   {"static.link", 0, Scope::file, link}};

}  // namespace

std::span<const Check> static_checks() {
  return kStaticChecks;
}

}  // namespace dsakit::conformance
