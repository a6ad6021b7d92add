// dsakit bench as a command without a GPU: what it refuses, and what its outputs become.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli.hpp"

namespace dsakit::cli::bench_command_cases {
namespace {

struct BenchRan {
  int exit = 0;
  std::string out, err;
};

BenchRan run_program(const std::vector<std::string>& args) {
  const Environment environment = parse_environment(
      {"HOME=/nonexistent", std::string("DSAKIT_PLUGIN_PATH=") + CPU_PLUGIN_DIR}, false);
  std::istringstream in;
  std::ostringstream out;
  std::ostringstream err;
  const Detection detection{{{"cpu", "cpu", 0, "Test CPU", 0, "", "", ""}}, {}};
  BenchRan ran;
  ran.exit = run(args, {environment, [&] { return detection; }, in, out, err});
  ran.out = out.str();
  ran.err = err.str();
  return ran;
}

BenchRan bench(std::vector<std::string> args) {
  args.insert(args.begin(), "bench");
  return run_program(args);
}

TEST(BenchCommand, SuitesNeedAGpu) {
  const BenchRan ran = bench({"--suite", "sparse_bf16", "--heads", "64", "--tokens", "1"});
  EXPECT_EQ(ran.exit, 1);
  EXPECT_NE(ran.out.find("decode, 64 heads, 1 tokens, topk 2048 of 131072 rows: this cannot be run "
                         "here: suites"),
            std::string::npos)
      << ran.out;
}

TEST(BenchCommand, RefusesWhatItDoesNotKnow) {
  const BenchRan suite = bench({"--suite", "rulez"});
  EXPECT_EQ(suite.exit, 2);
  EXPECT_NE(suite.err.find("the nearest is `rules`"), std::string::npos) << suite.err;
  const BenchRan pool = bench({"--topk", "100", "--pool", "50"});
  EXPECT_EQ(pool.exit, 2);
  EXPECT_NE(pool.err.find("E0407"), std::string::npos);
  EXPECT_EQ(bench({"--overlap", "2"}).exit, 2);
  EXPECT_EQ(bench({"--svg", "/no/such/folder/a.svg"}).exit, 3);
}

TEST(BenchCommand, RefusesWhatWouldBeIgnored) {
  const std::vector<std::vector<std::string>> wrong{
      {"--seconds", "nan"},
      {"--overlap", "-NaN"},
      {"--invalid", "nan"},
      {"--phases", "nope", "--evidence", testing::TempDir() + "no_evidence"},
      {"--phases", ",", "--evidence", testing::TempDir() + "no_evidence"},
      {"--mtp"},
      {"--set", "heads=3"},
      {""},
      {"cpu", "--decode-backend", "flashmla_sparse"},
      {"--suite", "sparse_bf16", "--kv-cache-dtype", "fp8_e4m3"},
      {"--suite", "sparse_bf16", "--pool", "70000"},
      {"--suite", "sparse_bf16", "--phases", "decode"},
      {"--suite", "rules", "--s-q", "2"},
      {"--suite", "rules", "--own-pools"},
      {"--suite", "rules", "--page-size", "64"},
      {"--suite", "rules", "--heads", "64,128"},
      {"--suite", "rules", "--topk", "49"},
      {"--suite", "sweep", "--tokens", "1,2"}};
  for (const auto& args : wrong) {
    const BenchRan ran = bench(args);
    EXPECT_EQ(ran.exit, 2) << args.back() << '\n' << ran.out;
    EXPECT_NE(ran.err.find("E0407"), std::string::npos) << args.front() << ' ' << ran.err;
  }
}

TEST(BenchCommand, RefusesOnTheCpuWhatIsForGpusAndWhatHasNoRoom) {
  const std::vector<std::string> one{"cpu", "--heads", "2", "--phases", "decode", "--seconds", "0"};
  const std::vector<std::vector<std::string>> wrong{
      {"--calls", "3"},
      {"--s-q", "2"},
      {"--tokens", "1048576", "--topk", "1048576", "--pool", "1048576"},
      {"--page-size", "2000000000", "--topk", "8"}};
  for (const auto& more : wrong) {
    auto args = one;
    args.insert(args.end(), more.begin(), more.end());
    const BenchRan ran = bench(args);
    EXPECT_EQ(ran.exit, 1) << more.front() << ran.err;
    EXPECT_NE(ran.out.find("this cannot be run here: "), std::string::npos) << ran.out;
  }
}

#ifndef DSAKIT_SANITIZED
TEST(BenchCommand, AShapeWithoutRoomLeavesTheOthers) {
  const std::string file = testing::TempDir() + "without_room.txt";
  const std::string line = std::string("ulimit -v 1500000; ") + DSAKIT_PROGRAM +
                           " bench cpu --heads 8 --topk 8 --pool 64 --seconds 0 --tokens 1,400000"
                           " --phases decode --plugin-dir " +
                           CPU_PLUGIN_DIR + " >" + file + " 2>&1";
  EXPECT_EQ(std::system(line.c_str()), 0);
  std::stringstream out;
  out << std::ifstream(file).rdbuf();
  EXPECT_NE(out.str().find("enough memory"), std::string::npos) << out.str();
}
#endif

TEST(ConformCommand, PrintsOneDocumentWhenItsFileCannotBeWritten) {
  const BenchRan ran = run_program({"conform", std::string(CPU_PLUGIN_DIR) + "/libdsakit_cpu.so",
                                    "--level", "0", "--junit", "/dev/full", "--format", "json"});
  EXPECT_EQ(ran.exit, 3);
  EXPECT_TRUE(nlohmann::json::accept(ran.out)) << ran.out;
  EXPECT_NE(ran.err.find("E0803"), std::string::npos) << ran.err;
}

TEST(BenchCommand, TimesTheFileThatWasNamedOrNone) {
  const std::string file = testing::TempDir() + "renamed.so";
  std::filesystem::copy_file(std::string(CPU_PLUGIN_DIR) + "/libdsakit_cpu.so", file,
                             std::filesystem::copy_options::overwrite_existing);
  const BenchRan ran = bench({file});
  EXPECT_EQ(ran.exit, 2) << ran.out;
  EXPECT_NE(ran.err.find("plugin files are named libdsakit_cpu.so"), std::string::npos) << ran.err;
}

TEST(BenchCommand, TakesPluginFiles) {
  const BenchRan ran =
      bench({std::string(CPU_PLUGIN_DIR) + "/libdsakit_cpu.so", "--heads", "2", "--topk", "8",
             "--pool", "64", "--seconds", "0", "--tokens", "1", "--phases", "decode"});
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_NE(ran.out.find("cpu      decode"), std::string::npos) << ran.out;
  EXPECT_EQ(bench({"no/such/file.so"}).exit, 3);
}

TEST(BenchCommand, DrawsAndRecordsGpusOnly) {
  const std::string svg = testing::TempDir() + "cpu_only.svg";
  const std::vector<std::string> small{"cpu",    "--heads",  "2",         "--topk", "8",
                                       "--pool", "64",       "--seconds", "0",      "--tokens",
                                       "1",      "--phases", "decode"};
  auto args = small;
  args.insert(args.end(), {"--svg", svg});
  const BenchRan picture = bench(args);
  EXPECT_EQ(picture.exit, 3);
  EXPECT_NE(picture.err.find("E0803"), std::string::npos) << picture.err;
  args = small;
  args.insert(args.end(), {"--evidence", testing::TempDir() + "no_evidence"});
  const BenchRan record = bench(args);
  EXPECT_NE(record.err.find("E0121"), std::string::npos) << record.err;
  args.insert(args.end(), {"--format", "json"});
  const BenchRan json = bench(args);
  EXPECT_TRUE(nlohmann::json::accept(json.out)) << "one document: " << json.out;
  EXPECT_NE(json.err.find("E0121"), std::string::npos) << json.err;
}

}  // namespace
}  // namespace dsakit::cli::bench_command_cases
