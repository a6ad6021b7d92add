// Text of unknown origin never steers a terminal, and output that does not arrive is no success.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>

#include <gtest/gtest.h>

#include "cli.hpp"
#include "diag/printable.hpp"
#include "support/fake_plugin.hpp"

namespace dsakit::printed_test {
namespace {

// A line of its own, a colour, a C1 control, a mark that reorders, and bytes that are not UTF-8.
const std::string kHostile =
    "x\nFAKE\r\x1b[31m\xc2\x9b"
    "31m\xe2\x80\xae";
const std::string kHostileBytes = kHostile + "\xff\xfe";
// The same inside a JSON string, which must be UTF-8.
const std::string kHostileJson = R"(x\nFAKE\r\u001b[31m\u009b31m\u202e\u0000)";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string hostile_manifest(const std::string& id) {
  return replaced(replaced(replaced(test::small_manifest(id), "a test backend", kHostileJson),
                           "Apache-2.0", kHostileJson),
                  R"("rank":100,)",
                  R"("rank":100,"note":")" + kHostileJson + R"(","x-)" + kHostileJson + R"(":1,)");
}

struct Hostile {
  test::TemporaryFolder folder;
  std::string manifests = folder / ("m" + kHostileBytes);
  std::string plugins = folder / ("p" + kHostileBytes);
  std::string config = folder / ("c" + kHostileBytes);

  Hostile() {
    test::write_file(manifests + "/a" + kHostileBytes + ".json", hostile_manifest("acme.a"));
    test::write_file(manifests + "/b" + kHostileBytes + ".json", "{\"" + kHostileJson + "\":1}");
    test::write_file(manifests + "/c.json", kHostileBytes);
    test::write_file(plugins + "/libdsakit_" + kHostileBytes + ".so",
                     test::plugin_bytes({.manifest = hostile_manifest("acme.a"),
                                         .needed = {kHostileBytes},
                                         .soname = kHostileBytes,
                                         .runpath = kHostileBytes}));
    test::write_file(plugins + "/libdsakit_z.so", kHostileBytes);
    test::write_file(config, R"({"architectures":[")" + kHostileJson +
                                 R"("],"index_topk":2048,"num_attention_heads":64})");
  }

  std::string run(const std::vector<std::string>& args) const {
    std::istringstream in;
    std::ostringstream out;
    const auto detect = [] {
      Detection detection;
      for (const std::string& name : {std::string("sm_90"), kHostileBytes}) {
        DetectedDevice& device = detection.devices.emplace_back();
        device.device = name;
        device.platform = "cuda";
        device.name = kHostileBytes;
      }
      detection.notes.push_back({"hip", kHostileBytes});
      return detection;
    };
    cli::run(args,
             {parse_environment({"DSAKIT_PLUGIN_PATH=" + plugins, "DSAKIT_LOG=" + kHostileBytes,
                                 "DSAKIT_" + kHostileBytes + "=" + kHostileBytes},
                                false),
              detect, in, out, out, false, false});
    return out.str();
  }
};

TEST(Printed, NothingOfUnknownOriginSteersATerminal) {
  const Hostile hostile;
  const std::string& folder = hostile.manifests;
  const std::string& bytes = kHostileBytes;
  const std::vector<std::vector<std::string>> commands{
      {"list", "--why", "--catalog", folder},
      {"list", "--why"},
      {"list", "--plugin-dir", hostile.manifests},
      {"inspect", "acme.a", "--catalog", folder},
      {"inspect", "acme.a"},
      {"inspect", folder + "/b" + bytes + ".json"},
      {"inspect", hostile.plugins + "/libdsakit_" + bytes + ".so"},
      {"inspect", bytes},
      {"lint", folder, hostile.plugins, bytes},
      {"doctor", "--catalog", folder},
      {"doctor"},
      {"matrix", "--catalog", folder},
      {"matrix", "--catalog", folder, "--format", "markdown"},
      {"matrix", "--catalog", folder, "--device", bytes},
      {"resolve", "--catalog", folder, "--model-config", hostile.config},
      {"explain", "--catalog", folder, "--model-config", hostile.config, "--model-family",
       "glm_moe_dsa"},
      {"explain", "--catalog", folder, "--set", "kv_layout=" + bytes},
      {"explain", "--catalog", folder, "--set", "model_family=" + bytes},
      {"validate", "--catalog", folder, "--decode-backend", bytes},
      {"validate", "--catalog", folder, "--phases", bytes},
      {"evaluate", "--catalog", folder, "--format", "text", "--request", bytes},
      {"resolve", "--catalog", bytes},
      {"resolve", "--catalog", folder, "--help"},
      {"resolve", "--policy", bytes},
      {"help", bytes},
      {bytes}};
  for (const auto& args : commands) {
    const std::string text = hostile.run(args);
    EXPECT_FALSE(text.empty());
    EXPECT_EQ(text, printable(text, true)) << args.front();
    EXPECT_EQ(("\n" + text).find("\nFAKE"), std::string::npos) << args.front() << "\n" << text;
  }
}

TEST(Printed, TheHostileCatalogueIsReallyShown) {
  const Hostile hostile;
  EXPECT_NE(hostile.run({"list", "--catalog", hostile.manifests}).find("x\\x0aFAKE\\x0d\\x1b[31m"),
            std::string::npos);
  EXPECT_NE(hostile.run({"list", "--why"}).find("\\u{202e}\\xff\\xfe"), std::string::npos);
}

// Takes `room` bytes, then nothing.
class FullBuffer : public std::streambuf {
 public:
  explicit FullBuffer(int room) : room_(room) {}

 private:
  int overflow(int c) override { return room_-- > 0 ? c : traits_type::eof(); }
  int room_;
};

TEST(LostOutput, IsReportedAndExits3) {
  for (const int room : {0, 40}) {
    for (const std::vector<std::string>& args : std::vector<std::vector<std::string>>{
             {"resolve", "--catalog", "sglang", "--device", "sm_90"},
             {"resolve", "--catalog", "sglang", "--device", "sm_9", "--format", "json"},
             {"evaluate", "--catalog", "sglang", "--requests", "-"},
             {"list", "--catalog", "sglang"},
             {"help"},
             {"resolve", "--help"}}) {
      FullBuffer full(room);
      std::ostream out(&full);
      std::istringstream in("{}\n{}\n");
      std::ostringstream err;
      const int exit =
          cli::run(args, {parse_environment({}, false), [] { return Detection{}; }, in, out, err});
      EXPECT_EQ(exit, 3) << args.front();
      EXPECT_NE(err.str().find("error[E0610]"), std::string::npos) << args.front();
    }
  }
}

int exit_of(const std::string& shell) {
  const int status = std::system(shell.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(LostOutput, OfTheProgram) {
  test::TemporaryFolder folder;
  const std::string errors = folder / "errors";
  const std::string program = std::string(DSAKIT_PROGRAM) + " list --catalog sglang 2>" + errors;
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ::close(ends[0]);
  ASSERT_EQ(::dup2(ends[1], 9), 9);  // a pipe that nobody reads
  for (const char* output : {">/dev/full", ">&-", ">&9"}) {
    EXPECT_EQ(exit_of(program + " " + output), 3) << output;
    EXPECT_NE(test::read_file(errors).find("error[E0610]"), std::string::npos) << output;
  }
  ::close(ends[1]);
  ::close(9);
  EXPECT_EQ(exit_of(program + " >/dev/null"), 0);
}

TEST(LostInput, IsACodedError) {
  test::TemporaryFolder folder;
  const std::string file = folder / "out";
  const std::string program =
      std::string(DSAKIT_PROGRAM) + " evaluate --catalog sglang --requests - >" + file;
  for (const std::string input : {"<&-", "</"}) {
    EXPECT_EQ(exit_of(program + " " + input), 3) << input;
    const std::string text = test::read_file(file);
    EXPECT_NE(text.find(R"("code":"E0101")"), std::string::npos) << text;
    EXPECT_NE(text.find("standard input"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace dsakit::printed_test
