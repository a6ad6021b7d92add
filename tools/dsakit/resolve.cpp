// dsakit resolve: which session would be used.
#include "ask.hpp"

namespace dsakit::cli {

const Command& resolve_command() {
  static constexpr Command kCommand{
      .name = "resolve",
      .about = "pick the backends for a model on a device",
      .options = kQuestionOptions | kCatalogOptions | kFormatOption,
      .body = [](Cli& cli) { return print_projection(cli, &Advisor::resolve); },
      .help =
          "Example:\n"
          "  dsakit resolve --catalog sglang --model-config config.json --device sm_90 --tp 8\n",
      .exit_codes = kAnswerExitCodes};
  return kCommand;
}

}  // namespace dsakit::cli
