// Everything that the command line prints, against golden files (ui_case.hpp).
#include <cstdlib>
#include <sstream>

#include <gtest/gtest.h>

#include "cli.hpp"
#include "cli/ui_case.hpp"
#include "support/fake_plugin.hpp"

namespace dsakit {
namespace {

const std::string& plugins_folder() {
  static const test::TemporaryFolder folder;
  static const std::string path = [] {
    test::make_ui_plugins(folder.path());
    return folder.path().string();
  }();
  return path;
}

class Ui : public testing::TestWithParam<std::string> {};

TEST_P(Ui, PrintsWhatTheGoldenFileSays) {
  const auto folder = test::ui_case_folder(GetParam());
  const test::UiResult result = test::run_ui_case(GetParam(), plugins_folder());
  if (std::getenv("DSAKIT_BLESS")) {
    test::write_file(folder / "expected.txt", result.text);
    test::write_file(folder / "exit", std::to_string(result.exit) + "\n");
    return;
  }
  EXPECT_EQ(result.text, test::read_file(folder / "expected.txt"));
  EXPECT_EQ(std::to_string(result.exit) + "\n", test::read_file(folder / "exit"));
}

INSTANTIATE_TEST_SUITE_P(Cases, Ui, testing::ValuesIn(test::ui_case_names()),
                         [](const auto& test_case) { return test_case.param; });

TEST(UiCases, CoverEveryCommand) {
  const std::vector<std::string> names = test::ui_case_names();
  EXPECT_GE(names.size(), 60u);
  for (const char* command : {"resolve", "validate", "explain", "evaluate", "matrix", "list",
                              "inspect", "lint", "doctor", "help"}) {
    const bool covered = std::any_of(names.begin(), names.end(), [&](const std::string& name) {
      return test::read_file(test::ui_case_folder(name) / "cmd")
                 .find(std::string("dsakit ") + command) != std::string::npos;
    });
    EXPECT_TRUE(covered) << command;
  }
}

TEST(Color, OnlyWhereTheStreamIsATerminal) {
  const auto text = [](bool color, bool color_err, const std::vector<std::string>& args) {
    std::istringstream in;
    std::ostringstream out;
    std::ostringstream err;
    cli::run(args, {parse_environment({}, false), [] { return Detection{}; }, in, out, err, color,
                    color_err});
    return std::pair(out.str().find("\x1b[") != std::string::npos,
                     err.str().find("\x1b[") != std::string::npos);
  };
  const std::vector<std::string> answer{"resolve", "--catalog", "sglang", "--device", "sm_90"};
  const std::vector<std::string> failure{"resolve", "--catalog", "sglang", "--device", "sm_9"};
  EXPECT_EQ(text(false, false, answer), std::pair(false, false));
  EXPECT_EQ(text(true, false, answer), std::pair(true, false));
  EXPECT_EQ(text(true, false, failure), std::pair(false, false));
  EXPECT_EQ(text(false, true, failure), std::pair(false, true));
}

TEST(SplitWords, KnowsQuotes) {
  EXPECT_EQ(test::split_words(R"(A=1 dsakit  x '{"a":1}' "b c" d\ e '')"),
            (std::vector<std::string>{"A=1", "dsakit", "x", R"({"a":1})", "b c", "d e", ""}));
}

}  // namespace
}  // namespace dsakit
