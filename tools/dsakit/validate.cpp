// dsakit validate: whether the backends that were typed can serve, and if not, why.
#include "ask.hpp"

namespace dsakit::cli {

const Command& validate_command() {
  static constexpr Command kCommand{
      "validate", "check backends that you name, alone or as a pair",
      kQuestionOptions | kCatalogOptions | kFormatOption,
      [](Cli& cli) { return print_projection(cli, &Advisor::validate); }};
  return kCommand;
}

}  // namespace dsakit::cli
