// One golden-file case: a folder tests/cli/ui/<name>/ with
//   cmd           command lines: NAME=value… dsakit arguments…, quoted as in a shell; $PLUGINS and
//   $BUILD stand
//                 for the folders of made-up plugins and of the build
//   stdin         optional
//   devices       optional: "sm_90 cuda NVIDIA H200" a line, "- cuda why there is none"; without it
//   a CPU only expected.txt  what is printed, standard output and error together exit          the
//   exit code of the last command
// Everything runs in this process with a made-up environment; DSAKIT_BLESS=1 rewrites expected.txt
// and exit.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace dsakit::test {

struct UiResult {
  std::string text;
  int exit = 0;
};

std::vector<std::string> ui_case_names();
std::filesystem::path ui_case_folder(const std::string& name);

// Runs the commands of a case. `plugins` is the folder that make_ui_plugins() filled.
UiResult run_ui_case(const std::string& name, const std::string& plugins);

// Words of a command line; quotes '…' and "…" group, a backslash keeps the next character.
std::vector<std::string> split_words(const std::string& line);

// Folders good/, broken/, shadow/, second/ and empty/ with plugin files of all kinds.
void make_ui_plugins(const std::filesystem::path& folder);

}  // namespace dsakit::test
