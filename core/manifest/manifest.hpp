// A backend's manifest as data: who it is and which rows it serves. Parsed by schema.hpp from JSON;
// judged by the solver alone. Everything else reads these declared values and never interprets a
// row.
//
// Invariants: passed the whole schema; `where` is sorted by dimension name with `common` NOT merged
// in. Immutable after parsing; const use from any thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "manifest/dimension.hpp"
#include "manifest/value.hpp"

namespace dsakit {

using Where = std::map<std::string, Predicate>;

struct Row {
  std::string name;
  Where where;
  std::int32_t rank = 0;                  // 0 = only when typed
  std::map<std::string, Value> provides;  // kv_layout always; shared dimensions
  std::string note;
  std::map<std::string, std::string> extra;  // x-* key → canonical JSON; kept, never read
};

// What the build wrote about the embedded code (product.md, evidence); absent in source manifests.
struct BuildInfo {
  std::vector<std::string> targets;  // code targets in the file: "sm_90a", "gfx942"
  std::string toolkit, sanitizer, commit;
  std::string sources;                       // digest of what was compiled (docs/evidence.md)
  bool portable = false;                     // no source asks which device it is compiled for
  std::map<std::string, std::string> flags;  // language → how it was compiled
  // row name → arch → hardware | emulated | compiled | declared
  std::map<std::string, std::map<std::string, std::string>> evidence;
};

struct Manifest {
  int schema = 1;
  std::string id;
  std::array<std::int32_t, 3> version{};
  std::int32_t abi_min = 0, abi_max = 0;
  std::string summary, vendor, license, url;
  std::vector<Dimension> dims;  // extension dimensions, sorted by name
  Where common;
  std::vector<Row> rows;  // in file order
  std::vector<std::string> conflicts;
  BuildInfo build;
  bool has_build = false;
  std::map<std::string, std::string> extra;  // x-* key → canonical JSON; kept, never read
  std::string json;                          // canonical text, without the final newline
};

}  // namespace dsakit
