// dsakit-manifest on a tiny plugin's sources: what changes the digest of the code, and how the
// level of a row follows. Nothing is compiled.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "manifest/evidence.hpp"
#include "manifest/schema.hpp"

namespace dsakit {
namespace {

namespace fs = std::filesystem;

struct Ran {
  int exit = 0;
  std::string text;  // both streams
};

Ran tool(const std::string& arguments) {
  Ran ran;
  FILE* pipe = popen(fmt::format("{} {} 2>&1", MANIFEST_TOOL, arguments).c_str(), "r");
  if (pipe == nullptr) return {-1, "no process"};
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) ran.text += static_cast<char>(c);
  ran.exit = WEXITSTATUS(pclose(pipe));
  return ran;
}

// A project of two files in a folder of its own.
class Project {
 public:
  Project() {
    std::string pattern = fs::temp_directory_path() / "dsakit-tool-XXXXXX";
    root_ = mkdtemp(pattern.data());
    write(
        "plugin/plugin.cpp",
        "#include \"shared/rows.hpp\"\n#include <vector>\nint run() { return rows() + 1'000; }\n");
    write("shared/rows.hpp", "// Rows.\ninline int rows() { return 7; }\n");
    write("shared/unused.hpp", "inline int nothing() { return 0; }\n");
    write("manifest.json",
          R"({"schema":1,"id":"tiny","version":[1,0,0],"abi":{"min":1,"max":1},
              "common":{"platform":["cpu"],"arch":["cpu"],"phase":"*","model_family":"*","kv_dtype":"*",
                        "page_size":"*","heads":"*","topk":"*","d_qk":"*","d_v":"*"},
              "rows":[{"name":"a","where":{"heads":{"max":64}},"provides":{"kv_layout":"bf16_1152"}},
                      {"name":"b","where":{"heads":{"max":128}},"provides":{"kv_layout":"bf16_1152"}}]})");
    list("define FAST=1\n");
  }
  ~Project() { fs::remove_all(root_); }
  Project(const Project&) = delete;
  Project& operator=(const Project&) = delete;

  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << text;
  }
  std::string read(const std::string& name) const {
    std::ifstream in(root_ / name);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void replace(const std::string& name, const std::string& from, const std::string& to) const {
    std::string text = read(name);
    const std::size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    write(name, text.replace(at, from.size(), to));
  }
  // What CMake writes, and `more`.
  void list(const std::string& more) const {
    write(
        "build/sources.CXX.txt",
        fmt::format("root {0}\nwithout {0}/build\nlanguage CXX\ntarget tiny\nfolder {0}/plugin\n"
                    "source plugin.cpp\nsource {0}/build/made.json\ninclude {0}\noption -O3 -Wall\n"
                    "option \n{1}",
                    root_.string(), more));
  }

  Ran embed(const std::string& more = "") const {
    const std::string at = root_.string();
    return tool(
        fmt::format("embed --manifest {0}/manifest.json --id tiny --json-out {0}/build/out.json "
                    "--note-out {0}/build/out.note --target cpu --toolkit 'GNU 12.2.0' "
                    "--sources {0}/build/sources.CXX.txt --depfile {0}/build/out.d {1}",
                    at, more));
  }
  Manifest built(const std::string& more = "") const {
    const Ran ran = embed(more);
    EXPECT_EQ(ran.exit, 0) << ran.text;
    const auto parsed = parse_manifest(read("build/out.json"), "out.json");
    EXPECT_TRUE(parsed);
    return parsed ? parsed->manifest : Manifest{};
  }
  std::string digest() const { return built().build.sources; }

  // As if the kit had run this build.
  void record() const {
    const Manifest manifest = built();
    EvidenceRecord record{.plugin = "tiny",
                          .date = "2026-11-30",
                          .device = "a CPU",
                          .arch = "cpu",
                          .driver = "",
                          .runtime = "",
                          .build = manifest.build,
                          .tier = "full",
                          .levels = {},
                          .rows = {}};
    for (const Row& row : manifest.rows) {
      record.rows.push_back({row.name,
                             row_digest(manifest, row),
                             {{3, 1, 1, {}}, {4, 1, 1, {}}},
                             std::nullopt,
                             std::nullopt});
    }
    write("evidence.json", evidence_json(record));
  }
  std::string levels() const {
    const Manifest manifest = built("--record " + (root_ / "evidence.json").string());
    return evidence_level(manifest, "a", "cpu") + " " + evidence_level(manifest, "b", "cpu");
  }
  fs::path root() const { return root_; }

 private:
  fs::path root_;
};

TEST(Digest, IsOfCodeAloneWhereverItLies) {
  const Project one, two;
  const std::string before = one.digest();
  EXPECT_EQ(two.digest(), before) << "two folders";
  one.write("plugin/plugin.cpp",
            "/* A comment\n   of two lines. */\n#include   <vector>  // here\n\n"
            "#  include \"shared/rows.hpp\"\nint run() {   return rows() + 1'000; } // '\n");
  EXPECT_NE(one.digest(), before) << "the includes changed places";
  one.write("plugin/plugin.cpp",
            "/* A comment\n   of two lines. */\n#include   \"shared/rows.hpp\"  // here\n\n"
            "#include <vector>\n\tint run() {   return rows() + 1'000; } // '\n");
  EXPECT_EQ(one.digest(), before) << "comments and layout";
  one.write("shared/unused.hpp", "inline int nothing() { return 1; }\n");
  one.write("build/made.json", "{}");
  EXPECT_EQ(one.digest(), before) << "files that do not count";
}

TEST(Digest, ChangesWithEachPartOfTheCode) {
  const Project project;
  std::vector<std::string> seen{project.digest()};
  const auto expect_new = [&](const char* what) {
    const std::string digest = project.digest();
    EXPECT_EQ(std::count(seen.begin(), seen.end(), digest), 0) << what;
    seen.push_back(digest);
  };
  project.replace("plugin/plugin.cpp", "+ 1'000", "- 1'000");
  expect_new("the source");
  project.replace("shared/rows.hpp", "7", "8");
  expect_new("a header of the project");
  project.list("define FAST=2\n");
  expect_new("a definition");
  project.write("plugin/kernel.cpp", "int kernel() { return 1; }\n");
  project.list("define FAST=2\nsource kernel.cpp\n");
  expect_new("one more source");
  project.write("plugin/kernel.cpp", "const char* kText = \"a  /* b */\";\n");
  expect_new("a literal");
  project.write("plugin/kernel.cpp", "const char* kText = \"a /* b */\";\n");
  expect_new("a blank in a literal");
  project.write("plugin/kernel.cpp", "const char* kText = R\"x(// a  b)x\";\n");
  expect_new("a raw literal");
  project.write("plugin/kernel.cpp", "const char* kText = R\"x(// a b)x\";\n");
  expect_new("a blank in a raw literal");
}

TEST(Digest, IsInTheManifestWithFlagsAndItsFilesInTheDepfile) {
  const Project project;
  const Manifest manifest = project.built();
  EXPECT_EQ(manifest.build.flags.at("CXX"), "-O3");
  const std::string rule = project.read("build/out.d");
  for (const char* file : {"plugin/plugin.cpp", "shared/rows.hpp"})
    EXPECT_NE(rule.find((project.root() / file).string()), std::string::npos) << rule;
  EXPECT_EQ(rule.find("unused"), std::string::npos) << rule;
  fs::remove(project.root() / "plugin/plugin.cpp");
  const Ran ran = project.embed();
  EXPECT_EQ(ran.exit, 1);
  EXPECT_NE(ran.text.find("cannot read"), std::string::npos) << ran.text;
}

TEST(Build, SaysWhetherNoSourceAsksForItsDevice) {
  const Project project;
  EXPECT_TRUE(project.built().build.portable);
  project.write("plugin/kernel.cpp", "// no __CUDA_ARCH__ here\nint kernel() { return 0; }\n");
  project.list("source kernel.cpp\n");
  EXPECT_TRUE(project.built().build.portable) << "a comment";
  for (const char* question :
       {"#if __CUDA_ARCH__ >= 900\n#endif\n", "#ifdef __gfx942__\n#endif\n"}) {
    project.write("plugin/kernel.cpp", question);
    EXPECT_FALSE(project.built().build.portable) << question;
  }
}

TEST(Level, FallsWithASourceAndComesBackWithIt) {
  const Project project;
  project.record();
  EXPECT_EQ(project.levels(), "hardware hardware");
  project.replace("shared/rows.hpp", "7", "8");
  EXPECT_EQ(project.levels(), "compiled compiled");
  project.replace("shared/rows.hpp", "8", "7");
  EXPECT_EQ(project.levels(), "hardware hardware");
}

TEST(Level, FallsWithItsRowAlone) {
  const Project project;
  project.record();
  project.replace("manifest.json", "\"max\":64", "\"max\":65");
  EXPECT_EQ(project.levels(), "compiled hardware");
}

TEST(Level, IsForbiddenInTheSourceManifest) {
  const Project project;
  project.replace("manifest.json", "\"schema\":1,",
                  R"("schema":1,"build":{"evidence":{"a":{"cpu":"hardware"}}},)");
  const Ran ran = project.embed();
  EXPECT_EQ(ran.exit, 1);
  EXPECT_NE(ran.text.find("E0107"), std::string::npos) << ran.text;
  EXPECT_NE(ran.text.find("never a person"), std::string::npos) << ran.text;
}

TEST(Record, ThatIsDamagedStopsTheBuild) {
  const Project project;
  project.record();
  const std::string record = (project.root() / "evidence.json").string();
  const std::string whole = project.read("evidence.json");
  for (const auto& [from, to] : {std::pair{"\"checks\":1", "\"checks\":0"},
                                 std::pair{"\"plugin\": \"tiny\"", "\"plugin\": \"other\""},
                                 std::pair{"\"date\"", "\"level\""}}) {
    project.replace("evidence.json", from, to);
    const Ran ran = project.embed("--record " + record);
    EXPECT_EQ(ran.exit, 1) << from;
    EXPECT_NE(ran.text.find("E0119"), std::string::npos) << ran.text;
    project.write("evidence.json", whole);
  }
}

TEST(Record, SaysWhetherItIsAboutAPlugin) {
  const Project project;
  project.record();
  const std::string arguments = fmt::format("evidence --plugin {} --record {}", TEST_PLUGIN,
                                            (project.root() / "evidence.json").string());
  const Ran other = tool(arguments);
  EXPECT_EQ(other.exit, 1) << other.text;
  EXPECT_NE(other.text.find("E0119"), std::string::npos) << "of another plugin: " << other.text;
  project.replace("evidence.json", "\"plugin\": \"tiny\"", "\"plugin\": \"tiny_cuda\"");
  const Ran stale = tool(arguments);
  EXPECT_EQ(stale.exit, 4) << stale.text;
  EXPECT_NE(stale.text.find("warning[W0120]"), std::string::npos) << stale.text;
  EXPECT_NE(stale.text.find("other sources"), std::string::npos) << stale.text;
}

TEST(Rows, OfAmdGpusThatTheBuildHasNoCodeForAreLeftOut) {
  const Project project;
  project.write("manifest.json",
                R"({"schema":1,"id":"tiny","version":[1,0,0],"abi":{"min":1,"max":1},
                    "common":{"platform":["cpu","hip"],"phase":"*","model_family":"*","kv_dtype":"*",
                              "page_size":"*","heads":"*","topk":"*","d_qk":"*","d_v":"*"},
                    "rows":[{"name":"a","where":{"arch":["gfx942"]},"provides":{"kv_layout":"bf16_1152"}},
                            {"name":"b","where":{"arch":["gfx950"]},"provides":{"kv_layout":"bf16_1152"}}]})");
  const auto rows = [&](const std::string& targets) {
    std::string names;
    for (const Row& row : project.built(targets).rows) names += row.name;
    return names;
  };
  EXPECT_EQ(rows("--target gfx942"), "a");
  EXPECT_EQ(rows("--target gfx942 --target gfx950"), "ab");
  const Ran none = project.embed();
  EXPECT_EQ(none.exit, 1) << none.text;
  EXPECT_NE(none.text.find("no row takes a device that cpu is code for"), std::string::npos)
      << none.text;
}

}  // namespace
}  // namespace dsakit
