// A catalogue with everything an answer depends on besides the question: the environment, the
// user's configuration and the other catalogues. The CLI and the C API both ask through it, so
// their answers are the same bytes.
//
// Invariants: immutable after open(); every answer comes from the catalogue's Solver, an Advisor
// only adds typed backends of lower precedence and warnings. Const use from any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tl/expected.hpp>

#include "catalog/catalog.hpp"
#include "host/environment.hpp"
#include "host/user_config.hpp"
#include "solver/answer.hpp"
#include "solver/request.hpp"

namespace dsakit {

// Names that open_catalog() knows besides folders: "local" and the embedded ones, sorted.
std::vector<std::string> catalog_names();

struct AdvisorOptions {
  std::string catalog = "local";         // a name or a folder of manifest JSON files
  std::vector<std::string> plugin_dirs;  // searched first
  std::string plugin_dirs_origin = "API";
  Environment environment;
  UserConfig user;
};

class Advisor {
 public:
  // E0116 for an unknown name, E0101 for a folder that cannot be read.
  static tl::expected<Advisor, Diagnostic> open(AdvisorOptions options);

  const Catalog& catalog() const { return *catalog_; }
  const AdvisorOptions& options() const { return options_; }

  // The solver's projections with the typed backends of environment and user configuration applied,
  // and with notes about files that were not used and other catalogues that disagree. A platform
  // and a device that do not belong together are an error (E0408).
  Answer resolve(Request request, const Policy& policy) const;
  Answer validate(Request request, const Policy& policy) const;
  Explanation explain(Request request, const Policy& policy) const;

  // The same for a request in batch form; a malformed one gives an error answer. Answers carry
  // `line`, unless it is 0.
  Answer resolve_text(std::string_view json, const Policy& policy, int line = 0) const;
  Answer validate_text(std::string_view json, const Policy& policy, int line = 0) const;
  // The answer's JSON with evaluation and allowed set, or an error answer.
  std::pair<Answer::Verdict, std::string> explain_text(std::string_view json, const Policy& policy,
                                                       int line = 0) const;

 private:
  struct OtherCatalogs;

  Advisor() = default;
  const std::vector<std::shared_ptr<const Catalog>>& others() const;
  void complete(Answer& answer, const Request& request, const Policy& policy) const;
  void compare_with_others(Answer& answer, const Request& request, const Policy& policy) const;

  AdvisorOptions options_;
  std::shared_ptr<const Catalog> catalog_;
  std::shared_ptr<OtherCatalogs> others_;  // opened when first needed
};

}  // namespace dsakit
