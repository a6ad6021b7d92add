#include "cli.hpp"

#include <algorithm>
#include <array>
#include <ostream>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "command.hpp"
#include "diag/nearest.hpp"
#include "host/status.hpp"
#include "parser.hpp"

namespace dsakit::cli {
namespace {

constexpr const char* kAbout =
    "Which sparse-attention backends can run a model on a device, and why.\n"
    "Exit codes: 0 yes, 1 no, 2 usage or malformed input, 3 environment (a file, a device, lost\n"
    "output); `dsakit COMMAND --help` says what they mean there.\n"
    "Start with: dsakit resolve --catalog sglang --model-config config.json --device sm_90";

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  return names;
}

Diagnostic usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const auto chosen = app.get_subcommands();
  const std::string command = chosen.empty() ? "" : chosen.front()->get_name();
  const auto extras = app.remaining(true);
  std::string reason =
      extras.empty() ? error.what() : fmt::format("`{}` is not expected here", extras.front());
  std::replace(reason.begin(), reason.end(), '\n', ' ');
  Diagnostic usage = Diagnostic(Code::E0407).with("reason", reason);
  if (!extras.empty()) {
    const std::string& extra = extras.front();
    usage = std::move(usage).from({extra, "command line"});
    const bool is_option = extra.starts_with("-");
    const auto known = is_option || !chosen.empty()
                           ? option_names(chosen.empty() ? app : *chosen.front())
                           : command_names(app);
    if (const auto near = nearest_name(extra, known)) {
      usage.notes.push_back(
          fmt::format("the nearest {} is `{}`", is_option ? "option" : "command", *near));
    }
  }
  usage.notes.push_back(
      fmt::format("`dsakit {}--help` lists what is allowed", command.empty() ? "" : command + " "));
  return usage;
}

// `status`, unless what was printed did not arrive.
int delivered(const Surroundings& surroundings, int status) {
  surroundings.out.flush();
  if (surroundings.out) return status;
  surroundings.err << render_text(Diagnostic(Code::E0610), {surroundings.color_err});
  return static_cast<int>(Status::environment);
}

// Whether JSON was asked for, also when the rest of the command line could not be understood.
bool wants_json(const std::vector<std::string>& args) {
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (args[i] == "--format=json" ||
        (args[i] == "--format" && i + 1 < args.size() && args[i + 1] == "json")) {
      return true;
    }
  }
  return false;
}

}  // namespace

tl::expected<Advisor, Diagnostic> Cli::open_advisor() const {
  AdvisorOptions advisor;
  advisor.catalog = options.catalog;
  advisor.plugin_dirs = options.plugin_dirs;
  advisor.plugin_dirs_origin = "--plugin-dir";
  advisor.environment = surroundings_.environment;
  auto user = read_user_config(surroundings_.environment);
  if (!user) return tl::unexpected(std::move(user.error()));
  advisor.user = std::move(*user);
  return Advisor::open(std::move(advisor));
}

tl::expected<Policy, Diagnostic> Cli::open_policy(const Advisor& advisor) const {
  if (options.policy) return read_policy(*options.policy);
  return advisor.options().user.policy;
}

int Cli::fail(const Diagnostic& diagnostic) const {
  if (options.json()) {
    out() << to_json(failure_answer(options.catalog, diagnostic)) << '\n';
  } else {
    return fail_after_report(diagnostic);
  }
  return static_cast<int>(status_of(diagnostic));
}

int Cli::fail_after_report(const Diagnostic& diagnostic) const {
  surroundings_.err << render_text(diagnostic, {surroundings_.color_err});
  return static_cast<int>(status_of(diagnostic));
}

void Cli::warn(const Diagnostic& diagnostic) const {
  if (!options.json()) surroundings_.err << render_text(diagnostic, {surroundings_.color_err});
}

namespace {

std::span<const Command* const> all_commands() {
  static const std::array kCommands{&resolve_command(),  &validate_command(), &explain_command(),
                                    &evaluate_command(), &matrix_command(),   &list_command(),
                                    &inspect_command(),  &lint_command(),     &conform_command(),
                                    &doctor_command(),   &run_command(),      &bench_command(),
                                    &help_command()};
  return kCommands;
}

int run_arguments(const std::vector<std::string>& args, const Surroundings& surroundings) {
  Cli cli(surroundings);
  CLI::App app(kAbout, "dsakit");
  app.footer(
      fmt::format("Environment variables, weaker than options and stronger than\n"
                  "$XDG_CONFIG_HOME/dsakit/config.json (docs/settings.md):\n  {}",
                  fmt::join(environment_variables(), "\n  ")));
  app.set_version_flag("--version", std::string("dsakit ") + DSAKIT_VERSION);
  app.require_subcommand(0, 1);
  app.fallthrough(false);
  for (const Command* command : all_commands()) add_command(app, *command, cli);
  try {
    app.parse(std::vector<std::string>(args.rbegin(), args.rend()));
  } catch (const CLI::Success& success) {
    return app.exit(success, surroundings.out, surroundings.err);
  } catch (const CLI::ParseError& error) {
    if (wants_json(args)) cli.options.format = "json";
    return cli.fail(usage_error(app, error));
  }

  for (const Diagnostic& diagnostic : surroundings.environment.diagnostics) cli.warn(diagnostic);
  for (const Command* command : all_commands()) {
    if (!app.got_subcommand(command->name)) continue;
    if (cli.options.format.empty()) cli.options.format = command->default_format;
    return command->body(cli);
  }
  surroundings.out << app.help();
  return static_cast<int>(args.empty() ? Status::invalid : Status::yes);
}

}  // namespace

int run(const std::vector<std::string>& args, const Surroundings& surroundings) {
  return delivered(surroundings, run_arguments(args, surroundings));
}

}  // namespace dsakit::cli
