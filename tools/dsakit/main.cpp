#include <unistd.h>

#include <cstdio>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "cli.hpp"
#include "host/status.hpp"

int main(int argc, char** argv) {
  try {
    std::ios::sync_with_stdio(false);
    dsakit::Environment environment = dsakit::read_environment();
    const bool may_color = !environment.no_color;
    const bool color = may_color && ::isatty(STDOUT_FILENO) != 0;
    const bool color_err = may_color && ::isatty(STDERR_FILENO) != 0;
    return dsakit::cli::run(std::vector<std::string>(argv + 1, argv + argc),
                            {std::move(environment), [] { return dsakit::detect_devices(); },
                             std::cin, std::cout, std::cerr, color, color_err});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "dsakit: %s\n", error.what());
    return static_cast<int>(dsakit::Status::environment);
  }
}
