// What every command works with: its options, the surroundings, and one way to fail and to print.
// A command is one file that describes itself; run() in cli.cpp lists them. One thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include "cli.hpp"
#include "diag/diagnostic.hpp"
#include "diag/render.hpp"
#include "host/advisor.hpp"
#include "options.hpp"

namespace dsakit::cli {

class Cli {
 public:
  explicit Cli(const Surroundings& surroundings) : surroundings_(surroundings) {}

  Options options;

  const Surroundings& surroundings() const { return surroundings_; }
  std::ostream& out() const { return surroundings_.out; }
  TextStyle style() const { return {surroundings_.color}; }

  // The catalogue that the options name, with the user's configuration.
  tl::expected<Advisor, Diagnostic> open_advisor() const;
  // --policy, else the user's own.
  tl::expected<Policy, Diagnostic> open_policy(const Advisor& advisor) const;

  // Says why the command ends: text on standard error, or an error answer on standard output under
  // --format json. Returns the exit code.
  int fail(const Diagnostic& diagnostic) const;
  // The same once a report is printed: always as text, so that JSON output stays one document.
  int fail_after_report(const Diagnostic& diagnostic) const;
  // Warnings about the environment; text only, on standard error.
  void warn(const Diagnostic& diagnostic) const;

 private:
  const Surroundings& surroundings_;
};

// Groups of options that a command takes.
enum OptionGroup : unsigned {
  kQuestionOptions = 1,  // what is asked; adds the vocabulary to the help text
  kCatalogOptions = 2,
  kFormatOption = 4,
  kMarkdownOption = 8,  // kFormatOption with markdown
  kRequestsOption = 16,
  kWhyOption = 32,
  kConformOptions = 64,
  kRunOptions = 128,
  kBenchOptions = 256,
};

inline constexpr int kAnyNumber = 1 << 20;

struct Command {
  const char* name;
  const char* about;
  unsigned options;
  int (*body)(Cli&);
  // Positional arguments: their name and help text, how many at least and at most; no name: none.
  const char* target = nullptr;
  const char* target_about = nullptr;
  int min_targets = 0, max_targets = 0;
  const char* default_format = "text";
  const char* help = nullptr;        // after the options in the help text: examples, file formats
  const char* exit_codes = nullptr;  // in the help text: what they mean here
};

// Of a command that answers one question (core/host/status.hpp).
inline constexpr const char* kAnswerExitCodes =
    "0 yes; 1 no, also for a backend or a KV dtype that the catalogue does not know;\n"
    "2 the question cannot be understood (an option, a device, a key, JSON); 3 something is "
    "missing\n"
    "here (a file, a device), or the answer could not be written.";

std::span<const Command* const> all_commands();  // in the order of the help text

const Command& resolve_command();
const Command& validate_command();
const Command& explain_command();
const Command& evaluate_command();
const Command& matrix_command();
const Command& list_command();
const Command& inspect_command();
const Command& lint_command();
const Command& conform_command();
const Command& doctor_command();
const Command& run_command();
const Command& bench_command();
const Command& help_command();

}  // namespace dsakit::cli
