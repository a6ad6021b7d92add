#include "parser.hpp"

#include <limits>

#include <CLI/CLI.hpp>

#include "vocabulary.hpp"

namespace dsakit::cli {
namespace {

void add_format_option(CLI::App& command, Options& options, bool markdown) {
  std::vector<std::string> formats{"text", "json"};
  if (markdown) formats.emplace_back("markdown");
  command.add_option("--format", options.format, "how to print")->check(CLI::IsMember(formats));
}

void add_catalog_options(CLI::App& command, Options& options) {
  const auto add = [&command](const char* name, auto& value, const char* type, const char* about) {
    command.add_option(name, value, about)->type_name(type)->allow_extra_args(false);
  };
  add("--catalog", options.catalog, "NAME|FOLDER",
      "which backends: a name or a folder of manifest JSON files (default local)");
  add("--plugin-dir", options.plugin_dirs, "FOLDER", "search this folder first; may be repeated");
}

void add_question_options(CLI::App& command, Options& options) {
  CLI::Range positive(1, std::numeric_limits<int>::max());
  positive.description("");
  const auto add = [&command](const char* name, auto& value, const char* type, const char* about) {
    return command.add_option(name, value, about)->type_name(type)->allow_extra_args(false);
  };
  add("--model-config", options.model_config, "FILE", "the model's config.json");
  add("--model-family", options.model_family, "FAMILY",
      "the model's family, where its architecture is unknown or no file is given");
  add("--device", options.device, "DEVICE",
      "plan for this device (default: the devices found here, then cpu)");
  add("--kv-cache-dtype", options.kv_dtype, "DTYPE", "auto or a KV-cache dtype (default auto)");
  add("--prefill-backend", options.prefill, "ID[,ID]", "an id, or a list that may end in auto");
  add("--decode-backend", options.decode, "ID[,ID]", "the same for decode");
  add("--mtp-backend", options.mtp_backend, "ID[,ID]", "the same for mtp; implies --mtp");
  command.add_flag("--mtp", options.mtp, "also verify drafts: the session gets an mtp phase");
  command.add_flag("--hisparse", options.hisparse, "the engine uses HiSparse");
  add("--page-size", options.page_size, "N", "tokens per page of the KV cache")->check(positive);
  add("--tp", options.tp, "N", "ranks that share the model's heads")->check(positive);
  add("--feature", options.features, "NAME", "a feature the engine uses; may be repeated");
  add("--set", options.set, "DIM=VALUE", "any dimension; null = unknown; may be repeated");
  add("--request", options.request, "JSON", "a request as one object; other options win over it");
  add("--policy", options.policy, "FILE", "JSON with prefer, deny, kv_dtype");
}

void add_requests_option(CLI::App& command, Options& options) {
  CLI::Option* requests =
      command.add_option("--requests", options.requests,
                         "a file of requests, one JSON object a line; - reads standard input");
  requests->type_name("FILE");
  for (CLI::Option* other : command.get_options()) {
    const std::string name = other->get_name();
    if (name != "--requests" && name != "--help" && name != "--format" && name != "--catalog" &&
        name != "--plugin-dir" && name != "--policy") {
      requests->excludes(other);
    }
  }
}

}  // namespace

void add_command(CLI::App& app, const Command& command, Cli& cli) {
  CLI::App& sub = *app.add_subcommand(command.name, command.about);
  if (command.target) {
    sub.add_option(command.target, cli.options.targets, command.target_about)
        ->expected(command.min_targets, command.max_targets)
        ->required(command.min_targets > 0);
  }
  if (command.options & kWhyOption) {
    sub.add_flag("--why", cli.options.why, "every file that was looked at, and what became of it");
  }
  if (command.options & kQuestionOptions) add_question_options(sub, cli.options);
  if (command.options & kCatalogOptions) add_catalog_options(sub, cli.options);
  if (command.options & (kFormatOption | kMarkdownOption)) {
    add_format_option(sub, cli.options, (command.options & kMarkdownOption) != 0);
  }
  if (command.options & kRequestsOption) add_requests_option(sub, cli.options);
  if (command.options & kQuestionOptions) sub.footer([&cli] { return vocabulary(cli); });
}

}  // namespace dsakit::cli
