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
    const bool color = ::isatty(STDOUT_FILENO) != 0 && !environment.no_color;
    return dsakit::cli::run(std::vector<std::string>(argv + 1, argv + argc),
                            {std::move(environment), [] { return dsakit::detect_devices(); },
                             std::cin, std::cout, std::cerr, color});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "dsakit: %s\n", error.what());
    return static_cast<int>(dsakit::Status::environment);
  }
}
