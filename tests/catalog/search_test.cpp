#include "catalog/search.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "support/fake_plugin.hpp"

namespace dsakit {
namespace {

std::vector<std::string> paths(const std::vector<SearchDir>& dirs) {
  std::vector<std::string> out;
  for (const SearchDir& dir : dirs) out.push_back(dir.path);
  return out;
}

TEST(SearchPath, FollowsTheDocumentedOrder) {
  SearchVariables variables;
  variables.path_add = "/add/one:/add/two";
  variables.data_home = "/data/u/share";
  const auto dirs = plugin_search_path({"/api"}, "API", variables, "/opt/x/bin");
  ASSERT_EQ(dirs.size(), 7u);
  EXPECT_EQ(paths(dirs),
            (std::vector<std::string>{"/api", "/add/one", "/add/two", "/opt/x/lib/dsakit/plugins",
                                      "/data/u/share/dsakit/plugins",
                                      "/usr/local/lib/dsakit/plugins", dirs[6].path}));
  EXPECT_EQ(dirs[0].origin, "API");
  EXPECT_EQ(dirs[1].origin, "DSAKIT_PLUGIN_PATH_ADD");
  EXPECT_EQ(dirs[3].origin, "beside libdsakit");
  EXPECT_EQ(dirs[4].origin, "XDG_DATA_HOME");
  EXPECT_EQ(dirs[6].origin, "system");
  EXPECT_TRUE(dirs[6].path.starts_with("/usr/lib/"));
  EXPECT_TRUE(dirs[6].path.ends_with("/dsakit/plugins"));
  EXPECT_TRUE(dirs[2].named);
  EXPECT_FALSE(dirs[3].named);
}

TEST(SearchPath, PluginPathReplacesTheDefaultsButNotWhatIsAdded) {
  SearchVariables variables;
  variables.path_add = "/add";
  variables.path = "/mine";
  variables.data_home = "/data/u/share";
  EXPECT_EQ(paths(plugin_search_path({"/api"}, "API", variables, "/opt/x/lib")),
            (std::vector<std::string>{"/api", "/add", "/mine"}));
}

TEST(SearchPath, EmptyPartsNeverMeanTheCurrentDirectory) {
  SearchVariables variables;
  variables.path = ":/mine::";
  EXPECT_EQ(paths(plugin_search_path({}, "API", variables, "")), std::vector<std::string>{"/mine"});
  variables.path = "";
  EXPECT_TRUE(plugin_search_path({}, "API", variables, "").empty());
}

TEST(SearchPath, RelativeDataHomeIsNotSearched) {
  SearchVariables variables;
  variables.data_home = "share";
  for (const SearchDir& dir : plugin_search_path({}, "API", variables, "")) {
    EXPECT_TRUE(dir.path.starts_with("/")) << dir.path;
  }
}

TEST(SearchPath, KnowsWhereThisCodeLies) {
  EXPECT_TRUE(std::filesystem::is_directory(library_directory())) << library_directory();
  EXPECT_EQ(library_directory(), std::filesystem::read_symlink("/proc/self/exe").parent_path());
}

TEST(ListFolder, SortsBytewiseAndTakesMatchingNamesOnly) {
  test::TemporaryFolder folder;
  for (const char* name : {"libdsakit_b.so", "libdsakit_B.so", "libdsakit_a.so", "libother.so",
                           "libdsakit_.so", "libdsakit_c.so.1", "xlibdsakit_d.so"}) {
    test::write_file(folder / name, "x");
  }
  const FolderListing listing = list_folder(folder.path().string(), "libdsakit_", ".so");
  EXPECT_EQ(listing.names,
            (std::vector<std::string>{"libdsakit_B.so", "libdsakit_a.so", "libdsakit_b.so"}));
  EXPECT_TRUE(listing.error.empty());
}

TEST(ListFolder, SaysWhyItCannot) {
  test::TemporaryFolder folder;
  const FolderListing missing = list_folder(folder / "none", "", "");
  EXPECT_TRUE(missing.missing);
  EXPECT_FALSE(missing.error.empty());
  test::write_file(folder / "file", "x");
  const FolderListing file = list_folder(folder / "file", "", "");
  EXPECT_FALSE(file.missing);
  EXPECT_FALSE(file.error.empty());
}

TEST(Glob, MatchesStarsAndQuestionMarksOverTheWholeText) {
  EXPECT_TRUE(glob_match("flashmla_*", "flashmla_kv"));
  EXPECT_TRUE(glob_match("*", ""));
  EXPECT_TRUE(glob_match("*mla*", "flashmla_kv"));
  EXPECT_TRUE(glob_match("a?c", "abc"));
  EXPECT_TRUE(glob_match("a*b*c", "aXbYbZc"));
  EXPECT_FALSE(glob_match("flashmla", "flashmla_kv"));
  EXPECT_FALSE(glob_match("a?c", "ac"));
  EXPECT_FALSE(glob_match("", "a"));
  EXPECT_FALSE(glob_match("a*b", "abc"));
}

TEST(Glob, HostilePatternsStayLinear) {
  std::string pattern;
  for (int i = 0; i < 200; ++i) pattern += "*a";
  EXPECT_FALSE(glob_match(pattern + "b", std::string(4000, 'a')));
}

}  // namespace
}  // namespace dsakit
