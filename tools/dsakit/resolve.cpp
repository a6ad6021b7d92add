// dsakit resolve: which session would be used.
#include "ask.hpp"

namespace dsakit::cli {

const Command& resolve_command() {
  static constexpr Command kCommand{
      "resolve", "pick the backends for a model on a device",
      kQuestionOptions | kCatalogOptions | kFormatOption,
      [](Cli& cli) { return print_projection(cli, &Advisor::resolve); }};
  return kCommand;
}

}  // namespace dsakit::cli
