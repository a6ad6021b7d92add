// dsakit evaluate: answers as JSON, for one request or for a file of them.
#include "ask.hpp"

namespace dsakit::cli {
namespace {

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
      "evaluate",
      "answer requests as JSON, one line each",
      kQuestionOptions | kCatalogOptions | kFormatOption | kRequestsOption,
      evaluate,
      nullptr,
      nullptr,
      0,
      0,
      "json"};
  return kCommand;
}

}  // namespace dsakit::cli
