// The run-time half of the C API, through the C++ wrapper: the cpu plugin gives right numbers, and
// whatever a plugin does wrong becomes a code.
#include <cmath>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "dsakit/dsakit.hpp"
#include "host/run_case.hpp"

namespace dsakit::test {
namespace {

// The truth is computed from rows before they were packed: this is what fp8 costs.
constexpr double kWorst = 4e-2;

TEST(Run, TheCpuPluginMatchesTheReference) {
  for (const char* layout : {"bf16", "fp8_e4m3"}) {
    const api::Catalog catalog = api::Catalog::open("local", {CPU_PLUGIN_DIR});
    const api::Session session = api::Session::open(catalog, run_request("cpu", layout));
    ASSERT_TRUE(session) << layout;
    RunCase small(session, "decode");
    ASSERT_TRUE(small.attention) << small.error.json;
    api::Error error;
    ASSERT_EQ(small.append(&error), DSAKIT_RC_OK) << error.text;
    ASSERT_EQ(small.run(&error), DSAKIT_RC_OK) << error.text;
    EXPECT_LT(small.worst_error(), kWorst) << layout;
  }
}

TEST(Run, DequantReadsBackWhatAppendWrote) {
  const api::Catalog catalog = api::Catalog::open("local", {CPU_PLUGIN_DIR});
  const api::Session session = api::Session::open(catalog, run_request("cpu", "bf16"));
  RunCase small(session, "prefill");
  ASSERT_TRUE(small.attention);
  ASSERT_EQ(small.append(nullptr), DSAKIT_RC_OK);
  const std::vector<std::uint16_t> written = small.rows;
  std::fill(small.rows.begin(), small.rows.end(), std::uint16_t{0});
  ASSERT_EQ(small.dequant(nullptr), DSAKIT_RC_OK);
  EXPECT_EQ(small.rows, written);
}

TEST(Run, TheConfigIsTheRequestSettledByTheRow) {
  const api::Catalog catalog = api::Catalog::open("local", {RUN_VARIANT_DIR});
  const api::Session session = api::Session::open(
      catalog,
      run_request(
          "run_correct", "bf16",
          R"(,"features":["attn_sink"],"lse":"log2","acme.swizzle":"xor8","index_kpool":1)"));
  ASSERT_TRUE(session);
  api::AttentionOptions options;
  options.max_tokens = 5;
  options.sm_count = 3;
  const api::Attention attention = session.create("decode", options);
  ASSERT_TRUE(attention);
  const dsakit_config& config = attention.config();
  EXPECT_STREQ(config.row, "all");
  EXPECT_STREQ(config.phase, "decode");
  EXPECT_STREQ(config.kv_layout, "bf16_1152");
  EXPECT_STREQ(config.kv_scale, "pow2_fp32") << "what the row provides wins";
  EXPECT_STREQ(config.lse, "log2");
  EXPECT_STREQ(config.index_mode, "physical") << "the neutral value";
  EXPECT_EQ(config.heads, kHeads);
  EXPECT_EQ(config.page_size, kPageSize);
  EXPECT_EQ(config.max_tokens, 5);
  EXPECT_EQ(config.sm_count, 3);
  ASSERT_EQ(config.feature_count, 1u);
  EXPECT_STREQ(config.features[0], "attn_sink");
  ASSERT_EQ(config.dim_count, 1u);
  EXPECT_STREQ(config.dims[0].name, "acme.swizzle");
  EXPECT_STREQ(config.dims[0].value, "xor8");
}

TEST(Run, NullsAreRefused) {
  dsakit_session* none = nullptr;
  char* text = nullptr;
  EXPECT_EQ(dsakit_session_open(nullptr, "{}", nullptr, &none, &text), DSAKIT_INVALID);
  dsakit_string_free(text);
  dsakit_session_close(nullptr);
  dsakit_attention* attention = nullptr;
  EXPECT_EQ(dsakit_attention_create(nullptr, "decode", nullptr, &attention, nullptr),
            DSAKIT_INVALID);
  api::Error error;
  EXPECT_EQ(dsakit_attention_run(nullptr, nullptr, &error), DSAKIT_RC_INVALID);
  EXPECT_STREQ(error.text, "the instance is null");
  struct {
    std::uint32_t size = 13;
    std::int32_t code = 0;
    std::uint32_t domain = 0;
    char one = 'x', beyond = 'y';
  } tiny;
  EXPECT_EQ(dsakit_attention_append(nullptr, nullptr, reinterpret_cast<dsakit_error*>(&tiny)),
            DSAKIT_RC_INVALID);
  EXPECT_EQ(tiny.one, '\0');
  EXPECT_EQ(tiny.beyond, 'y');
  EXPECT_EQ(dsakit_attention_workspace(nullptr, 1, nullptr, nullptr), DSAKIT_RC_INVALID);
  EXPECT_EQ(dsakit_attention_config(nullptr), nullptr);
  dsakit_attention_destroy(nullptr);
}

TEST(Run, AManifestOnlyCatalogueHasNothingToLoad) {
  const api::Catalog catalog = api::Catalog::open("sglang");
  api::Result answer;
  const api::Session session = api::Session::open(
      catalog,
      R"({"platform":"cuda","arch":"sm_90","model_family":"glm_moe_dsa","kv_dtype":"bf16"})", "",
      &answer);
  EXPECT_FALSE(session);
  EXPECT_EQ(answer.status, DSAKIT_REJECTED);
  EXPECT_NE(answer.json.find("E0707"), std::string::npos) << answer.json;
}

struct Misdeed {
  const char* variant;
  const char* code;
  const char* says;
};

class Misbehaving : public testing::TestWithParam<Misdeed> {};

TEST_P(Misbehaving, IsRefusedWithItsCodeAndTheOthersWork) {
  const api::Catalog catalog = api::Catalog::open("local", {RUN_VARIANT_DIR});
  const std::string id = std::string("run_") + GetParam().variant;
  const api::Session session = api::Session::open(catalog, run_request(id, "bf16"));
  ASSERT_TRUE(session);
  api::Result error;
  EXPECT_FALSE(session.create("decode", api::AttentionOptions(), &error));
  EXPECT_EQ(error.status, DSAKIT_ENVIRONMENT);
  EXPECT_NE(error.json.find(GetParam().code), std::string::npos) << error.json;
  EXPECT_NE(error.json.find(GetParam().says), std::string::npos) << error.json;
  const api::Session good = api::Session::open(catalog, run_request("run_correct", "bf16"));
  EXPECT_TRUE(good.create("decode", api::AttentionOptions()));
}

INSTANTIATE_TEST_SUITE_P(
    Variants, Misbehaving,
    testing::Values(Misdeed{"no_device", "E0708", "left-handed"},
                    Misdeed{"refuses", "E0709", "not on a Monday"},
                    Misdeed{"no_memory", "E0712", "too little memory"},
                    Misdeed{"create_throws", "E0713", "threw an exception"},
                    Misdeed{"odd_number", "E0713", "means nothing"},
                    Misdeed{"no_instance", "E0713", "without an instance"},
                    Misdeed{"odd_alignment", "E0713", "power of two"},
                    Misdeed{"huge_workspace", "E0713", "larger than any memory"},
                    Misdeed{"zeroes_more", "E0713", "more bytes must be zero"}),
    [](const auto& tested) { return std::string(tested.param.variant); });

TEST(Run, ExceptionsAndOddNumbersOfRunBecomeInternal) {
  const api::Catalog catalog = api::Catalog::open("local", {RUN_VARIANT_DIR});
  for (const char* id : {"run_run_throws", "run_run_odd_number"}) {
    const api::Session session = api::Session::open(catalog, run_request(id, "bf16"));
    api::Attention attention = session.create("decode", api::AttentionOptions());
    ASSERT_TRUE(attention) << id;
    api::Error error;
    EXPECT_EQ(attention.run(api::RunArgs(), &error), DSAKIT_RC_INTERNAL) << id;
    EXPECT_NE(error.text[0], '\0') << id;
    EXPECT_EQ(attention.append(api::KvArgs(), &error), DSAKIT_RC_UNSUPPORTED) << id;
    EXPECT_EQ(attention.prepare(api::RunArgs(), nullptr), DSAKIT_RC_OK) << id;
  }
}

TEST(Run, WhatCannotStartSaysWhy) {
  const api::Catalog catalog = api::Catalog::open("local", {RUN_VARIANT_DIR});
  const api::Session session = api::Session::open(catalog, run_request("run_correct", "bf16"));
  api::Result error;
  EXPECT_FALSE(session.create("mtp", api::AttentionOptions(), &error));
  EXPECT_NE(error.json.find("E0711"), std::string::npos) << error.json;
  EXPECT_FALSE(session.create("dinner", api::AttentionOptions(), &error));
  EXPECT_NE(error.json.find("E0711"), std::string::npos) << error.json;
  api::AttentionOptions negative;
  negative.max_tokens = -1;
  EXPECT_FALSE(session.create("decode", negative, &error));
  EXPECT_NE(error.json.find("E0402"), std::string::npos) << error.json;
  const api::Session vague = api::Session::open(
      catalog, R"({"platform":"cpu","arch":"cpu","kv_dtype":"bf16","model_family":"x",)"
               R"("prefill":"run_correct","decode":"run_correct","heads":8})");
  ASSERT_TRUE(vague);
  EXPECT_FALSE(vague.create("decode", api::AttentionOptions(), &error));
  EXPECT_NE(error.json.find("E0710"), std::string::npos) << error.json;
  EXPECT_NE(error.json.find("\"dim\":\"topk\""), std::string::npos) << error.json;
}

TEST(Run, EightThreadsLoadAndRun) {
  std::vector<std::thread> threads;
  std::vector<double> worst(8, 1.0);
  for (std::size_t t = 0; t < worst.size(); ++t) {
    threads.emplace_back([&worst, t] {
      const api::Catalog catalog = api::Catalog::open("local", {CPU_PLUGIN_DIR});
      const api::Session session =
          api::Session::open(catalog, run_request("cpu", t % 2 == 0 ? "bf16" : "fp8_e4m3"));
      RunCase small(session, "decode");
      if (!small.attention || small.append(nullptr) != DSAKIT_RC_OK) return;
      for (int i = 0; i < 5; ++i)
        if (small.run(nullptr) != DSAKIT_RC_OK) return;
      worst[t] = small.worst_error();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const double error : worst) EXPECT_LT(error, kWorst);
}

}  // namespace
}  // namespace dsakit::test
