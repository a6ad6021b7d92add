// Tells the command-line parser about commands and their options. Apart from cli.cpp nothing else
// includes the parser's headers.
#pragma once

#include "command.hpp"

namespace CLI {
class App;
}

namespace dsakit::cli {

// Registers a command; what the user types lands in cli.options.
void add_command(CLI::App& app, const Command& command, Cli& cli);

}  // namespace dsakit::cli
