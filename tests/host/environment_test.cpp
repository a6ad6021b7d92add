// What each variable sets, and what is said about those that mean nothing.
#include <cstdlib>
#include <fstream>

#include <gtest/gtest.h>

#include "diag/render.hpp"
#include "host/environment.hpp"

namespace dsakit {
namespace {

TEST(Environment, EveryVariableSetsItsValue) {
  const Environment e = parse_environment(
      {"DSAKIT_BACKEND=cpu", "DSAKIT_BACKEND_PREFILL=flashmla_sparse,auto",
       "DSAKIT_BACKEND_DECODE=flashmla_kv", "DSAKIT_BACKEND_MTP=aiter", "DSAKIT_PLUGIN_PATH=/a:/b",
       "DSAKIT_PLUGIN_PATH_ADD=/c", "DSAKIT_BACKENDS_DISABLE=flash*, ,cpu", "DSAKIT_LOG=debug",
       "XDG_DATA_HOME=/data", "HOME=/home/me", "NO_COLOR=1"},
      false);
  EXPECT_EQ(e.backend, "cpu");
  EXPECT_EQ(e.backend_prefill, "flashmla_sparse,auto");
  EXPECT_EQ(e.backend_decode, "flashmla_kv");
  EXPECT_EQ(e.backend_mtp, "aiter");
  EXPECT_EQ(e.plugin_path, "/a:/b");
  EXPECT_EQ(e.plugin_path_add, "/c");
  EXPECT_EQ(e.backends_disable, (std::vector<std::string>{"flash*", "cpu"}));
  EXPECT_EQ(e.log, "debug");
  EXPECT_EQ(e.xdg_data_home, "/data");
  EXPECT_TRUE(e.no_color);
  EXPECT_TRUE(e.diagnostics.empty());
}

TEST(Environment, NoKnownVariableIsReportedAsUnknown) {
  for (const std::string& name : environment_variables()) {
    EXPECT_TRUE(parse_environment({name + "=x"}, false).diagnostics.empty()) << name;
  }
}

TEST(Environment, EmptyValuesAreAsGoodAsNone) {
  const Environment e =
      parse_environment({"DSAKIT_BACKEND=", "DSAKIT_PLUGIN_PATH=", "NO_COLOR="}, false);
  EXPECT_EQ(e.backend, std::nullopt);
  EXPECT_EQ(e.plugin_path, std::nullopt);
  EXPECT_FALSE(e.no_color);
}

TEST(Environment, ADumbTerminalGetsNoColour) {
  EXPECT_TRUE(parse_environment({"TERM=dumb"}, false).no_color);
  EXPECT_TRUE(parse_environment({"NO_COLOR=1", "TERM=xterm"}, false).no_color);
  EXPECT_TRUE(parse_environment({"TERM=dumb", "NO_COLOR="}, false).no_color);
  EXPECT_FALSE(parse_environment({"TERM=xterm-256color"}, false).no_color);
}

TEST(Environment, DataHomeFollowsItsStandard) {
  EXPECT_EQ(parse_environment({"HOME=/home/me"}, false).xdg_data_home, "/home/me/.local/share");
  EXPECT_EQ(parse_environment({"HOME=/home/me", "XDG_DATA_HOME=relative"}, false).xdg_data_home,
            "/home/me/.local/share");
  EXPECT_EQ(parse_environment({"HOME="}, false).xdg_data_home, "");
  EXPECT_EQ(parse_environment({}, false).xdg_data_home, "");
}

TEST(Environment, UnknownVariableNamesTheNearest) {
  const Environment e = parse_environment(
      {"DSAKIT_BACKEND_DECOD=trtllm", "dsakit_backend=x", "NOT_DSAKIT_=1", "junk", "=", ""}, false);
  ASSERT_EQ(e.diagnostics.size(), 1U);
  EXPECT_EQ(render_text(e.diagnostics[0]),
            "warning[W0601]: environment variable `DSAKIT_BACKEND_DECOD` means nothing to dsakit\n"
            "  --> DSAKIT_BACKEND_DECOD=trtllm  (environment)\n"
            "   = note: the nearest known variable is `DSAKIT_BACKEND_DECODE`\n");
  EXPECT_EQ(e.backend_decode, std::nullopt);
}

TEST(Environment, RaisedPrivilegesIgnoreAllOfIt) {
  const Environment e = parse_environment(
      {"DSAKIT_PLUGIN_PATH=/evil", "DSAKIT_NONSENSE=1", "HOME=/home/me", "NO_COLOR=1"}, true);
  EXPECT_EQ(e.plugin_path, std::nullopt);
  EXPECT_EQ(e.xdg_data_home, "");
  EXPECT_FALSE(e.no_color);
  ASSERT_EQ(e.diagnostics.size(), 1U);
  EXPECT_EQ(render_text(e.diagnostics[0]),
            "warning[W0603]: the environment is ignored because this process runs with raised "
            "privileges\n");
}

TEST(Environment, ThePageOfW0601ListsEveryVariable) {
  std::ifstream in(std::string(DSAKIT_TESTS_DIR) + "/../docs/codes/W0601.md");
  const std::string page(std::istreambuf_iterator<char>(in), {});
  for (const std::string& name : environment_variables()) {
    EXPECT_NE(page.find("`" + name + "`"), std::string::npos) << name;
  }
}

TEST(Environment, TheProcessIsRead) {
  ASSERT_EQ(::setenv("DSAKIT_BACKEND_MTP", "from-the-process", 1), 0);
  EXPECT_EQ(read_environment().backend_mtp, "from-the-process");
  ASSERT_EQ(::unsetenv("DSAKIT_BACKEND_MTP"), 0);
  EXPECT_EQ(read_environment().backend_mtp, std::nullopt);
}

}  // namespace
}  // namespace dsakit
