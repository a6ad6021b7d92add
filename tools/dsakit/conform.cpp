// dsakit conform: whether a plugin does what its manifest says. Exit code 1 if a check refuses it.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <ostream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "command.hpp"
#include "diag/nearest.hpp"
#include "host/status.hpp"
#include "print.hpp"
#include "sdk/conformance/evidence.hpp"
#include "sdk/conformance/runner.hpp"
#include "writing.hpp"

namespace dsakit::cli {
namespace {

using conformance::JudgeOptions;
using conformance::Tier;

// "4", "0-2", "0,4-5".
tl::expected<std::vector<int>, Diagnostic> read_levels(const std::string& text) {
  std::vector<int> levels;
  const auto digit = [&](std::size_t at) {
    return at < text.size() && text[at] >= '0' && text[at] <= '5' ? text[at] - '0' : -1;
  };
  for (std::size_t at = 0; at <= text.size(); ++at) {
    const int first = digit(at++);
    int last = first;
    if (at < text.size() && text[at] == '-') {
      last = digit(at + 1);
      at += 2;
    }
    if (first < 0 || last < first || (at < text.size() && text[at] != ','))
      return tl::unexpected(
          Diagnostic(Code::E0407)
              .with("reason", fmt::format("`{}` is not a list of levels from 0 to 5", text))
              .from({"--level " + text, "command line"})
              .note("write one level, a range or a list: 4, 0-2, 0,3-5"));
    for (int level = first; level <= last; ++level) levels.push_back(level);
  }
  return levels;
}

// A line a second on standard error, so that nobody waits in the dark.
class ProgressLine {
 public:
  explicit ProgressLine(std::ostream& to) : to_(to) {}

  void operator()(int done, int all, const std::string& name) {
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < std::chrono::seconds(1) || name.empty()) return;
    last_ = now;
    to_ << fmt::format("{} of {}  {}\n", done, all, name) << std::flush;
  }

 private:
  std::ostream& to_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

// A level that was asked for by number, and of which nothing could be run here.
bool nothing_ran(const conformance::Report& report) {
  return std::ranges::all_of(report.results, [](const conformance::CheckResult& r) {
    return r.result == conformance::Result::skip;
  });
}

// The report as evidence below `folder`. The report is printed already, so JSON output stays one
// document.
tl::expected<void, Diagnostic> write_evidence(const Cli& cli, const conformance::Report& report,
                                              const std::string& folder) {
  const Detection detection = cli.surroundings().detect();
  const auto records = conformance::evidence_of(report, detection.devices, today());
  if (!records) return tl::unexpected(records.error());
  for (const EvidenceRecord& record : *records) {
    const auto file = write_record(folder, record);
    if (!file) return tl::unexpected(file.error());
    if (!cli.options.json()) print_line(cli.out(), fmt::format("evidence: {}", *file));
  }
  return {};
}

// Before minutes are spent: whether the build can have evidence, and a place for it.
std::optional<Diagnostic> why_no_evidence(const std::string& file, const std::string& folder) {
  const auto entry = conformance::read_subject(file);
  if (!entry) return std::nullopt;
  if (auto why = conformance::why_no_record(*entry->manifest)) return why;
  return why_not_below(std::filesystem::path(folder) / entry->manifest->id);
}

// A row that the plugin does not have: its other checks alone would be a verdict about nothing.
std::optional<Diagnostic> why_no_row(const std::string& file, const std::string& row) {
  const auto entry = conformance::read_subject(file);
  if (!entry) return std::nullopt;
  std::vector<std::string> rows;
  for (const Row& each : entry->manifest->rows) rows.push_back(each.name);
  if (std::ranges::find(rows, row) != rows.end()) return std::nullopt;
  return Diagnostic(Code::E0407)
      .with("reason", fmt::format("`{}` has no row `{}`", entry->manifest->id, row))
      .from({"--row " + row, "command line"})
      .note(fmt::format("its rows are {}", fmt::join(rows, ", ")));
}

// No check was asked for: what was meant, as far as one can see.
Diagnostic nothing_asked(const JudgeOptions& options) {
  std::vector<std::string> names;
  for (const conformance::Check& check : conformance::all_checks()) {
    if (std::string_view(check.name).starts_with(options.check))
      return Diagnostic(Code::E0407)
          .with("reason", "no check has this level and this name")
          .note(fmt::format("`{}` is a check of level {}", check.name, check.level));
    names.emplace_back(check.name);
  }
  auto unknown =
      Diagnostic(Code::E0407)
          .with("reason", fmt::format("no check has a name that begins with `{}`", options.check))
          .from({"--check " + options.check, "command line"});
  if (const auto near = nearest_name(options.check, names))
    unknown.notes.push_back(fmt::format("the nearest check is `{}`", *near));
  unknown.notes.emplace_back("docs/conformance.md lists the checks");
  return unknown;
}

int conform(Cli& cli) {
  JudgeOptions options;
  if (cli.options.level) {
    auto levels = read_levels(*cli.options.level);
    if (!levels) return cli.fail(levels.error());
    options.levels = std::move(*levels);
  }
  options.tier = cli.options.tier == "full" ? Tier::full : Tier::reduced;
  options.check = cli.options.check.value_or("");
  options.row = cli.options.row.value_or("");
  ProgressLine progress(cli.surroundings().err);
  const std::string& file = cli.options.targets.front();
  if (cli.options.evidence)
    if (const auto why = why_no_evidence(file, *cli.options.evidence)) return cli.fail(*why);
  if (cli.options.row)
    if (const auto why = why_no_row(file, *cli.options.row)) return cli.fail(*why);
  if (cli.options.junit)
    if (const auto why = why_not_file(*cli.options.junit)) return cli.fail(*why);
  const auto report = conformance::judge(
      file, options,
      [&](int done, int all, const std::string& name) { progress(done, all, name); });
  if (!report) {
    const int status = cli.fail(report.error());
    // What can be read and is no plugin does not conform.
    const bool undecided = report.error().code == Code::E0101 || report.error().code == Code::E0702;
    return undecided ? status : static_cast<int>(Status::no);
  }
  if (report->results.empty()) return cli.fail(nothing_asked(options));
  cli.out() << (cli.options.json() ? conformance::report_json(*report) + "\n"
                                   : conformance::report_text(*report));
  if (cli.options.junit)
    if (auto written = write_file(*cli.options.junit, conformance::report_junit(*report)); !written)
      return cli.fail_after_report(written.error());
  if (cli.options.evidence)
    if (const auto written = write_evidence(cli, *report, *cli.options.evidence); !written) {
      const int status = cli.fail_after_report(written.error());
      return report->conforms() ? status : static_cast<int>(Status::no);
    }
  if (report->undecided()) return static_cast<int>(Status::environment);
  if (!report->conforms()) return static_cast<int>(Status::no);
  return static_cast<int>(nothing_ran(*report) ? Status::environment : Status::yes);
}

}  // namespace

const Command& conform_command() {
  static constexpr Command kCommand{
      .name = "conform",
      .about = "run a plugin and judge it by its manifest",
      .options = kFormatOption | kConformOptions,
      .body = conform,
      .target = "file",
      .target_about = "a plugin file",
      .min_targets = 1,
      .max_targets = 1,
      .help =
          "docs/conformance.md has a line for each check.\n"
          "\n"
          "Example:\n"
          "  dsakit conform libdsakit_acme.toy.so --check numerics.sink --row bf16\n",
      .exit_codes =
          "0 it conforms; 1 a check refused it, or the file is no plugin; 2 usage;\n"
          "3 a file cannot be read or written, or nothing is decided: no device, the kit failed, "
          "or "
          "the\n"
          "file changed meanwhile."};
  return kCommand;
}

}  // namespace dsakit::cli
