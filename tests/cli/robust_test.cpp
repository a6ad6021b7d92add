// Hostile input: cut and changed plugin files never crash inspect, lint or list, and hostile
// request lines get an answer each. In this process; a sample goes through the program.
#include <sys/wait.h>

#include <cstdlib>
#include <random>
#include <sstream>

#include <gtest/gtest.h>

#include "cli.hpp"
#include "support/fake_plugin.hpp"
#include "support/part.hpp"

namespace dsakit {
namespace {

struct Ran {
  int exit = 0;
  std::string text;
};

Ran run(const std::vector<std::string>& args, const std::string& input = "") {
  std::istringstream in(input);
  std::ostringstream out;
  const cli::Surroundings surroundings{
      parse_environment({"DSAKIT_PLUGIN_PATH=/nonexistent"}, false),
      [] { return Detection{}; },
      in,
      out,
      out,
      false,
      false};
  Ran ran;
  ran.exit = cli::run(args, surroundings);
  ran.text = out.str();
  return ran;
}

std::string whole_plugin() {
  return test::plugin_bytes({.manifest = test::small_manifest("whole"),
                             .needed = {"libstdc++.so.6", "libc.so.6"},
                             .soname = "libdsakit_whole.so",
                             .runpath = "$ORIGIN"});
}

// inspect and lint answer yes or no about a file, and list never fails because of it. Only some
// files are listed, since that compiles a catalogue each time.
void expect_answered(const std::string& file, const std::string& folder, bool with_list) {
  for (const char* command : {"inspect", "lint"}) {
    const Ran ran = run({command, file});
    EXPECT_TRUE(ran.exit == 0 || ran.exit == 1) << command << " " << ran.exit << "\n" << ran.text;
    EXPECT_FALSE(ran.text.empty());
  }
  if (!with_list) return;
  const Ran listed = run({"list", "--why", "--plugin-dir", folder, "--format", "json"});
  EXPECT_TRUE(listed.exit == 0 || listed.exit == 3) << listed.exit;
  EXPECT_NE(listed.text.find("libdsakit_x.so"), std::string::npos);
}

TEST(Robust, AFileCutAtEvery64thByte) {
  test::TemporaryFolder folder;
  const std::string file = folder / "libdsakit_x.so";
  const std::string whole = whole_plugin();
  for (std::size_t size = 0; size < whole.size(); size += 64 * test::kPart) {
    test::write_file(file, whole.substr(0, size));
    expect_answered(file, folder.path().string(), size % 256 == 0);
    EXPECT_EQ(run({"lint", file}).exit, 1) << size;
  }
}

// Behind the last segment of a linked file lie only section headers, which a plugin can lose.
TEST(Robust, ALinkedPluginCutAtEvery64thByte) {
  test::TemporaryFolder folder;
  const std::string file = folder / "libdsakit_x.so";
  const std::string whole = test::read_file(DSAKIT_TINY_PLUGIN);
  ASSERT_GT(whole.size(), 4096u);
  for (std::size_t size = 0; size < whole.size(); size += 64 * test::kPart) {
    test::write_file(file, whole.substr(0, size));
    expect_answered(file, folder.path().string(), size % 256 == 0);
  }
}

void expect_changed_copies_answered(const std::string& whole, std::size_t reach) {
  test::TemporaryFolder folder;
  const std::string file = folder / "libdsakit_x.so";
  std::mt19937 random(20260101);
  for (std::size_t copy = 0; copy < 1000; copy += test::kPart) {
    std::string bytes = whole;
    for (std::size_t change = 0, count = 1 + random() % 8; change < count; ++change) {
      bytes[random() % std::min(reach, bytes.size())] = static_cast<char>(random());
    }
    test::write_file(file, bytes);
    expect_answered(file, folder.path().string(), copy % 8 == 0);
  }
}

TEST(Robust, AThousandChangedCopies) {
  expect_changed_copies_answered(whole_plugin(), std::string::npos);
}

// Where the headers, the note and the dynamic section of a linked file lie.
TEST(Robust, AThousandChangedCopiesOfALinkedPlugin) {
  expect_changed_copies_answered(test::read_file(DSAKIT_TINY_PLUGIN), 4096);
}

TEST(Robust, ManifestsChangedInsideAnIntactNote) {
  test::TemporaryFolder folder;
  const std::string file = folder / "libdsakit_x.so";
  const std::string manifest = test::small_manifest("whole");
  std::mt19937 random(7);
  for (std::size_t copy = 0; copy < 1000; copy += test::kPart) {
    std::string text = manifest;
    const std::size_t at = random() % text.size();
    switch (random() % 3) {
      case 0:
        text[at] = static_cast<char>(random());
        break;
      case 1:
        text.erase(at, 1 + random() % 20);
        break;
      default:
        text.insert(at, text.substr(random() % text.size(), random() % 40));
        break;
    }
    test::write_file(file, test::plugin_bytes({.manifest = text}));
    expect_answered(file, folder.path().string(), copy % 8 == 0);
  }
}

TEST(Robust, HostileRequestLinesGetAnAnswerEach) {
  const std::vector<std::string> lines{
      "",
      "\r",
      "{}",
      "null",
      std::string(200000, '['),
      std::string(200000, 'x'),
      "{\"arch\":\"" + std::string(70000, 'a') + "\"}",
      "{\"features\":[" + std::string(1000, ' ') + "\"a\"]}",
      "{\"heads\":99999999999999999999}",
      "{\"heads\":1e3}",
      "{\"heads\":-0}",
      "{\"decode\":\"\"}",
      "{\"decode\":\"\\u0000\"}",
      "{\"decode\":\"\\ud800\"}",
      std::string("{\"a\0b\":1}", 9),
      "\xef\xbb\xbf{}",
      "{\"runtime_cuda\":\"12.8.1.2.3\"}",
      "{\"runtime_cuda\":\"99999999999.1\"}",
      "{\"phases\":[]}",
      "{\"phases\":[\"mtp\",\"mtp\"]}",
      "{\"kv_layout\":7}",
      "{\"mtp\":\"auto,auto\"}",
      "{\"kv_dtype\":[\"bf16\"]}",
  };
  std::string input;
  for (const std::string& line : lines) input += line + "\n";
  for (const char* command : {"evaluate", "explain"}) {
    const Ran ran = run({command, "--catalog", "sglang", "--requests", "-"}, input);
    EXPECT_EQ(ran.exit, 0);
    std::istringstream answers(ran.text);
    std::size_t count = 0;
    for (std::string answer; std::getline(answers, answer); ++count) {
      EXPECT_TRUE(answer.starts_with("{\"verdict\":\"")) << answer.substr(0, 80);
    }
    EXPECT_EQ(count, lines.size());
  }
}

TEST(Robust, ChangedRequestLines) {
  const std::string request =
      R"({"platform":"cuda","arch":"sm_90","model_family":"glm_moe_dsa","kv_dtype":"auto","heads":64,"features":["hisparse"],"decode":"flashmla_kv,auto"})";
  std::mt19937 random(11);
  std::string input;
  for (int copy = 0; copy < 2000; ++copy) {
    std::string text = request;
    for (std::size_t change = 0, count = 1 + random() % 3; change < count; ++change) {
      char byte = static_cast<char>(random());
      if (byte == '\n') byte = ' ';
      text[random() % text.size()] = byte;
    }
    input += text + "\n";
  }
  const Ran ran = run({"evaluate", "--catalog", "sglang", "--requests", "-"}, input);
  EXPECT_EQ(ran.exit, 0);
  EXPECT_EQ(std::count(ran.text.begin(), ran.text.end(), '\n'), 2000);
}

TEST(Robust, HostileArguments) {
  for (const std::vector<std::string>& args : std::vector<std::vector<std::string>>{
           {"resolve", "--set", "="},
           {"resolve", "--set", "heads=-1"},
           {"resolve", "--set", std::string(100000, 'x')},
           {"resolve", "--catalog", "sglang", "--set", "features=,,"},
           {"resolve", "--catalog", "sglang", "--decode-backend", "\xff\xfe"},
           {"resolve", "--catalog", "sglang", "--device", "\x1b[31m"},
           {"resolve", "--catalog", "/dev/null"},
           {"resolve", "--model-config", "/dev/null", "--device", "cpu"},
           {"resolve", "--model-config", "/", "--device", "cpu"},
           {"resolve", "--policy", "/dev/zero"},
           {"inspect", "/dev/zero"},
           {"inspect", "/"},
           {"lint", "/dev/null", "/proc/self/mem", ""},
           {"evaluate", "--requests", "/"},
           {"help", std::string(1000, 'E')},
           {std::string(1000, '-')},
           {""}}) {
    const Ran ran = run(args);
    EXPECT_NE(ran.exit, 0) << args.front();
    EXPECT_EQ(ran.text.find('\x1b'), std::string::npos);
  }
}

TEST(Robust, TheProgramSurvivesASample) {
  test::TemporaryFolder folder;
  const std::string file = folder / "libdsakit_x.so";
  const std::string whole = whole_plugin();
  for (std::size_t size = 0; size <= whole.size(); size += whole.size() / 5) {
    test::write_file(file, whole.substr(0, size));
    for (const char* command : {"inspect", "lint", "list --why --plugin-dir"}) {
      const std::string target =
          command[1] == 'i' && command[2] == 's' ? folder.path().string() : file;
      const std::string line =
          std::string(DSAKIT_PROGRAM) + " " + command + " " + target + " > /dev/null 2>&1";
      const int status = std::system(line.c_str());
      ASSERT_TRUE(WIFEXITED(status)) << line;
      EXPECT_LE(WEXITSTATUS(status), 3) << line;
    }
  }
}

}  // namespace
}  // namespace dsakit
