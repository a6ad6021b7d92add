// dsakit validate: whether the backends that were typed can serve, and if not, why.
#include "ask.hpp"

namespace dsakit::cli {

const Command& validate_command() {
  static constexpr Command kCommand{
      .name = "validate",
      .about = "check backends that you name, alone or as a pair",
      .options = kQuestionOptions | kCatalogOptions | kFormatOption,
      .body = [](Cli& cli) { return print_projection(cli, &Advisor::validate); },
      .help =
          "Example:\n"
          "  dsakit validate --catalog sglang --model-config config.json --device sm_90 \\\n"
          "      --kv-cache-dtype bf16 --decode-backend flashmla_sparse\n",
      .exit_codes = kAnswerExitCodes};
  return kCommand;
}

}  // namespace dsakit::cli
