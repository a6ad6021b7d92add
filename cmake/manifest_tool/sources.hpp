// What decides the code of a plugin, as one digest: its sources, those of the libraries of the same
// project that are linked into it, the headers that these include from the project, and
// definitions.
//
// Invariants: the digest depends on names relative to the project and on text without comments and
// layout, never on a folder of the machine, the order of a list, or files outside the project. One
// thread.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace dsakit {

struct SourceSet {
  std::string digest;                        // "sha256:…"
  bool portable = true;                      // no file asks which device it is compiled for
  std::map<std::string, std::string> flags;  // language → options that are no warnings
  std::vector<std::string> files;            // that were read, absolute; sorted
};

// Reads lists that DsakitAddPlugin.cmake writes, one a language; lines of "<key> <value>":
//   root       folder of the project, that names are relative to
//   without    a folder of files that the build makes and that do not count
//   language   CXX, CUDA, …
//   target     a library; what follows is its: folder, source, include, define, option
// False, with a message, if a list or a source cannot be read.
bool collect_sources(const std::vector<std::string>& lists, SourceSet& out);

// The text of a C++ file as the compiler's first phases leave it: no comments, runs of blanks one
// blank, no empty lines. Literals keep every byte.
std::string without_layout(const std::string& text);

}  // namespace dsakit
