#include "catalog/catalog.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "catalog/search.hpp"
#include "support/fake_plugin.hpp"

namespace dsakit {
namespace {

using test::small_manifest;
using Status = CatalogEntry::Status;

class PluginCatalog : public testing::Test {
 protected:
  void plugin(const std::string& file, const std::string& manifest) {
    test::write_file(folder_ / file, test::plugin_bytes({.manifest = manifest}));
  }
  SearchDir dir(const std::string& name, bool named = true) const {
    return {folder_ / name, "test", named, ""};
  }
  std::shared_ptr<const Catalog> open(std::vector<std::string> names,
                                      const std::vector<std::string>& disabled = {}) const {
    std::vector<SearchDir> dirs;
    for (const std::string& name : names) dirs.push_back(dir(name));
    return Catalog::open_plugins(dirs, disabled);
  }
  static std::vector<std::string> codes(const std::vector<Diagnostic>& diagnostics) {
    std::vector<std::string> out;
    for (const Diagnostic& diagnostic : diagnostics) out.emplace_back(code_name(diagnostic.code));
    return out;
  }
  test::TemporaryFolder folder_;
};

using Codes = std::vector<std::string>;

TEST_F(PluginCatalog, FindsPluginsInOrderOfDirectoriesThenNames) {
  plugin("one/libdsakit_zeta.so", small_manifest("zeta"));
  plugin("one/libdsakit_beta.so", small_manifest("beta"));
  plugin("two/libdsakit_alpha.so", small_manifest("alpha"));
  const auto catalog = open({"one", "two"});
  EXPECT_EQ(catalog->solver().ids(), (std::vector<std::string>{"beta", "zeta", "alpha"}));
  EXPECT_TRUE(catalog->diagnostics().empty());
  EXPECT_EQ(catalog->find("zeta")->file, folder_ / "one/libdsakit_zeta.so");
  EXPECT_EQ(catalog->searched()[0].state, "2 plugin files");
  EXPECT_EQ(catalog->searched()[1].state, "1 plugin file");
}

TEST_F(PluginCatalog, SameIdInAnEarlierDirectoryShadows) {
  plugin("one/libdsakit_x.so", small_manifest("x", "sm_90"));
  plugin("two/libdsakit_x.so", small_manifest("x", "sm_100"));
  const auto catalog = open({"one", "two"});
  ASSERT_EQ(catalog->entries().size(), 2u);
  EXPECT_EQ(catalog->entries()[0].status, Status::used);
  EXPECT_EQ(catalog->entries()[1].status, Status::shadowed);
  EXPECT_EQ(codes(catalog->entries()[1].diagnostics), Codes{"W0111"});
  EXPECT_EQ(catalog->find("x"), &catalog->entries()[0]);
}

TEST_F(PluginCatalog, OneFileUnderTwoNamesIsListedOnce) {
  plugin("one/libdsakit_x.so", small_manifest("x"));
  std::filesystem::create_directories(folder_ / "two");
  std::filesystem::create_symlink(folder_ / "one/libdsakit_x.so",
                                  folder_ / "two/libdsakit_link.so");
  std::filesystem::create_hard_link(folder_ / "one/libdsakit_x.so",
                                    folder_ / "two/libdsakit_hard.so");
  const auto catalog = open({"one", "two"});
  ASSERT_EQ(catalog->entries().size(), 3u);
  for (std::size_t i : {1u, 2u}) {
    EXPECT_EQ(catalog->entries()[i].status, Status::duplicate);
    EXPECT_EQ(codes(catalog->entries()[i].diagnostics), Codes{"W0112"});
  }
}

TEST_F(PluginCatalog, ACopyWithTheSameBytesIsADuplicateAndNoShadow) {
  plugin("one/libdsakit_x.so", small_manifest("x"));
  plugin("two/libdsakit_x.so", small_manifest("x"));
  const auto catalog = open({"one", "two"});
  EXPECT_EQ(catalog->entries()[1].status, Status::duplicate);
  EXPECT_EQ(codes(catalog->entries()[1].diagnostics), Codes{"W0112"});
}

TEST_F(PluginCatalog, ADirectoryReachedTwiceIsSearchedOnce) {
  plugin("one/libdsakit_x.so", small_manifest("x"));
  std::filesystem::create_directory_symlink(folder_ / "one", folder_ / "again");
  const auto catalog = open({"one", "again", "one"});
  EXPECT_EQ(catalog->entries().size(), 1u);
  EXPECT_EQ(catalog->searched()[1].state, "searched above");
}

TEST_F(PluginCatalog, ABrokenFileHarmsNoOtherAndShadowsNobody) {
  test::write_file(folder_ / "one/libdsakit_x.so", "not an ELF file");
  plugin("one/libdsakit_wrong.so", R"({"schema":1,"id":"x"})");
  test::write_file(folder_ / "one/libdsakit_nonote.so", test::plugin_bytes({}));
  plugin("two/libdsakit_x.so", small_manifest("x"));
  const auto catalog = open({"one", "two"});
  EXPECT_EQ(catalog->solver().ids(), Codes{"x"});
  EXPECT_EQ(codes(catalog->entries()[0].diagnostics), Codes{"E0104"});
  EXPECT_EQ(codes(catalog->entries()[1].diagnostics), Codes{"E0107"});
  EXPECT_EQ(codes(catalog->entries()[2].diagnostics), Codes{"E0102"});
  EXPECT_EQ(catalog->entries()[3].status, Status::used);
}

TEST_F(PluginCatalog, OnlyRegularFilesAreRead) {
  std::filesystem::create_directories(folder_ / "one/libdsakit_dir.so");
  ASSERT_EQ(::mkfifo((folder_ / "one/libdsakit_fifo.so").c_str(), 0600), 0);
  std::filesystem::create_symlink("libdsakit_loop.so", folder_ / "one/libdsakit_loop.so");
  std::filesystem::create_symlink("nowhere", folder_ / "one/libdsakit_dangling.so");
  const auto catalog = open({"one"});
  ASSERT_EQ(catalog->entries().size(), 4u);
  for (const CatalogEntry& entry : catalog->entries()) {
    EXPECT_EQ(entry.status, Status::set_aside) << entry.file;
    EXPECT_EQ(codes(entry.diagnostics), Codes{"E0101"}) << entry.file;
  }
  EXPECT_EQ(codes(catalog->diagnostics()), Codes{"W0114"});
}

TEST_F(PluginCatalog, AMissingDirectoryIsAWarningOnlyIfSomebodyNamedIt) {
  const auto named = Catalog::open_plugins({dir("none", true)});
  EXPECT_EQ(codes(named->diagnostics()), (Codes{"W0113", "W0114"}));
  const auto standard = Catalog::open_plugins({dir("none", false)});
  EXPECT_EQ(codes(standard->diagnostics()), Codes{"W0114"});
  ASSERT_EQ(standard->diagnostics()[0].evidence.size(), 1u);
  EXPECT_EQ(standard->diagnostics()[0].evidence[0].text, "does not exist");
}

TEST_F(PluginCatalog, AnUnreadableDirectoryIsOneWarning) {
  plugin("open/libdsakit_x.so", small_manifest("x"));
  plugin("closed/libdsakit_y.so", small_manifest("y"));
  ASSERT_EQ(::chmod((folder_ / "closed").c_str(), 0), 0);
  if (::access((folder_ / "closed").c_str(), R_OK) == 0)
    GTEST_SKIP() << "root reads every directory";
  const auto catalog = Catalog::open_plugins({dir("closed", false), dir("open")});
  EXPECT_EQ(codes(catalog->diagnostics()), Codes{"W0113"});
  EXPECT_EQ(catalog->solver().ids(), Codes{"x"});
  ::chmod((folder_ / "closed").c_str(), 0700);
}

TEST_F(PluginCatalog, AFileInPlaceOfADirectoryIsOneWarning) {
  test::write_file(folder_ / "file", "x");
  const auto catalog = Catalog::open_plugins({dir("file", false)});
  EXPECT_EQ(codes(catalog->diagnostics()), (Codes{"W0113", "W0114"}));
}

TEST_F(PluginCatalog, RelativeDirectoriesAreNotSearched) {
  const auto catalog = Catalog::open_plugins({{"plugins", "DSAKIT_PLUGIN_PATH", true, ""}});
  EXPECT_EQ(codes(catalog->diagnostics()), (Codes{"W0113", "W0114"}));
}

TEST_F(PluginCatalog, ReadsAtMostTheLimitOfFiles) {
  for (std::size_t i = 0; i < kMaxPluginFiles + 2; ++i) {
    test::write_file(folder_ / ("many/libdsakit_" + std::to_string(i) + ".so"), "");
  }
  const auto catalog = open({"many"});
  EXPECT_EQ(catalog->entries().size(), kMaxPluginFiles);
  EXPECT_EQ(codes(catalog->diagnostics()), (Codes{"W0115", "W0114"}));
}

TEST_F(PluginCatalog, DisabledIdsAreListedAndNotUsed) {
  plugin("one/libdsakit_a_x.so", small_manifest("a_x"));
  plugin("one/libdsakit_a_y.so", small_manifest("a_y"));
  plugin("one/libdsakit_b.so", small_manifest("b"));
  const auto catalog = open({"one"}, {"a_*"});
  EXPECT_EQ(catalog->solver().ids(), Codes{"b"});
  EXPECT_EQ(catalog->entries()[0].status, Status::disabled);
  EXPECT_EQ(catalog->find("a_x"), nullptr);
}

std::string with_dims(const std::string& id, const std::string& dims) {
  std::string text = small_manifest(id);
  text.insert(text.find("\"common\""), "\"dims\":" + dims + ",");
  return text;
}

const char* const kInt = R"({"acme.x":{"type":"int","neutral":1,"doc":"d"}})";
const char* const kToken = R"({"acme.x":{"type":"token","neutral":"a","doc":"d"}})";

TEST_F(PluginCatalog, AContradictingDimensionSetsTheLaterFileAside) {
  plugin("one/libdsakit_a.so", with_dims("a", kInt));
  plugin("one/libdsakit_b.so", with_dims("b", kToken));
  const auto catalog = open({"one"});
  EXPECT_EQ(catalog->solver().ids(), Codes{"a"});
  EXPECT_EQ(catalog->entries()[1].status, Status::set_aside);
  EXPECT_EQ(codes(catalog->entries()[1].diagnostics), Codes{"E0109"});
}

TEST_F(PluginCatalog, AFileSetAsideUncoversTheOneItShadowed) {
  plugin("one/libdsakit_a.so", with_dims("a", kInt));
  plugin("one/libdsakit_b.so", with_dims("b", kToken));
  plugin("two/libdsakit_b.so", small_manifest("b"));
  plugin("two/libdsakit_b2.so", small_manifest("b", "sm_100"));
  const auto catalog = open({"one", "two"});
  EXPECT_EQ(catalog->solver().ids(), (Codes{"a", "b"}));
  EXPECT_EQ(catalog->entries()[2].status, Status::used);
  EXPECT_TRUE(catalog->entries()[2].diagnostics.empty());
  EXPECT_EQ(catalog->entries()[3].status, Status::shadowed);
  EXPECT_EQ(codes(catalog->entries()[3].diagnostics), Codes{"W0111"});
}

TEST_F(PluginCatalog, ASnapshotSurvivesTheFilesItCameFrom) {
  plugin("one/libdsakit_x.so", small_manifest("x"));
  const auto before = open({"one"});
  std::filesystem::remove(folder_ / "one/libdsakit_x.so");
  const auto after = open({"one"});
  EXPECT_EQ(before->solver().ids(), Codes{"x"});
  EXPECT_TRUE(after->solver().ids().empty());
}

TEST_F(PluginCatalog, AFolderOfManifestsIsReadInBytewiseOrder) {
  test::write_file(folder_ / "m/b.json", small_manifest("late"));
  test::write_file(folder_ / "m/B.json", small_manifest("early"));
  test::write_file(folder_ / "m/c.json", "{");
  test::write_file(folder_ / "m/notes.txt", "ignored");
  const auto catalog = Catalog::open_manifests(folder_ / "m", "mine");
  ASSERT_TRUE(catalog.has_value());
  EXPECT_EQ((*catalog)->name(), "mine");
  EXPECT_EQ((*catalog)->solver().ids(), (Codes{"early", "late"}));
  ASSERT_EQ((*catalog)->entries().size(), 3u);
  EXPECT_EQ(codes((*catalog)->entries()[2].diagnostics), Codes{"E0106"});
}

TEST_F(PluginCatalog, AMissingFolderOfManifestsIsAnError) {
  const auto catalog = Catalog::open_manifests(folder_ / "none", "mine");
  ASSERT_FALSE(catalog.has_value());
  EXPECT_EQ(catalog.error().code, Code::E0101);
}

TEST_F(PluginCatalog, OnlyAPluginHasEvidence) {
  std::string manifest = small_manifest("a");
  manifest.insert(manifest.find('{') + 1, R"("build":{"evidence":{"only":{"sm_90":"hardware"}}},)");
  plugin("one/libdsakit_a.so", manifest);
  const auto plugins = open({"one"});
  ASSERT_NE(plugins->find("a"), nullptr);
  EXPECT_EQ(plugins->find("a")->manifest->build.evidence.size(), 1U);
  const auto texts = Catalog::from_texts({{"a.json", manifest}}, "t");
  ASSERT_NE(texts->find("a"), nullptr);
  EXPECT_TRUE(texts->find("a")->manifest->build.evidence.empty());
  EXPECT_EQ(texts->find("a")->manifest->json.find("hardware"), std::string::npos);
}

TEST_F(PluginCatalog, TextsMakeACatalogueToo) {
  const auto catalog =
      Catalog::from_texts({{"a.json", small_manifest("a")}, {"b.json", small_manifest("a")}}, "t");
  EXPECT_EQ(catalog->solver().ids(), Codes{"a"});
  EXPECT_EQ(catalog->entries()[1].status, Status::shadowed);
}

}  // namespace
}  // namespace dsakit
