// The jobs of dsakit-manifest, the build tool behind dsakit_add_plugin(). Exit codes: 0 done,
// 1 refused, 2 usage. One thread.
#pragma once

#include <string>
#include <vector>

#include "manifest/evidence.hpp"

namespace dsakit {

struct EmbedOptions {
  std::string manifest;  // source manifest.json
  std::string id;        // that CMake names; must be the manifest's
  std::string json_out;  // canonical JSON, for people and for the check
  std::string note_out;  // the note's descriptor, for .incbin
  std::string toolkit, sanitizer, commit;
  std::vector<std::string> targets;       // code in the file: sm_90a, gfx942, cpu
  bool allow_warnings = false;            // lint findings are printed and do not fail
  std::vector<std::string> source_lists;  // of sources.hpp; none: no record can match
  std::vector<std::string> records;       // evidence records
  std::string depfile;  // the sources that were read, for the build system; empty: none
};
int embed(const EmbedOptions& options);

struct CheckOptions {
  std::string plugin;  // the linked file
  std::string json;    // what embed() wrote
};
// The plugin carries exactly that manifest, has no static TLS and does not need a GPU driver's
// library.
int check(const CheckOptions& options);

struct EvidenceOptions {
  std::string plugin;                // the linked file
  std::vector<std::string> records;  // evidence records of it
};
// Says of each record whether it still is about the plugin. Answers 4 if one is not, 1 if one
// cannot be read.
int evidence(const EvidenceOptions& options);

// The records of plugin `id`; the first that is wrong is printed and answered with false.
bool read_records(const std::vector<std::string>& files, const std::string& id,
                  std::vector<EvidenceRecord>& records);

// Prints it and answers 1.
int refuse(const Diagnostic& diagnostic);

// Whole files; an error is printed and answered with false.
bool read_file(const std::string& path, std::string& text);
bool write_file(const std::string& path, const std::string& text);

}  // namespace dsakit
