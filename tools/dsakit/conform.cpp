// dsakit conform: whether a plugin does what its manifest says. Exit code 1 if a check refuses it.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <system_error>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "command.hpp"
#include "host/status.hpp"
#include "print.hpp"
#include "sdk/conformance/evidence.hpp"
#include "sdk/conformance/runner.hpp"

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

// The date here and now, in UTC.
std::string today() {
  return fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr)));
}

tl::expected<void, Diagnostic> write_file(const std::string& file, const std::string& text) {
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  if (out << text && out.flush()) return {};
  return tl::unexpected(Diagnostic(Code::E0803)
                            .with("file", file)
                            .with("reason", std::generic_category().message(errno)));
}

// The report as evidence below `folder`. The report is printed already, so JSON output stays one
// document.
tl::expected<void, Diagnostic> write_evidence(const Cli& cli, const conformance::Report& report,
                                              const std::string& folder) {
  const Detection detection = cli.surroundings().detect();
  const auto records = conformance::evidence_of(report, detection.devices, today());
  if (!records) return tl::unexpected(records.error());
  for (const EvidenceRecord& record : *records) {
    const std::string file = folder + "/" + conformance::evidence_file(record);
    std::error_code error;  // told by the write
    std::filesystem::create_directories(std::filesystem::path(file).parent_path(), error);
    if (auto written = write_file(file, evidence_json(record)); !written) return written;
    if (!cli.options.json()) print_line(cli.out(), fmt::format("evidence: {}", file));
  }
  return {};
}

// Before minutes are spent: whether the build can have evidence.
std::optional<Diagnostic> why_no_evidence(const std::string& file) {
  const auto entry = conformance::read_subject(file);
  return entry ? conformance::why_no_record(*entry->manifest) : std::nullopt;
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
    if (const auto why = why_no_evidence(file)) return cli.fail(*why);
  const auto report = conformance::judge(
      file, options,
      [&](int done, int all, const std::string& name) { progress(done, all, name); });
  if (!report) {
    const int status = cli.fail(report.error());
    // What can be read and is no plugin does not conform.
    return report.error().code == Code::E0101 ? status : static_cast<int>(Status::no);
  }
  if (report->results.empty())
    return cli.fail(Diagnostic(Code::E0407)
                        .with("reason", fmt::format("no check of {} has this level, name and row",
                                                    report->id)));
  if (cli.options.junit)
    if (auto written = write_file(*cli.options.junit, conformance::report_junit(*report)); !written)
      return cli.fail(written.error());
  cli.out() << (cli.options.json() ? conformance::report_json(*report) + "\n"
                                   : conformance::report_text(*report));
  if (cli.options.evidence)
    if (const auto written = write_evidence(cli, *report, *cli.options.evidence); !written) {
      const int status = cli.fail(written.error());
      return report->conforms() ? status : static_cast<int>(Status::no);
    }
  if (report->undecided()) return static_cast<int>(Status::environment);
  if (!report->conforms()) return static_cast<int>(Status::no);
  return static_cast<int>(nothing_ran(*report) ? Status::environment : Status::yes);
}

}  // namespace

const Command& conform_command() {
  static constexpr Command kCommand{"conform",
                                    "run a plugin and judge it by its manifest",
                                    kFormatOption | kConformOptions,
                                    conform,
                                    "file",
                                    "a plugin file",
                                    1,
                                    1};
  return kCommand;
}

}  // namespace dsakit::cli
