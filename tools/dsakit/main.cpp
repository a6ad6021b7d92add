#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "cli.hpp"
#include "diag/printable.hpp"
#include "host/status.hpp"

namespace {

// A closed standard stream would hand its number to the next file that is opened. A descriptor on
// which its use fails takes the place, so that the failure is noticed.
void occupy_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) != -1) continue;
    const int opened = ::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    if (opened != stream) std::exit(static_cast<int>(dsakit::Status::environment));
  }
}

// "cuda: why it is not built", a line each.
constexpr std::string_view kSkippedParts =
#include "skipped_parts.inc"
    ;

std::vector<std::string> skipped_parts() {
  std::vector<std::string> lines;
  std::istringstream text{std::string(kSkippedParts)};
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

}  // namespace

int main(int argc, char** argv) {
  occupy_standard_streams();
  std::signal(SIGPIPE, SIG_IGN);  // a reader that went away is a failed write like any other
  try {
    std::ios::sync_with_stdio(false);
    dsakit::Environment environment = dsakit::read_environment();
    const bool may_color = !environment.no_color;
    const bool color = may_color && ::isatty(STDOUT_FILENO) != 0;
    const bool terminal_err = ::isatty(STDERR_FILENO) != 0;
    return dsakit::cli::run(
        std::vector<std::string>(argv + 1, argv + argc),
        {std::move(environment), [] { return dsakit::detect_devices(); }, std::cin, std::cout,
         std::cerr, color, may_color && terminal_err, terminal_err, skipped_parts()});
  } catch (const std::exception& error) {
    std::cerr << "dsakit: " << dsakit::printable(error.what()) << '\n';
    return static_cast<int>(dsakit::Status::environment);
  }
}
