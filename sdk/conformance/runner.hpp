// Judges a plugin file: runs every check in a child process, so that a plugin that crashes, hangs
// or ends the process fails one check and not the judge.
//
// Invariants: the calling process never loads the plugin and opens no driver. The order and the
// names of the results depend on the manifest and the options alone. One thread; the caller must
// not have started others.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "diag/diagnostic.hpp"
#include "sdk/conformance/check.hpp"

namespace dsakit::conformance {

struct JudgeOptions {
  std::vector<int> levels{0, 1, 2, 3, 4, 5};
  Tier tier = Tier::reduced;
  std::string check;           // only checks whose name starts so; empty: all
  std::string row;             // only this row; empty: all
  bool stop_at_first = false;  // after the first check that fails
  int seconds_a_check = 0;     // 0: 120, in the full tier 1200
};

struct CheckResult {
  std::string name, row;  // row: empty for checks of the whole plugin
  int level = 0;
  Result result = Result::pass;
  std::string reason;
  bool lacks_device = false;  // why it was skipped
  int cases = 0;
  double milliseconds = 0;
  Worst out{}, lse{};  // against float64
  int ordinal = -1;    // of the CUDA device that it ran on; -1: the host
};

struct Report {
  std::string file, id, version;
  Tier tier = Tier::reduced;
  std::shared_ptr<const Manifest> manifest;
  std::vector<CheckResult> results;

  int count(Result result) const;
  bool conforms() const { return count(Result::fail) == 0 && !undecided(); }
  // No check failed, but in some the kit itself did, or there is no device for them here.
  bool undecided() const {
    return count(Result::fail) == 0 && (count(Result::broken) > 0 || lacking_device() > 0);
  }
  int lacking_device() const;
  // The first check that failed, in the order from elementary to compound; null if none did.
  const CheckResult* refused_by() const;
};

// Told before each check and once at the end, with how many are done of how many.
using Progress = std::function<void(int done, int all, const std::string& name)>;

// Errors: those of reading the file and its manifest; E0702 if another file stood there at the end.
tl::expected<Report, Diagnostic> judge(const std::string& file, const JudgeOptions& options,
                                       const Progress& progress = nullptr);

std::string report_text(const Report& report);
std::string report_json(const Report& report);
// As continuous integration reads it: JUnit XML, a test suite a level.
std::string report_junit(const Report& report);

}  // namespace dsakit::conformance
