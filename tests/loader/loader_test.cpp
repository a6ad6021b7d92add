#include "loader/loader.hpp"

#include <filesystem>
#include <thread>

#include <gtest/gtest.h>

#include "diag/render.hpp"

namespace dsakit {
namespace {

std::shared_ptr<const Catalog> variants() {
  return Catalog::open_plugins({{VARIANT_DIR, "test", false, {}}});
}

tl::expected<const dsakit_plugin*, Diagnostic> load(const Catalog& catalog,
                                                    const std::string& variant) {
  const CatalogEntry* entry = catalog.find("variant_" + variant);
  EXPECT_NE(entry, nullptr) << variant;
  return load_plugin(*entry);
}

struct Refusal {
  std::string variant;
  Code code;
  std::string says;
};

class LoaderRefuses : public testing::TestWithParam<Refusal> {};

TEST_P(LoaderRefuses, WithItsCodeAndReason) {
  const auto catalog = variants();
  const auto loaded = load(*catalog, GetParam().variant);
  ASSERT_FALSE(loaded) << GetParam().variant;
  EXPECT_EQ(code_name(loaded.error().code), code_name(GetParam().code));
  const std::string text = render_text(loaded.error());
  EXPECT_NE(text.find(GetParam().says), std::string::npos) << text;
  EXPECT_NE(text.find("libdsakit_variant_" + GetParam().variant), std::string::npos) << text;
  EXPECT_TRUE(load(*catalog, "correct")) << "the others keep working";
}

INSTANTIATE_TEST_SUITE_P(Variants, LoaderRefuses,
                         testing::Values(Refusal{"older_table", Code::E0705, "its size is"},
                                         Refusal{"size_zero", Code::E0705, "its size is 0"},
                                         Refusal{"other_abi", Code::E0705, "ABI 2"},
                                         Refusal{"null_run", Code::E0705, "null"},
                                         Refusal{"other_id", Code::E0706, "somebody_else"},
                                         Refusal{"other_version", Code::E0706, "versions"},
                                         Refusal{"other_manifest", Code::E0706, "another manifest"},
                                         Refusal{"nonsense_size", Code::E0706, "another manifest"},
                                         Refusal{"throws", Code::E0704, "threw"},
                                         Refusal{"refuses", Code::E0704, "left-handed GPU"},
                                         Refusal{"refuses_silently", Code::E0704, "no reason"},
                                         Refusal{"future_abi", Code::E0703, "7 to 7"}),
                         [](const auto& param_info) { return param_info.param.variant; });

TEST(Loader, LoadsOnceAndGivesTheSameTable) {
  const auto catalog = variants();
  const auto first = load(*catalog, "correct");
  ASSERT_TRUE(first) << render_text(first.error());
  EXPECT_STREQ((*first)->id, "variant_correct");
  const auto again = variants();
  EXPECT_EQ(*first, *load(*again, "correct"));
}

TEST(Loader, AcceptsALaterAndLongerTable) {
  const auto loaded = load(*variants(), "newer_table");
  ASSERT_TRUE(loaded) << render_text(loaded.error());
  EXPECT_GT((*loaded)->size, sizeof(dsakit_plugin));
}

TEST(Loader, EightThreadsLoadTheSamePlugins) {
  const auto catalog = variants();
  std::vector<const dsakit_plugin*> tables(8);
  {
    std::vector<std::jthread> threads;
    for (auto& table : tables) {
      threads.emplace_back([&catalog, &table] {
        table = load_plugin(*catalog->find("variant_correct")).value_or(nullptr);
        EXPECT_FALSE(load_plugin(*catalog->find("variant_null_run")));
      });
    }
  }
  for (const auto* table : tables) {
    EXPECT_NE(table, nullptr);
    EXPECT_EQ(table, tables.front());
  }
}

TEST(Loader, RefusesAFileThatChangedAfterItWasRead) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(testing::TempDir()) / "dsakit_loader_changed";
  fs::remove_all(folder);
  fs::create_directories(folder);
  const fs::path file = folder / "libdsakit_variant_correct.so";
  const fs::path source = fs::path(VARIANT_DIR) / "libdsakit_variant_correct.so";
  fs::copy_file(source, file);
  const auto catalog = Catalog::open_plugins({{folder.string(), "test", false, {}}});
  ASSERT_NE(catalog->find("variant_correct"), nullptr);
  fs::copy_file(source, folder / "other");
  fs::rename(folder / "other", file);
  const auto loaded = load_plugin(*catalog->find("variant_correct"));
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, Code::E0702);
  fs::remove(file);
  EXPECT_EQ(load_plugin(*catalog->find("variant_correct")).error().code, Code::E0702);
}

TEST(Loader, RefusesAFileThatTheLinkerRefuses) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(testing::TempDir()) / "dsakit_loader_broken";
  fs::remove_all(folder);
  fs::create_directories(folder);
  const fs::path file = folder / "libdsakit_variant_correct.so";
  fs::copy_file(fs::path(VARIANT_DIR) / "libdsakit_variant_correct.so", file);
  // The entry's name is destroyed in the string table; the manifest stays whole.
  std::string bytes;
  {
    std::FILE* in = std::fopen(file.c_str(), "rb");
    ASSERT_NE(in, nullptr);
    for (int c = std::fgetc(in); c != EOF; c = std::fgetc(in)) bytes += static_cast<char>(c);
    std::fclose(in);
  }
  const std::string name = DSAKIT_PLUGIN_ENTRY_NAME;
  for (std::size_t at = bytes.find(name); at != std::string::npos; at = bytes.find(name, at + 1))
    bytes[at] = 'X';
  std::FILE* out = std::fopen(file.c_str(), "wb");
  ASSERT_NE(out, nullptr);
  std::fwrite(bytes.data(), 1, bytes.size(), out);
  std::fclose(out);
  const auto catalog = Catalog::open_plugins({{folder.string(), "test", false, {}}});
  ASSERT_NE(catalog->find("variant_correct"), nullptr);
  const auto loaded = load_plugin(*catalog->find("variant_correct"));
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, Code::E0701);
}

TEST(Loader, RefusesADescriptionWithoutCode) {
  const auto catalog = Catalog::from_texts(
      {{"x.json", R"({"schema":1,"id":"x","version":[1,0,0],"abi":{"min":1,"max":1},
         "rows":[{"name":"r","rank":1,"where":{"phase":"*"},"provides":{"kv_layout":"bf16_1152"}}]})"}},
      "paper");
  ASSERT_NE(catalog->find("x"), nullptr);
  const auto loaded = load_plugin(*catalog->find("x"));
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, Code::E0707);
}

}  // namespace
}  // namespace dsakit
