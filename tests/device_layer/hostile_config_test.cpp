// Malformed configurations: a coded error with file, place, what was found and what is allowed; no
// crash.
#include <filesystem>
#include <fstream>

#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "device/model_config.hpp"
#include "diag/render.hpp"

namespace dsakit {
namespace {

std::string field(const Diagnostic& d, const std::string& name) {
  for (const Field& f : d.fields) {
    if (f.name == name) return std::get<std::string>(f.value);
  }
  return "";
}

struct Case {
  const char* json;
  const char* path;
  const char* found;
  const char* allowed;
};

// The keys of a DSA model, with more of them appended.
std::string model(const std::string& more) {
  return R"({"architectures":["DeepseekV32ForCausalLM"])" + more + "}";
}

class WrongValue : public testing::TestWithParam<Case> {};

TEST_P(WrongValue, IsNamedWithItsPlace) {
  const Case& c = GetParam();
  const auto facts = parse_model_config(c.json, "bad.json");
  ASSERT_FALSE(facts);
  EXPECT_EQ(facts.error().code, Code::E0502);
  EXPECT_EQ(field(facts.error(), "file"), "bad.json");
  EXPECT_EQ(field(facts.error(), "path"), c.path);
  EXPECT_EQ(field(facts.error(), "found"), c.found);
  EXPECT_EQ(field(facts.error(), "allowed"), c.allowed);
}

#define V32 R"("architectures":["DeepseekV32ForCausalLM"])"
#define V32_TOPK V32 R"(,"index_topk":2048)"

INSTANTIATE_TEST_SUITE_P(
    Values, WrongValue,
    testing::Values(
        Case{"[]", "the top level", "[]", "an object"},
        Case{"7", "the top level", "7", "an object"},
        Case{R"("config")", "the top level", "\"config\"", "an object"},
        Case{"{}", "architectures", "nothing", "the name of an architecture, or --model-family"},
        Case{R"({"architectures":null})", "architectures", "nothing",
             "the name of an architecture, or --model-family"},
        Case{R"({"architectures":[]})", "architectures", "[]",
             "the name of an architecture, or --model-family"},
        Case{R"({"architectures":"DeepseekV32ForCausalLM"})", "architectures",
             "\"DeepseekV32ForCausalLM\"", "an array"},
        Case{R"({"architectures":[32]})", "architectures[0]", "32", "a string"},
        Case{R"({"architectures":["DeepseekV32ForCausalLM",null]})", "architectures[1]", "null",
             "a string"},
        Case{R"({"text_config":[1]})", "text_config", "[1]", "an object"},
        Case{R"({"text_config":"x"})", "text_config", "\"x\"", "an object"},
        Case{"{" V32 R"(,"index_topk":"2048"})", "index_topk", "\"2048\"",
             "an integer from 1 to 16777216"},
        Case{"{" V32 R"(,"index_topk":[2048]})", "index_topk", "[2048]",
             "an integer from 1 to 16777216"},
        Case{"{" V32 R"(,"index_topk":-1})", "index_topk", "-1", "an integer from 1 to 16777216"},
        Case{"{" V32 R"(,"index_topk":0})", "index_topk", "0", "an integer from 1 to 16777216"},
        Case{"{" V32 R"(,"index_topk":true})", "index_topk", "true",
             "an integer from 1 to 16777216"},
        Case{"{" V32 R"(,"index_topk":2048.0})", "index_topk", "2048.0",
             "an integer from 1 to 16777216"},
        Case{"{" V32 R"(,"index_topk":1e300})", "index_topk", "1e+300",
             "an integer from 1 to 16777216"},
        Case{"{" V32 R"(,"index_topk":18446744073709551615})", "index_topk", "18446744073709551615",
             "an integer from 1 to 16777216"},
        Case{"{" V32 R"(,"index_topk":4294969344})", "index_topk", "4294969344",
             "an integer from 1 to 16777216"},
        Case{"{" V32 R"(,"index_topk":-9223372036854775808})", "index_topk", "-9223372036854775808",
             "an integer from 1 to 16777216"},
        Case{"{" V32 R"(,"text_config":{"index_topk":{}}})", "text_config.index_topk", "{}",
             "an integer from 1 to 16777216"},
        Case{"{" V32_TOPK R"(,"num_attention_heads":0})", "num_attention_heads", "0",
             "an integer from 1 to 65536"},
        Case{"{" V32_TOPK R"(,"num_attention_heads":[128]})", "num_attention_heads", "[128]",
             "an integer from 1 to 65536"},
        Case{"{" V32_TOPK R"(,"num_hidden_layers":1000000})", "num_hidden_layers", "1000000",
             "an integer from 1 to 4096"},
        Case{"{" V32_TOPK R"(,"kv_lora_rank":-512})", "kv_lora_rank", "-512",
             "an integer from 1 to 65536"},
        Case{"{" V32_TOPK R"(,"qk_rope_head_dim":-64})", "qk_rope_head_dim", "-64",
             "an integer from 0 to 65536"},
        Case{"{" V32_TOPK R"(,"index_kpool":0})", "index_kpool", "0", "an integer from 1 to 4096"},
        Case{"{" V32_TOPK R"(,"learnable_sink":"yes"})", "learnable_sink", "\"yes\"",
             "true or false"},
        Case{"{" V32_TOPK R"(,"num_hidden_layers":2,"indexer_types":{}})", "indexer_types", "{}",
             "an array"},
        Case{"{" V32_TOPK R"(,"num_hidden_layers":2,"indexer_types":["full",3]})",
             "indexer_types[1]", "3", "a string"},
        Case{"{" V32_TOPK R"(,"num_hidden_layers":2,"index_topk_freq":0})", "index_topk_freq", "0",
             "an integer from 1 to 1048576"},
        Case{R"({"architectures":["DeepseekV4ForCausalLM"],"index_topk":512,"num_hidden_layers":1,
                 "compress_ratios":[4,"4"]})",
             "compress_ratios[1]", "\"4\"", "an integer from 0 to 1048576"},
        Case{R"({"architectures":["DeepseekV41ForCausalLM"],"text_config":{"index_topk":512,
                 "index_source_layer_ids":[-1]}})",
             "text_config.index_source_layer_ids[0]", "-1", "an integer from 0 to 1048576"},
        Case{R"({"architectures":["LlamaForCausalLM"],"num_attention_heads":1.5})",
             "num_attention_heads", "1.5", "an integer from 1 to 65536"}));

TEST(HostileConfig, BrokenJsonIsOneCodedError) {
  const std::string deep_arrays = model(",\"x\":" + std::string(100000, '['));
  const std::string deep_objects = [] {
    std::string text;
    for (int i = 0; i < 5000; ++i) text += R"({"text_config":)";
    return text;
  }();
  for (const std::string& json :
       {std::string(), std::string("{"), std::string("nul"), std::string("{}{}"),
        std::string("\0", 1), std::string("{\"a\":\"\xff\"}"), std::string("{\"a\":NaN}"),
        std::string("{\"a\":1e999}"), model(",\"a\":1,\"a\":2"), model(",\"architectures\":[]"),
        deep_arrays, deep_objects, std::string(9 << 20, ' '),
        model(",\"x\":\"" + std::string(100000, 'a') + "\""), std::string("\xEF\xBB\xBF{}")}) {
    const auto facts = parse_model_config(json, "bad.json");
    ASSERT_FALSE(facts) << json.substr(0, 60);
    EXPECT_EQ(facts.error().code, Code::E0502) << json.substr(0, 60);
    EXPECT_EQ(field(facts.error(), "path"), "the top level");
    EXPECT_FALSE(field(facts.error(), "found").empty());
    EXPECT_LT(render_text(facts.error()).size(), 1000U);
  }
}

TEST(HostileConfig, LongListsAreRefused) {
  std::string list = "[4";
  for (int i = 0; i < 5000; ++i) list += ",4";
  const auto facts = parse_model_config(
      R"({"architectures":["DeepseekV4ForCausalLM"],"index_topk":512,"num_hidden_layers":43,"compress_ratios":)" +
          list + "]}",
      "bad.json");
  ASSERT_FALSE(facts);
  EXPECT_EQ(
      headline(facts.error()),
      "`bad.json` is not a usable model configuration at compress_ratios: found 5001 entries, "
      "allowed at most 4096");
}

TEST(HostileConfig, LongValuesAreCutInMessages) {
  const auto facts =
      parse_model_config(model(",\"index_topk\":\"" + std::string(5000, 'x') + "\""), "bad.json");
  ASSERT_FALSE(facts);
  EXPECT_LE(field(facts.error(), "found").size(), 60U);
}

TEST(HostileConfig, ValuesThatAreNotReadMayBeAnything) {
  EXPECT_TRUE(parse_model_config(
      model(
          R"(,"index_topk":2048,"rope_theta":1e-5,"quantization_config":[[{"a":[null,-0.5]}]],"x":"\u0000")"),
      "odd.json"));
}

class Files : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "dsakit-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path(const char* name) const { return (folder_ / name).string(); }

  static std::string reason(const std::string& file) {
    const auto facts = read_model_config(file);
    if (facts) return "it was read";
    EXPECT_EQ(facts.error().code, Code::E0501);
    EXPECT_EQ(field(facts.error(), "file"), file);
    return field(facts.error(), "reason");
  }

  std::filesystem::path folder_;
};

TEST_F(Files, WhatCannotBeReadSaysWhy) {
  EXPECT_EQ(reason(path("absent.json")), "No such file or directory");
  EXPECT_EQ(reason(folder_.string()), "it is a directory");
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(reason(path("pipe")), "it is not a regular file");
  std::ofstream(path("large.json")) << std::string((8 << 20) + 1, ' ');
  EXPECT_EQ(reason(path("large.json")), "it is larger than 8 MiB");
}

TEST_F(Files, ADirectoryPointsAtTheConfigurationInIt) {
  std::ofstream(path("config.json")) << "{}";
  const auto facts = read_model_config(folder_.string());
  ASSERT_FALSE(facts);
  ASSERT_EQ(facts.error().notes.size(), 1U);
  EXPECT_EQ(facts.error().notes[0], "it holds `" + path("config.json") + "`");
}

TEST_F(Files, EveryCutOfAFileIsAnError) {
  std::ifstream in(std::filesystem::path(DSAKIT_TESTS_DIR) / "golden/models/glm-5.3-flash.json");
  const std::string whole(std::istreambuf_iterator<char>(in), {});
  ASSERT_TRUE(parse_model_config(whole, "whole.json"));
  const std::size_t end = whole.find_last_of('}');
  for (std::size_t cut = 0; cut <= end; cut += 7) {
    const auto facts = parse_model_config(whole.substr(0, cut), "cut.json");
    ASSERT_FALSE(facts) << cut;
    EXPECT_EQ(facts.error().code, Code::E0502);
  }
}

}  // namespace
}  // namespace dsakit
