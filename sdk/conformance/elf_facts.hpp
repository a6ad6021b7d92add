// What a plugin file says about how it was linked, beyond what the catalogue needs: its dynamic
// symbols and flags. Reads the file, loads nothing; a file cut anywhere gives fewer facts, never a
// crash. Pure; any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace dsakit::conformance {

struct ElfFacts {
  std::optional<std::vector<std::string>> exported;  // nothing: the section headers were removed
  std::vector<std::string> unique;                   // STB_GNU_UNIQUE symbols
  bool bind_now = false, no_delete = false, text_relocations = false, executable_stack = false;
};

ElfFacts read_elf_facts(const std::string& file);

}  // namespace dsakit::conformance
