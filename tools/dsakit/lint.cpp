// dsakit lint: whether plugin files and manifests keep the rules. Exit code 1 on any finding.
#include <ostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "command.hpp"
#include "host/status.hpp"
#include "report.hpp"
#include "target.hpp"

namespace dsakit::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string summary(const std::vector<Diagnostic>& findings) {
  std::size_t errors = 0;
  for (const Diagnostic& finding : findings)
    errors += code_severity(finding.code) == Severity::error ? 1 : 0;
  const std::size_t warnings = findings.size() - errors;
  if (findings.empty()) return "keeps the rules";
  return fmt::format("{} error{}, {} warning{}", errors, errors == 1 ? "" : "s", warnings,
                     warnings == 1 ? "" : "s");
}

int lint(Cli& cli) {
  Status worst = Status::yes;
  Json files = Json::array();
  for (const std::string& file : cli.options.targets) {
    auto target = read_target(file);
    const std::vector<Diagnostic> findings =
        target ? std::move(target->diagnostics) : std::vector<Diagnostic>{target.error()};
    const Status status = !target            ? Status::environment
                          : findings.empty() ? Status::yes
                                             : Status::no;
    worst = std::max(worst, status);
    if (cli.options.json()) {
      files.push_back({{"file", file}, {"diagnostics", diagnostics_json(findings)}});
      continue;
    }
    cli.out() << fmt::format("{}: {}\n", file, summary(findings));
    for (const Diagnostic& finding : findings) cli.out() << render_text(finding, cli.style());
  }
  if (cli.options.json()) cli.out() << dump({{"files", std::move(files)}}) << '\n';
  return static_cast<int>(worst);
}

}  // namespace

const Command& lint_command() {
  static constexpr Command kCommand{"lint",
                                    "check plugin files and manifests",
                                    kFormatOption,
                                    lint,
                                    "files",
                                    "plugin files, or manifests (*.json)",
                                    1,
                                    kAnyNumber};
  return kCommand;
}

}  // namespace dsakit::cli
