// A model and what the user adds, as the request that the solver sees.
#include <filesystem>

#include <gtest/gtest.h>

#include "device/model_config.hpp"
#include "diag/render.hpp"

namespace dsakit {
namespace {

ModelFacts model(const std::string& name) {
  const auto file = std::filesystem::path(DSAKIT_TESTS_DIR) / "golden/models" / (name + ".json");
  auto facts = read_model_config(file.string());
  if (!facts) throw std::runtime_error(render_text(facts.error()));
  facts->file = name + ".json";
  return *facts;
}

Request request(const std::string& name, const RequestOptions& options = {}) {
  auto made = make_request(model(name), options);
  if (!made) throw std::runtime_error(render_text(made.error()));
  return *made;
}

Diagnostic refusal(const std::string& name, const RequestOptions& options) {
  auto made = make_request(model(name), options);
  if (made) throw std::runtime_error("accepted");
  return made.error();
}

std::string values_text(const Request& r) {
  std::string out;
  for (const auto& [dim, value] : r.values) out += dim + "=" + value_json(value) + " ";
  return out;
}

std::string origin(const Request& r, const std::string& dim) {
  const auto it = r.origins.find(dim);
  return it == r.origins.end() ? "" : it->second.text + " (" + it->second.source + ")";
}

TEST(RequestFromModel, ADsaModelOnADevice) {
  RequestOptions options;
  options.device = "sm_120";
  options.kv_dtype = "fp8_e4m3";
  options.tp = 8;
  options.page_size = 64;
  options.hisparse = true;
  EXPECT_EQ(
      values_text(request("glm-5.2", options)),
      R"(arch="sm_120" d_qk=576 d_v=512 features=["hisparse"] heads=8 index_kpool=1 )"
      R"(kv_dtype="fp8_e4m3" model_family="glm_moe_dsa" page_size=64 platform="cuda" topk=2048 )");
}

TEST(RequestFromModel, WhatIsNotKnownIsAbsent) {
  const Request r = request("deepseek-v3.2");
  EXPECT_EQ(values_text(r), R"(d_qk=576 d_v=512 heads=128 index_kpool=1 kv_dtype="auto" )"
                            R"(model_family="deepseek_v32" topk=2048 )");
  EXPECT_EQ(r.subject, "DeepseekV32ForCausalLM");
  EXPECT_FALSE(r.mtp);
}

TEST(RequestFromModel, PooledIndexerAndZeroRope) {
  RequestOptions options;
  options.device = "gfx950";
  EXPECT_EQ(values_text(request("glm-5.3-flash", options)),
            R"(arch="gfx950" d_qk=512 d_v=512 heads=64 index_kpool=4 kv_dtype="auto" )"
            R"(model_family="glm5_next" platform="hip" topk=2051 )");
}

TEST(RequestFromModel, SinksAreAFeature) {
  RequestOptions options;
  options.hisparse = true;
  options.features = {"topk_length", "hisparse"};
  const std::string hyv4 = values_text(request("hy4-preview", options));
  EXPECT_NE(hyv4.find(R"(features=["attn_sink","hisparse","topk_length"])"), std::string::npos)
      << hyv4;
  const std::string v4 = values_text(request("deepseek-v4-flash"));
  EXPECT_NE(v4.find(R"(features=["attn_sink"])"), std::string::npos) << v4;
}

TEST(RequestFromModel, EveryValueKeepsItsOrigin) {
  RequestOptions options;
  options.device = "sm_90";
  options.tp = 2;
  options.origins["arch"] = {"--device sm_90", "command line"};
  options.origins["kv_dtype"] = {"--kv-cache-dtype bfloat16", "command line"};
  options.kv_dtype = "bfloat16";
  const Request r = request("glm-5.3-flash", options);
  EXPECT_EQ(r.values.at("kv_dtype"), Value(std::string("bf16"))) << "the alias is resolved";
  EXPECT_EQ(origin(r, "kv_dtype"), "--kv-cache-dtype bfloat16 (command line)");
  EXPECT_EQ(origin(r, "arch"), "--device sm_90 (command line)");
  EXPECT_EQ(origin(r, "platform"), "--device sm_90 (command line)");
  EXPECT_EQ(origin(r, "heads"), "num_attention_heads = 64, divided by --tp 2 (glm-5.3-flash.json)");
  EXPECT_EQ(origin(r, "topk"), "index_topk = 2048, index_kpool = 4 (glm-5.3-flash.json)");
  EXPECT_EQ(origin(r, "d_qk"), "kv_lora_rank = 512, qk_rope_head_dim = 0 (glm-5.3-flash.json)");
  EXPECT_EQ(origin(r, "model_family"),
            "architectures[0] = Glm5NextForConditionalGeneration (glm-5.3-flash.json)");
  EXPECT_EQ(origin(request("deepseek-v4-pro"), "d_qk"),
            "architectures[0] = DeepseekV4ForCausalLM (deepseek-v4-pro.json)");
}

TEST(RequestFromModel, PhasesAndTypedBackends) {
  RequestOptions options;
  options.mtp = true;
  options.choice[index(Phase::decode)] =
      Typed{"flashmla_kv", {"--decode-backend flashmla_kv", "command line"}};
  const Request r = request("glm-5.2", options);
  EXPECT_TRUE(r.mtp);
  EXPECT_EQ(r.choice, options.choice);
}

TEST(RequestFromModel, VersionsOfADetectedDevice) {
  RequestOptions options;
  options.runtime_cuda = "13.0";
  options.driver = "580.65.06";
  const Request r = request("glm-5.2", options);
  EXPECT_EQ(r.values.at("runtime_cuda"), Value(*parse_version("13")));
  EXPECT_EQ(r.values.at("driver"), Value(*parse_version("580.65.6")));
  EXPECT_EQ(r.values.count("runtime_hip"), 0U);
  options.driver = "five";
  EXPECT_EQ(refusal("glm-5.2", options).code, Code::E0402);
}

TEST(RequestFromModel, SetDimensionsOverride) {
  RequestOptions options;
  options.extra = {{"lse", std::string("log2")}, {"topk", 1024}};
  options.origins["lse"] = {"--set lse=log2", "command line"};
  const Request r = request("glm-5.2", options);
  EXPECT_EQ(r.values.at("lse"), Value(std::string("log2")));
  EXPECT_EQ(r.values.at("topk"), Value(1024));
  EXPECT_EQ(origin(r, "lse"), "--set lse=log2 (command line)");
}

TEST(RequestFromModel, HiSparseWithoutSparseAttentionIsRefusedBeforeAllElse) {
  RequestOptions options;
  options.hisparse = true;
  options.device = "sm_999";
  options.tp = 7;
  options.kv_dtype = "no such";
  options.origins["hisparse"] = {"--hisparse", "command line"};
  EXPECT_EQ(
      render_text(refusal("deepseek-v3", options)),
      "error[E0303]: HiSparse works only with sparse-attention models, and DeepseekV3ForCausalLM "
      "is not one\n"
      "  --> --hisparse                                (command line)\n"
      "  --> architectures[0] = DeepseekV3ForCausalLM  (deepseek-v3.json)\n"
      "   = note: DeepseekV3ForCausalLM: no index_topk; the architecture alone is not enough\n"
      "   = note: families that are sparse where config.json has an index_topk: deepseek_v32, "
      "glm_moe_dsa, glm5_next, hyv4, longcat, dots3, deepseek_v4, deepseek_v41\n");
  options.hisparse = false;
  options.features = {"hisparse"};
  EXPECT_EQ(refusal("llama-3.1-8b", options).code, Code::E0303);
  options.features.clear();
  EXPECT_EQ(refusal("llama-3.1-8b", options).code, Code::E0308);
}

TEST(RequestFromModel, TensorParallelismMustDivideTheHeads) {
  RequestOptions options;
  options.tp = 5;
  options.origins["tp"] = {"--tp 5", "command line"};
  EXPECT_EQ(render_text(refusal("glm-5.2", options)),
            "error[E0504]: --tp 5 does not divide the 64 heads of GlmMoeDsaForCausalLM\n"
            "  --> --tp 5                    (command line)\n"
            "  --> num_attention_heads = 64  (glm-5.2.json)\n");
  for (const int tp : {0, -1, 128, std::numeric_limits<int>::min()}) {
    options.tp = tp;
    EXPECT_EQ(refusal("glm-5.2", options).code, Code::E0504) << tp;
  }
}

TEST(RequestFromModel, WrongOptionsAreCodedErrors) {
  RequestOptions options;
  options.device = "sm_12O";
  options.origins["device"] = {"--device sm_12O", "command line"};
  const Diagnostic device = refusal("glm-5.2", options);
  EXPECT_EQ(device.code, Code::E0403);
  EXPECT_EQ(headline(device), "`sm_12O` is not a known device");
  ASSERT_EQ(device.origins.size(), 1U);
  options.device.clear();

  options.kv_dtype = "FP8 please";
  EXPECT_EQ(headline(refusal("glm-5.2", options)),
            "`kv_dtype` must be auto or the name of a KV-cache dtype, found FP8 please");
  options.kv_dtype = "auto";
  options.page_size = 0;
  EXPECT_EQ(headline(refusal("glm-5.2", options)),
            "`page_size` must be an integer from 1 to 2147483647, found 0");
  options.page_size.reset();
  options.features = {"cuda graph"};
  EXPECT_EQ(headline(refusal("glm-5.2", options)),
            "`features` must be names of letters a-z, digits and _.+-, found cuda graph");
}

TEST(RequestFromModel, MissingHeadsStayUnknown) {
  const auto facts = parse_model_config(R"({"index_topk":2048})", "c.json", "deepseek_v32");
  ASSERT_TRUE(facts);
  RequestOptions options;
  options.tp = 8;
  const auto r = make_request(*facts, options);
  ASSERT_TRUE(r);
  EXPECT_EQ(values_text(*r),
            R"(index_kpool=1 kv_dtype="auto" model_family="deepseek_v32" topk=2048 )");
  EXPECT_EQ(r->subject, "deepseek_v32");
}

}  // namespace
}  // namespace dsakit
