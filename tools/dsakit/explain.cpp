// dsakit explain: resolve with everything that led to the answer.
#include <ostream>

#include "ask.hpp"
#include "host/status.hpp"
#include "print.hpp"

namespace dsakit::cli {
namespace {

int explain(Cli& cli) {
  if (cli.options.requests) cli.options.format = "json";
  const auto advisor = cli.open_advisor();
  if (!advisor) return cli.fail(advisor.error());
  const auto policy = cli.open_policy(*advisor);
  if (!policy) return cli.fail(policy.error());
  if (cli.options.requests) {
    return answer_requests(cli, [&](std::string_view text, int line) {
      return advisor->explain_text(text, *policy, line).second;
    });
  }
  const auto question = make_question(cli, *advisor);
  if (!question) return cli.fail(question.error());
  const auto asked = ask_in_turn<Explanation>(
      *question, advisor->catalog(),
      [&](const Request& request) { return advisor->explain(request, *policy); });
  const Answer& answer = asked.result.answer;
  if (cli.options.json()) {
    cli.out() << to_json(asked.result) << '\n';
  } else if (answer.verdict == Answer::Verdict::error) {
    return cli.fail(answer.diagnostics.front());
  } else {
    print_explanation(cli.out(), asked.result, asked.request, advisor->catalog(), cli.style());
  }
  return static_cast<int>(status_of(answer.verdict));
}

}  // namespace

const Command& explain_command() {
  static constexpr Command kCommand{
      .name = "explain",
      .about = "resolve, what else is allowed, and why each backend fits or not",
      .options = kQuestionOptions | kCatalogOptions | kFormatOption | kRequestsOption,
      .body = explain,
      .help =
          "Example:\n"
          "  dsakit explain --catalog sglang --model-config config.json --device gfx950\n\n"
          "With --requests it answers as evaluate does, with the whole evaluation in each "
          "answer.\n",
      .exit_codes = kAnswerExitCodes};
  return kCommand;
}

}  // namespace dsakit::cli
