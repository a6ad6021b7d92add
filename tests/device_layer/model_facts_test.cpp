// Every line of golden/model_facts.csv against the published configurations beside it.
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "device/family.hpp"
#include "device/model_config.hpp"
#include "diag/render.hpp"

namespace dsakit {
namespace {

const std::filesystem::path kGolden = std::filesystem::path(DSAKIT_TESTS_DIR) / "golden";

using Line = std::map<std::string, std::string>;

std::vector<std::string> cells(const std::string& line) {
  std::vector<std::string> out;
  std::stringstream in(line);
  for (std::string cell; std::getline(in, cell, ',');) out.push_back(cell);
  if (line.ends_with(',')) out.emplace_back();
  return out;
}

std::vector<Line> golden_lines() {
  std::ifstream in(kGolden / "model_facts.csv");
  std::string text;
  std::getline(in, text);
  const std::vector<std::string> header = cells(text);
  std::vector<Line> lines;
  while (std::getline(in, text)) {
    const std::vector<std::string> row = cells(text);
    EXPECT_EQ(row.size(), header.size()) << text;
    Line line;
    for (std::size_t i = 0; i < std::min(row.size(), header.size()); ++i) line[header[i]] = row[i];
    lines.push_back(line);
  }
  return lines;
}

std::string text_of(std::optional<int> value) {
  return value ? std::to_string(*value) : "";
}

Line line_of(const ModelFacts& facts, const std::string& file) {
  const bool dsa = facts.is_dsa;
  return {{"file", file},
          {"is_dsa", dsa ? "yes" : "no"},
          {"reason", facts.why},
          {"model_family", facts.family.empty() ? "none" : facts.family},
          {"heads", text_of(facts.heads)},
          {"d_qk", text_of(facts.d_qk)},
          {"d_v", text_of(facts.d_v)},
          {"rope", text_of(facts.rope)},
          {"index_topk", text_of(facts.index_topk)},
          {"index_kpool", dsa ? std::to_string(facts.index_kpool) : ""},
          {"index_row_width", text_of(facts.index_row_width)},
          {"sinks", dsa ? (facts.sinks ? "yes" : "no") : ""},
          {"layers", text_of(facts.layers)},
          {"indexer_layers", text_of(facts.indexer_layers)}};
}

TEST(ModelFacts, EveryGoldenLineHolds) {
  const std::vector<Line> lines = golden_lines();
  ASSERT_GE(lines.size(), 26U);
  for (const Line& line : lines) {
    const std::string& file = line.at("file");
    const auto facts = read_model_config((kGolden / "models" / file).string());
    ASSERT_TRUE(facts) << render_text(facts.error());
    EXPECT_EQ(line_of(*facts, file), line) << file;
  }
}

TEST(ModelFacts, EveryConfigurationHasALine) {
  std::set<std::string> named, present;
  for (const Line& line : golden_lines()) named.insert(line.at("file"));
  for (const auto& entry : std::filesystem::directory_iterator(kGolden / "models")) {
    present.insert(entry.path().filename().string());
  }
  EXPECT_EQ(named, present);
}

ModelFacts parsed(const std::string& json, const std::optional<std::string>& family = {}) {
  const auto facts = parse_model_config(json, "config.json", family);
  if (!facts) ADD_FAILURE() << render_text(facts.error());
  return facts.value_or(ModelFacts{});
}

TEST(ModelFacts, SharingScheduleFromFrequencyAndOffset) {
  const std::string head =
      R"({"architectures":["GlmMoeDsaForCausalLM"],"index_topk":2048,"num_hidden_layers":78)";
  // GLM-5.2's keys give the count of its own list of indexer_types.
  EXPECT_EQ(parsed(head + R"(,"index_topk_freq":4,"index_skip_topk_offset":3})").indexer_layers,
            21);
  EXPECT_EQ(parsed(head + R"(,"index_topk_freq":4})").indexer_layers, 21);
  EXPECT_EQ(parsed(head + R"(,"index_topk_freq":1})").indexer_layers, 78);
  EXPECT_EQ(parsed(head + R"(,"index_topk_pattern":"FSSS"})").indexer_layers, std::nullopt);
}

TEST(ModelFacts, ShortSchedulesAreNotGuessed) {
  const ModelFacts types = parsed(
      R"({"architectures":["HYV4ForCausalLM"],"index_topk":64,"num_hidden_layers":3,"indexer_types":["full"]})");
  EXPECT_EQ(types.indexer_layers, std::nullopt);
  EXPECT_EQ(types.sharing,
            "indexer_layers not derivable: indexer_types has 1 entries for 3 layers");
  const ModelFacts ratios = parsed(
      R"({"architectures":["DeepseekV4ForCausalLM"],"index_topk":64,"num_hidden_layers":3,"compress_ratios":[4]})");
  EXPECT_EQ(ratios.indexer_layers, std::nullopt);
  const ModelFacts nothing =
      parsed(R"({"architectures":["DeepseekV41ForCausalLM"],"index_topk":64})");
  EXPECT_EQ(nothing.sharing, "indexer_layers not derivable: index_source_layer_ids is missing");
}

TEST(ModelFacts, RepeatedSourceLayersCountOnce) {
  const ModelFacts facts = parsed(
      R"({"architectures":["DeepseekV41ForCausalLM"],"index_topk":64,"index_source_layer_ids":[8,2,8]})");
  EXPECT_EQ(facts.indexer_layers, 2);
}

TEST(ModelFacts, NextTokenLayersAreReported) {
  const auto nextn = [](const std::string& file) {
    return read_model_config((kGolden / "models" / file).string())->nextn_layers;
  };
  EXPECT_EQ(nextn("deepseek-v3.2.json"), 1);
  EXPECT_EQ(nextn("longcat-2.0.json"), 3);
  EXPECT_EQ(nextn("deepseek-v4.1-flash.json"), 3);
  EXPECT_EQ(nextn("kimi-k2.5.json"), 0);
  EXPECT_EQ(nextn("llama-3.1-8b.json"), std::nullopt);
}

TEST(ModelFacts, ZeroIsAValueAndNullIsNone) {
  const std::string head =
      R"({"architectures":["Glm5NextForConditionalGeneration"],"text_config":{"index_topk":2048,"kv_lora_rank":512)";
  const ModelFacts zero = parsed(head + R"(,"qk_rope_head_dim":0,"index_kpool":null}})");
  EXPECT_EQ(zero.rope, 0);
  EXPECT_EQ(zero.d_qk, 512);
  EXPECT_EQ(zero.index_kpool, 1);
  const ModelFacts absent = parsed(head + R"(,"qk_rope_head_dim":null}})");
  EXPECT_EQ(absent.rope, std::nullopt);
  EXPECT_EQ(absent.d_qk, std::nullopt) << "a width that is not stated is not made up";
  EXPECT_EQ(absent.d_v, 512);
}

TEST(ModelFacts, TextConfigWinsAndTheTopLevelFillsIn) {
  const ModelFacts facts = parsed(
      R"({"architectures":["DeepseekV32ForCausalLM"],"num_attention_heads":16,"index_topk":128,
          "text_config":{"architectures":["LlamaForCausalLM"],"index_topk":2048,"num_attention_heads":null}})");
  EXPECT_EQ(facts.architecture, "DeepseekV32ForCausalLM");
  EXPECT_EQ(facts.index_topk, 2048);
  EXPECT_EQ(facts.heads, 16);
  const ModelFacts inner =
      parsed(R"({"text_config":{"architectures":["DeepseekV32ForCausalLM"],"index_topk":2048}})");
  EXPECT_EQ(inner.architecture, "DeepseekV32ForCausalLM");
}

TEST(ModelFacts, TheArchitectureAloneIsNotEnough) {
  for (const Architecture& known : model_architectures()) {
    const ModelFacts facts = parsed(R"({"architectures":[")" + std::string(known.name) + R"("]})");
    EXPECT_FALSE(facts.is_dsa) << known.name;
    EXPECT_FALSE(facts.why.empty()) << known.name;
    const ModelFacts sparse =
        parsed(R"({"architectures":[")" + std::string(known.name) + R"("],"index_topk":2048})");
    EXPECT_EQ(sparse.is_dsa, !known.family.empty()) << known.name;
    EXPECT_EQ(sparse.family, known.family);
  }
}

TEST(ModelFacts, AFamilyNamesTheRulesOfAnUnknownArchitecture) {
  const std::string json = R"({"architectures":["MyOwnForCausalLM"],"index_topk":512})";
  EXPECT_EQ(parse_model_config(json, "config.json").error().code, Code::E0503);
  const ModelFacts facts = parsed(json, "deepseek_v4");
  EXPECT_TRUE(facts.is_dsa);
  EXPECT_EQ(facts.family, "deepseek_v4");
  EXPECT_EQ(facts.d_qk, 512);
  EXPECT_TRUE(facts.sinks);
  EXPECT_TRUE(parsed(R"({"index_topk":512})", "deepseek_v32").is_dsa) << "no architecture needed";
  EXPECT_FALSE(parsed(R"({"architectures":["MyOwnForCausalLM"]})", "deepseek_v32").is_dsa);
}

TEST(ModelFacts, UnknownNamesSayTheNearest) {
  const auto architecture = parse_model_config(
      R"({"architectures":["DeepseekV32ForCasualLM"],"index_topk":2048})", "config.json");
  ASSERT_FALSE(architecture);
  EXPECT_EQ(
      render_text(architecture.error()),
      "error[E0503]: `DeepseekV32ForCasualLM` is not a known model architecture\n"
      "  --> architectures[0] = DeepseekV32ForCasualLM  (config.json)\n"
      "   = note: the nearest known architecture is `DeepseekV32ForCausalLM`\n"
      "   = note: it has an index_topk, so it may use sparse attention: --model-family says how "
      "(deepseek_v32, glm_moe_dsa, glm5_next, hyv4, longcat, dots3, deepseek_v4, deepseek_v41)\n");
  const auto family =
      parse_model_config(R"({"architectures":["Mine"]})", "config.json", "deepseek-v32");
  ASSERT_FALSE(family);
  EXPECT_EQ(
      render_text(family.error()),
      "error[E0505]: `deepseek-v32` is not a known model family\n"
      "   = note: the nearest known family is `deepseek_v32`\n"
      "   = note: known families: deepseek_v32, glm_moe_dsa, glm5_next, hyv4, longcat, dots3, "
      "deepseek_v4, deepseek_v41\n");
}

}  // namespace
}  // namespace dsakit
