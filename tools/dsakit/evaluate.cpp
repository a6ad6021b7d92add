// dsakit evaluate: answers as JSON, for one request or for a file of them.
#include "ask.hpp"

namespace dsakit::cli {
namespace {

constexpr const char* kHelp =
    "A file of requests has one JSON object a line. Its keys are dimension names (below, at "
    "--set)\n"
    "and optionally phases (a list), prefill, decode, mtp (ids that are asked for) and kv_layout:\n"
    "  {\"arch\":\"sm_90\",\"model_family\":\"glm_moe_dsa\",\"kv_dtype\":\"auto\",\"heads\":64}\n"
    "  {\"arch\":\"sm_120\",\"features\":[\"hisparse\"],\"decode\":\"flashmla_kv,auto\"}\n"
    "Each line gets one line of JSON, in the same order, with its number as `line`. A malformed\n"
    "line gets the verdict error, and the others are answered all the same.\n";

constexpr const char* kExitCodes =
    "with --requests 0 every line got its verdict (ok, rejected or error), 3 the file cannot be\n"
    "read or the answers cannot be written; for one request as for resolve:\n"
    "0 yes, 1 no, 2 the question cannot be understood, 3 something is missing here.";

int evaluate(Cli& cli) {
  if (!cli.options.requests) return print_projection(cli, &Advisor::resolve);
  cli.options.format = "json";
  const auto advisor = cli.open_advisor();
  if (!advisor) return cli.fail(advisor.error());
  const auto policy = cli.open_policy(*advisor);
  if (!policy) return cli.fail(policy.error());
  return answer_requests(cli, [&](std::string_view text, int line) {
    return to_json(advisor->resolve_text(text, *policy, line));
  });
}

}  // namespace

const Command& evaluate_command() {
  static constexpr Command kCommand{
      .name = "evaluate",
      .about = "answer one request, or a file of them, as JSON",
      .options = kQuestionOptions | kCatalogOptions | kFormatOption | kRequestsOption,
      .body = evaluate,
      .default_format = "json",
      .help = kHelp,
      .exit_codes = kExitCodes};
  return kCommand;
}

}  // namespace dsakit::cli
