// A real plugin as the build made it: read, stripped, cut at every 64th byte, and changed at
// random. The reader must answer each of them; nothing here is ever loaded.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "diag/render.hpp"
#include "manifest/elf_builder.hpp"
#include "manifest/plugin_file.hpp"
#include "manifest/schema.hpp"

namespace dsakit {
namespace {

namespace fs = std::filesystem;
using test::read_bytes;

std::string plugin_bytes() {
  std::ifstream in(TEST_PLUGIN, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

class ScratchDir {
 public:
  ScratchDir() {
    std::string pattern = fs::temp_directory_path() / "dsakit-manifest-XXXXXX";
    path_ = mkdtemp(pattern.data());
  }
  ~ScratchDir() { fs::remove_all(path_); }
  ScratchDir(const ScratchDir&) = delete;
  ScratchDir& operator=(const ScratchDir&) = delete;

  std::string file(const std::string& name, const std::string& bytes) const {
    const fs::path path = path_ / name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  fs::path path() const { return path_; }

 private:
  fs::path path_;
};

// The end of the last loadable segment: a file cut before it cannot be mapped whole.
std::uint64_t end_of_segments(const std::string& bytes) {
  Elf64_Ehdr header{};
  std::memcpy(&header, bytes.data(), sizeof(header));
  std::uint64_t end = 0;
  for (int i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment{};
    std::memcpy(&segment,
                bytes.data() + header.e_phoff + static_cast<std::size_t>(i) * sizeof(segment),
                sizeof(segment));
    if (segment.p_type == PT_LOAD) end = std::max(end, segment.p_offset + segment.p_filesz);
  }
  return end;
}

TEST(BuiltPlugin, CarriesItsManifest) {
  for (const char* id : {"tiny_cpu", "tiny_cuda", "acme.tiny"}) {
    const auto file = read_plugin_file(std::string(TEST_PLUGIN_DIR) + "/libdsakit_" + id + ".so");
    ASSERT_TRUE(file) << render_text(file.error());
    EXPECT_FALSE(file->static_tls);
    EXPECT_NE(file->ino, 0U);
    const auto parsed = parse_manifest(file->manifest_json, file->path);
    ASSERT_TRUE(parsed) << render_text(parsed.error());
    EXPECT_EQ(parsed->manifest.id, id);
    EXPECT_TRUE(parsed->manifest.has_build);
    EXPECT_FALSE(parsed->manifest.build.toolkit.empty());
    EXPECT_EQ(canonical_manifest(parsed->manifest), file->manifest_json);
  }
}

TEST(BuiltPlugin, ClaimsEvidenceOnlyWhereItHasCode) {
  const auto cpu = read_plugin_file(std::string(TEST_PLUGIN_DIR) + "/libdsakit_tiny_cpu.so");
  const auto cuda = read_plugin_file(TEST_PLUGIN);
  ASSERT_TRUE(cpu && cuda);
  EXPECT_EQ(parse_manifest(cpu->manifest_json, "f")->manifest.build.evidence.at("bf16").at("cpu"),
            "compiled");
  EXPECT_TRUE(parse_manifest(cuda->manifest_json, "f")->manifest.build.evidence.empty());
}

TEST(BuiltPlugin, IsReadWithoutItsSectionHeaders) {
  std::string bytes = plugin_bytes();
  Elf64_Ehdr header{};
  std::memcpy(&header, bytes.data(), sizeof(header));
  header.e_shoff = 0;
  header.e_shnum = header.e_shstrndx = 0;
  std::memcpy(bytes.data(), &header, sizeof(header));
  bytes.resize(end_of_segments(bytes));
  const auto file = read_bytes(bytes);
  ASSERT_TRUE(file) << render_text(file.error());
  EXPECT_EQ(file->manifest_json, read_plugin_file(TEST_PLUGIN)->manifest_json);
}

TEST(BuiltPlugin, IsReadAfterStrip) {
  const ScratchDir scratch;
  const std::string copy = scratch.file("copy.so", plugin_bytes());
  if (std::system(("strip -s " + copy).c_str()) != 0) GTEST_SKIP() << "strip is not here";
  const auto file = read_plugin_file(copy);
  ASSERT_TRUE(file) << render_text(file.error());
  EXPECT_EQ(file->manifest_json, read_plugin_file(TEST_PLUGIN)->manifest_json);
}

TEST(BuiltPlugin, CutAnywhereIsAnsweredAndNeverAcceptedWithoutAllSegments) {
  const ScratchDir scratch;
  const std::string bytes = plugin_bytes();
  const std::uint64_t needed = end_of_segments(bytes);
  ASSERT_GT(needed, 64U);
  int refused = 0;
  for (std::size_t size = 0; size < bytes.size(); size += 64) {
    const auto file = read_plugin_file(scratch.file("cut.so", bytes.substr(0, size)));
    EXPECT_EQ(file.has_value(), size >= needed) << size;
    if (!file) ++refused;
  }
  EXPECT_GT(refused, 100);
}

TEST(BuiltPlugin, ChangedAtRandomIsAnswered) {
  const std::string bytes = plugin_bytes();
  std::mt19937 random(20240607);
  const auto below = [&](std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n - 1)(random);
  };
  int read = 0, refused = 0, parsed = 0;
  for (int i = 0; i < 1000; ++i) {
    std::string copy = bytes;
    const std::size_t changes = 1 + below(8);
    // Half of the changes fall on headers and notes, where they matter most.
    for (std::size_t c = 0; c < changes; ++c) {
      copy[below(below(2) == 0 ? 4096 : copy.size())] = static_cast<char>(below(256));
    }
    if (below(4) == 0) copy.resize(below(copy.size()));
    const auto file = read_bytes(copy);
    file ? ++read : ++refused;
    if (file) parsed += parse_manifest(file->manifest_json, "f").has_value() ? 1 : 0;
  }
  EXPECT_GT(refused, 100);
  EXPECT_EQ(parsed, read) << "what passes the checksum is the manifest that was built";
}

TEST(PluginPath, ThatCannotBeReadIsAnError) {
  const ScratchDir scratch;
  const auto reason = [](const std::string& path) {
    const auto file = read_plugin_file(path);
    return file ? "read" : headline(file.error());
  };
  const std::string missing = scratch.path() / "missing.so";
  EXPECT_EQ(reason(missing), "cannot read `" + missing + "`: No such file or directory");
  EXPECT_EQ(reason(scratch.path()),
            "cannot read `" + scratch.path().string() + "`: not a regular file");
  const std::string pipe = scratch.path() / "pipe.so";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(reason(pipe), "cannot read `" + pipe + "`: not a regular file");
  EXPECT_EQ(reason("").substr(0, 11), "cannot read");
}

TEST(PluginPath, IsResolvedThroughLinks) {
  const ScratchDir scratch;
  fs::create_symlink(TEST_PLUGIN, scratch.path() / "link.so");
  const auto linked = read_plugin_file(scratch.path() / "link.so");
  const auto direct = read_plugin_file(TEST_PLUGIN);
  ASSERT_TRUE(linked && direct);
  EXPECT_EQ(linked->path, direct->path);
  EXPECT_EQ(linked->ino, direct->ino);
}

}  // namespace
}  // namespace dsakit
