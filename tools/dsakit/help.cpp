// dsakit help [CODE]: what a code means and what to do about it, from docs/codes.
#include <algorithm>
#include <ostream>

#include <fmt/format.h>

#include "command.hpp"
#include "diag/nearest.hpp"
#include "embedded.hpp"
#include "host/status.hpp"

namespace dsakit::cli {
namespace {

std::string upper(std::string text) {
  for (char& c : text) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return text;
}

int unknown_code(const Cli& cli, const std::string& name) {
  std::vector<std::string> known;
  for (const Code code : all_codes()) known.emplace_back(code_name(code));
  Diagnostic unknown = Diagnostic(Code::E0605).with("found", name);
  const bool command =
      std::ranges::any_of(all_commands(), [&](const Command* each) { return each->name == name; });
  if (command) {
    unknown = std::move(unknown).note(fmt::format(
        "it is a command: `dsakit {} --help` says what it does; help explains codes", name));
  } else if (const auto near = nearest_name(upper(name), known)) {
    unknown = std::move(unknown)
                  .with("nearest", *near)
                  .note(fmt::format("the nearest code is `{}`", *near));
  }
  return cli.fail(unknown);
}

int list_codes(const Cli& cli) {
  for (const Code code : all_codes()) {
    cli.out() << fmt::format("{}  {}\n", code_name(code), code_headline(code));
  }
  cli.out() << "\n`dsakit help CODE` says what it means and what to do; `dsakit --help` lists the "
               "commands.\n";
  return static_cast<int>(Status::yes);
}

int help(Cli& cli) {
  if (cli.options.targets.empty()) return list_codes(cli);
  const std::string& name = cli.options.targets.front();
  const auto code = find_code(upper(name));
  if (!code) return unknown_code(cli, name);
  for (const EmbeddedFile& page : embedded_code_pages()) {
    if (page.path == fmt::format("{}.md", code_name(*code))) {
      cli.out() << page.text;
      return static_cast<int>(Status::yes);
    }
  }
  cli.out() << fmt::format("{}  {}\n", code_name(*code), code_headline(*code));
  return static_cast<int>(Status::yes);
}

}  // namespace

const Command& help_command() {
  static constexpr Command kCommand{
      .name = "help",
      .about = "what a code such as E0203 means, and what to do about it",
      .options = 0,
      .body = help,
      .target = "code",
      .target_about = "E0203, say; without one all codes are listed",
      .min_targets = 0,
      .max_targets = 1,
      .exit_codes = "0 found, 2 there is no such code."};
  return kCommand;
}

}  // namespace dsakit::cli
