// The command line of dsakit, apart from the process: arguments and surroundings in, text and an
// exit code out. main.cpp gives it the real surroundings, tests give it made-up ones.
//
// Exit codes: 0 yes, 1 no, 2 usage or malformed input, 3 environment (core/host/status.hpp); also
// 3, with E0610 on `err`, when `out` did not take everything. One thread; nothing is thrown.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "device/detect.hpp"
#include "host/environment.hpp"

namespace dsakit::cli {

struct Surroundings {
  Environment environment;
  std::function<Detection()> detect;
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
  bool color = false;                        // on `out`
  bool color_err = false;                    // on `err`
  bool terminal_err = false;                 // whether a line on `err` can be rewritten
  std::vector<std::string> skipped_parts{};  // "cuda: why it is not in this build"
};

// `args` without the program's name.
int run(const std::vector<std::string>& args, const Surroundings& surroundings);

}  // namespace dsakit::cli
