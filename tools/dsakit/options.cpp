#include "parser.hpp"

#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>
#include <type_traits>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "host/advisor.hpp"
#include "vocabulary.hpp"

namespace dsakit::cli {
namespace {

// Help without the parser's remarks about validators and excluded options.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option_opts(const CLI::Option* option) const override {
    std::string out = option->get_type_size() == 0 ? "" : " " + option->get_type_name();
    if (option->get_expected_max() > 1 && !option->get_positional()) out += " ...";
    return out;
  }
  std::string make_option_usage(const CLI::Option* option) const override {
    std::string out = make_option_name(option, true);
    if (option->get_expected_max() > 1) out += "...";
    return option->get_required() ? out : "[" + out + "]";
  }
};

// An option that is given wants something behind it: --device "" is a mistake, not a default.
std::string refuse_empty(const std::string& value) {
  return value.empty() ? "needs a value, found an empty one" : "";
}

const CLI::Validator& not_empty() {
  static const CLI::Validator kCheck([](std::string& value) { return refuse_empty(value); }, "");
  return kCheck;
}

// A range lets it pass.
const CLI::Validator& not_nan() {
  static const CLI::Validator kCheck(
      [](std::string& value) {
        return std::isnan(std::strtod(value.c_str(), nullptr)) ? "is not a number" : "";
      },
      "");
  return kCheck;
}

void add_format_option(CLI::App& command, const Command& about, Options& options) {
  std::vector<std::string> formats{"text", "json"};
  if (about.options & kMarkdownOption) formats.emplace_back("markdown");
  CLI::IsMember one_of(formats);
  one_of.description("");
  command
      .add_option("--format", options.format,
                  fmt::format("how to print (default {})", about.default_format))
      ->type_name(fmt::format("{}", fmt::join(formats, "|")))
      ->check(one_of);
}

void add_catalog_options(CLI::App& command, Options& options) {
  const auto add = [&command](const char* name, auto& value, const char* type,
                              const std::string& about) {
    command.add_option(name, value, about)
        ->type_name(type)
        ->allow_extra_args(false)
        ->check(not_empty());
  };
  const std::string names = fmt::format("{}", fmt::join(catalog_names(), ", "));
  add("--catalog", options.catalog, "NAME|FOLDER",
      fmt::format("which backends: {} or a folder of manifest JSON files (default {})", names,
                  options.catalog));
  add("--plugin-dir", options.plugin_dirs, "FOLDER",
      "search this folder for plugins first; may be repeated");
}

void add_question_options(CLI::App& command, Options& options) {
  CLI::Range positive(1, std::numeric_limits<int>::max());
  positive.description("");
  const auto add = [&command](const char* name, auto& value, const char* type, const char* about) {
    CLI::Option* option = command.add_option(name, value, about);
    option->type_name(type)->allow_extra_args(false);
    if constexpr (!std::is_same_v<decltype(value), std::optional<int>&>) option->check(not_empty());
    return option;
  };
  add("--model-config", options.model_config, "FILE", "the model's config.json (a file)");
  add("--model-family", options.model_family, "FAMILY",
      "the model's family, where its architecture is unknown or no file is given");
  add("--device", options.device, "DEVICE",
      "plan for this device (default: the first found here that can be served, cpu last)");
  add("--kv-cache-dtype", options.kv_dtype, "DTYPE", "auto or a KV-cache dtype (default auto)");
  add("--prefill-backend", options.prefill, "ID[,ID]",
      "serve prefill with this backend; a list is tried in order and may end in auto");
  add("--decode-backend", options.decode, "ID[,ID]", "the same for decode");
  add("--mtp-backend", options.mtp_backend, "ID[,ID]", "the same for mtp; implies --mtp");
  add("--phases", options.phases, "PHASE[,PHASE]",
      "what must be served: prefill, decode, mtp (default prefill,decode)");
  command.add_flag("--mtp", options.mtp, "also verify drafts: adds the phase mtp");
  command.add_flag("--hisparse", options.hisparse,
                   "the engine uses HiSparse (short for --feature hisparse)");
  add("--page-size", options.page_size, "N", "tokens per page of the KV cache")->check(positive);
  add("--tp", options.tp, "N", "ranks that share the model's heads")->check(positive);
  add("--feature", options.features, "NAME", "a feature the engine uses; may be repeated");
  add("--set", options.set, "DIM=VALUE",
      "any dimension (listed below); a list is a,b; null is unknown; may be repeated");
  add("--request", options.request, "JSON", "a request as one object; other options win over it");
  add("--policy", options.policy, "FILE", "JSON with prefer, deny, kv_dtype (docs/settings.md)");
}

void add_conform_options(CLI::App& command, Options& options) {
  const auto add = [&command](const char* name, auto& value, const char* type, const char* about) {
    return command.add_option(name, value, about)
        ->type_name(type)
        ->allow_extra_args(false)
        ->check(not_empty());
  };
  add("--level", options.level, "LEVELS",
      "0 static, 1 negotiation, 2 wrong calls, 3 corners of the rows, 4 numerics, 5 run time;"
      " also 0-2 or 0,4 (default all)");
  command.add_option("--tier", options.tier, "how much (default reduced)")
      ->check(CLI::IsMember({"reduced", "full"}));
  add("--check", options.check, "PREFIX", "only checks whose name starts so: numerics.sink");
  add("--row", options.row, "NAME", "only this row of the manifest");
  add("--junit", options.junit, "FILE", "also write the report as JUnit XML");
  add("--evidence", options.evidence, "FOLDER",
      "write what passed as FOLDER/<plugin>/<device>.json (docs/evidence.md)")
      ->excludes("--check", "--row");
}

void add_run_options(CLI::App& command, RunOptions& options) {
  const auto add = [&command](const char* name, auto& value, const char* type, const char* about) {
    return command.add_option(name, value, about)->type_name(type)->allow_extra_args(false);
  };
  const auto between = [](int low, int high) {
    CLI::Range range(low, high);
    range.description("");
    return range;
  };
  add("--batch", options.batch, "N", "sequences (default 4)")->check(between(1, 1 << 20));
  add("--context", options.context, "N", "tokens of each before decoding (default 8192)")
      ->check(between(1, 1 << 24));
  add("--prefill-tokens", options.prefill, "N",
      "last tokens of each that prefill attends for (default 32)")
      ->check(between(1, 1 << 24));
  add("--steps", options.steps, "N", "decode steps (default 8)")->check(between(1, 1 << 20));
  add("--seed", options.seed, "N", "of the made-up values (default 1)");
  add("--threads", options.threads, "N", "threads of the checks (default: one a core)")
      ->check(between(1, 4096));
  add("--tensors", options.tensors, "FILE",
      "safetensors with q, kv, indices and maybe topk_length, attn_sink, kv_scale, instead of "
      "made-up values");
  add("--sm-scale", options.sm_scale, "X", "softmax scale of --tensors (default d_qk^-0.5)");
  add("--out", options.out, "FILE", "safetensors to write out and lse of --tensors to");
}

void add_bench_options(CLI::App& command, Options& all) {
  BenchOptions& options = all.bench;
  const auto add = [&command](const char* name, auto& value, const char* type, const char* about) {
    return command.add_option(name, value, about)
        ->type_name(type)
        ->delimiter(',')
        ->allow_extra_args(false);
  };
  const auto between = [](auto low, auto high) {
    CLI::Range range(low, high);
    range.description("");
    return range;
  };
  const auto sizes = between(1, 1 << 20);
  const auto share = between(0.0, 1.0);
  add("--suite", options.suites, "NAME,...",
      "shapes of a list (docs/bench.md); --heads, --topk, --tokens then choose among them")
      ->check(not_empty());
  add("--heads", options.heads, "N,...", "query heads (default 8,16,32,64,128)")->check(sizes);
  add("--topk", options.topk, "N,...", "keys a token selects (default 2048)")->check(sizes);
  add("--tokens", options.tokens, "N,...", "query tokens of a call (default 1,8)")->check(sizes);
  add("--pool", options.pool, "N", "tokens in the cache (default 65536)")
      ->check(between(1, 1 << 24));
  add("--seconds", options.seconds, "X", "how long a shape is repeated on the cpu (default 0.3)")
      ->check(between(0.0, 3600.0))
      ->check(not_nan());
  add("--calls", options.calls, "N",
      "timed calls of a shape on a GPU (default 50, or 20 of long ones)")
      ->check(between(3, 1000));
  add("--s-q", options.s_q, "N", "query tokens of a request (default 1)")->check(sizes);
  command.add_flag("--own-pools", options.own_pools,
                   "each request has --pool tokens of its own (GPU)");
  command.add_flag("--random-length", options.random_length,
                   "topk_length evenly spread from 0 to topk (GPU)");
  command.add_flag("--padded", options.padded, "gaps between heads, tokens, rows and pages (GPU)");
  add("--overlap", options.overlap, "X",
      "share of keys that neighbouring tokens have in common (GPU)")
      ->check(share)
      ->check(not_nan());
  add("--invalid", options.invalid, "X", "share of indices that are -1 (GPU)")
      ->check(share)
      ->check(not_nan());
  add("--seed", options.seed, "N", "of the random data (default 1)")->check(between(0, 1 << 30));
  add("--svg", options.svg, "FILE", "also draw a roofline of what was timed on a GPU")
      ->check(not_empty());
  add("--evidence", all.evidence, "FOLDER",
      "write the times into FOLDER/<plugin>/<device>.json (docs/evidence.md)")
      ->check(not_empty());
}

void add_requests_option(CLI::App& command, Options& options) {
  CLI::Option* requests =
      command.add_option("--requests", options.requests,
                         "a file of requests, one JSON object a line; - reads standard input; not "
                         "with options that describe one request");
  requests->type_name("FILE")->check(not_empty());
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
  sub.formatter(std::make_shared<HelpFormatter>());
  if (command.target) {
    sub.add_option(command.target, cli.options.targets, command.target_about)
        ->expected(command.min_targets, command.max_targets)
        ->type_name("")
        ->required(command.min_targets > 0);
  }
  if (command.options & kWhyOption) {
    sub.add_flag("--why", cli.options.why, "every file that was looked at, and what became of it");
  }
  if (command.options & kQuestionOptions) add_question_options(sub, cli.options);
  if (command.options & kBenchOptions) add_bench_options(sub, cli.options);
  if (command.options & kRunOptions) add_run_options(sub, cli.options.run);
  if (command.options & kCatalogOptions) add_catalog_options(sub, cli.options);
  if (command.options & (kFormatOption | kMarkdownOption)) {
    add_format_option(sub, command, cli.options);
  }
  if (command.options & kConformOptions) add_conform_options(sub, cli.options);
  if (command.options & kRequestsOption) add_requests_option(sub, cli.options);
  sub.footer("");  // the program's own is for the program's help
  sub.footer([&cli, &command] {
    std::string out;
    if (command.help) out += fmt::format("{}\n", command.help);
    if (command.exit_codes) out += fmt::format("Exit codes: {}\n", command.exit_codes);
    if (command.options & kQuestionOptions) out += "\n" + vocabulary(cli);
    if (out.ends_with('\n')) out.pop_back();  // the parser adds one
    return out;
  });
}

}  // namespace dsakit::cli
