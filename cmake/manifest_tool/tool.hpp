// The two jobs of dsakit-manifest, the build tool behind dsakit_add_plugin(). Exit codes: 0 done,
// 1 refused, 2 usage. One thread.
#pragma once

#include <string>
#include <vector>

namespace dsakit {

struct EmbedOptions {
  std::string manifest;  // source manifest.json
  std::string id;        // that CMake names; must be the manifest's
  std::string json_out;  // canonical JSON, for people and for the check
  std::string note_out;  // the note's descriptor, for .incbin
  std::string toolkit, sanitizer, commit;
  std::vector<std::string> targets;  // code in the file: sm_90a, gfx942, cpu
  bool allow_warnings = false;       // lint findings are printed and do not fail
};
int embed(const EmbedOptions& options);

struct CheckOptions {
  std::string plugin;  // the linked file
  std::string json;    // what embed() wrote
};
// The plugin carries exactly that manifest, has no static TLS and does not need a GPU driver's
// library.
int check(const CheckOptions& options);

// Whole files; an error is printed and answered with false.
bool read_file(const std::string& path, std::string& text);
bool write_file(const std::string& path, const std::string& text);

}  // namespace dsakit
