// The C API's promises: an answer for every input, no crash on null, statuses as documented.
#include <cstdlib>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "dsakit/dsakit.hpp"
#include "support/fake_plugin.hpp"
#include "support/part.hpp"

namespace dsakit {
namespace {

std::string take(char* text) {
  std::string out = text ? text : "";
  dsakit_string_free(text);
  return out;
}

const char* const kRequest =
    R"({"arch":"sm_90","platform":"cuda","model_family":"glm_moe_dsa","kv_dtype":"bf16"})";

class CApi : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(dsakit_catalog_open("sglang", nullptr, 0, &catalog_, nullptr), DSAKIT_OK);
  }
  void TearDown() override { dsakit_catalog_close(catalog_); }
  dsakit_catalog* catalog_ = nullptr;
};

TEST_F(CApi, HasAVersion) {
  EXPECT_STREQ(dsakit_version(), "0.1.0");
}

TEST_F(CApi, NullsAreRefusedWithAnAnswer) {
  char* text = nullptr;
  EXPECT_EQ(dsakit_resolve(nullptr, kRequest, nullptr, &text), DSAKIT_INVALID);
  EXPECT_NE(take(text).find("\"E0404\""), std::string::npos);
  EXPECT_EQ(dsakit_resolve(catalog_, nullptr, nullptr, &text), DSAKIT_INVALID);
  EXPECT_NE(take(text).find("\"verdict\":\"error\""), std::string::npos);
  EXPECT_EQ(dsakit_resolve(catalog_, kRequest, nullptr, nullptr), DSAKIT_OK);
  EXPECT_EQ(dsakit_catalog_open("sglang", nullptr, 0, nullptr, nullptr), DSAKIT_INVALID);
  EXPECT_EQ(dsakit_request_from_config(nullptr, nullptr, &text), DSAKIT_ENVIRONMENT);
  EXPECT_NE(take(text).find("\"E0501\""), std::string::npos);
  dsakit_catalog_close(nullptr);
  dsakit_string_free(nullptr);
}

TEST_F(CApi, UnknownCatalogueSaysTheNearest) {
  dsakit_catalog* catalog = catalog_;
  char* error = nullptr;
  EXPECT_EQ(dsakit_catalog_open("sglan", nullptr, 0, &catalog, &error), DSAKIT_INVALID);
  EXPECT_EQ(catalog, nullptr);
  const std::string json = take(error);
  EXPECT_NE(json.find("\"E0116\""), std::string::npos);
  EXPECT_NE(json.find("\"nearest\":\"sglang\""), std::string::npos);
  EXPECT_EQ(dsakit_catalog_open("./none", nullptr, 0, &catalog, nullptr), DSAKIT_ENVIRONMENT);
}

TEST_F(CApi, AMalformedPolicyIsAnErrorAnswer) {
  char* text = nullptr;
  EXPECT_EQ(dsakit_resolve(catalog_, kRequest, R"({"prefer":1})", &text), DSAKIT_INVALID);
  EXPECT_NE(take(text).find("\"E0602\""), std::string::npos);
}

TEST_F(CApi, RejectedIsItsOwnStatus) {
  char* text = nullptr;
  EXPECT_EQ(dsakit_validate(catalog_, R"({"arch":"cpu","platform":"cpu"})", nullptr, &text),
            DSAKIT_REJECTED);
  EXPECT_NE(take(text).find("\"verdict\":\"rejected\""), std::string::npos);
}

TEST_F(CApi, PluginDirectoriesAreSearchedFirst) {
  test::TemporaryFolder folder;
  test::write_file(folder / "libdsakit_mine.so",
                   test::plugin_bytes({.manifest = test::small_manifest("mine")}));
  const api::Catalog catalog = api::Catalog::open("local", {folder.path().string()});
  ASSERT_TRUE(catalog);
  const api::Result result = catalog.resolve(
      R"({"arch":"sm_90","platform":"cuda","kv_dtype":"bf16","prefill":"mine","decode":"mine"})");
  EXPECT_TRUE(result) << result.json;
  EXPECT_NE(result.json.find("\"catalog\":\"local\""), std::string::npos);
}

TEST_F(CApi, ARequestFromAConfigCanBeAsked) {
  const std::string config = std::string(DSAKIT_TESTS_DIR) + "/golden/models/glm-5.2.json";
  const api::Result request = api::request_from_config(
      config,
      R"({"device":"sm_120","hisparse":true,"kv_dtype":"fp8_e4m3","tp":2,"page_size":64,"mtp":true})");
  ASSERT_TRUE(request) << request.json;
  const api::Catalog catalog = api::Catalog::open("sglang");
  const api::Result answer = catalog.resolve(request.json);
  EXPECT_TRUE(answer) << answer.json;
  EXPECT_NE(answer.json.find("\"decode\":\"flashinfer_sparse_mla\""), std::string::npos)
      << answer.json;
  EXPECT_NE(answer.json.find("\"mtp\":\"flashinfer_sparse_mla\""), std::string::npos)
      << answer.json;
}

TEST_F(CApi, OptionsAreChecked) {
  const std::string config = std::string(DSAKIT_TESTS_DIR) + "/golden/models/glm-5.2.json";
  const auto error = [&](const char* options) {
    const api::Result result = api::request_from_config(config, options);
    EXPECT_EQ(result.status, DSAKIT_INVALID) << options;
    return result.json;
  };
  EXPECT_NE(error(R"({"devise":"sm_90"})").find("\"nearest\":\"device\""), std::string::npos);
  EXPECT_NE(error(R"({"tp":0})").find("\"E0402\""), std::string::npos);
  EXPECT_NE(error(R"({"hisparse":1})").find("\"E0402\""), std::string::npos);
  EXPECT_NE(error(R"({"features":["a",1]})").find("\"E0402\""), std::string::npos);
  EXPECT_NE(error(R"({"device":7})").find("\"E0402\""), std::string::npos);
  EXPECT_NE(error("[]").find("\"E0404\""), std::string::npos);
  EXPECT_NE(error(R"({"tp":7})").find("\"E0504\""), std::string::npos);
  EXPECT_NE(error(R"({"device":"sm_9"})").find("\"E0403\""), std::string::npos);
}

TEST_F(CApi, AModelWithoutSparseAttentionIsRejected) {
  const api::Result result =
      api::request_from_config(std::string(DSAKIT_TESTS_DIR) + "/golden/models/qwen3-8b.json");
  EXPECT_EQ(result.status, DSAKIT_REJECTED);
  EXPECT_TRUE(result.json.starts_with("{\"verdict\":\"rejected\"")) << result.json;
  EXPECT_NE(result.json.find("\"E0308\""), std::string::npos);
}

TEST_F(CApi, OneHandleServesManyThreads) {
  char* text = nullptr;
  ASSERT_EQ(dsakit_explain(catalog_, kRequest, nullptr, &text), DSAKIT_OK);
  const std::string expected = take(text);
  std::vector<std::thread> threads;
  std::vector<int> same(8, 0);
  const int turns = test::kPart == 1 ? 20 : 3;
  for (std::size_t t = 0; t < same.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < turns; ++i) {
        char* mine = nullptr;
        dsakit_explain(catalog_, kRequest, nullptr, &mine);
        same[t] += take(mine) == expected ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(same, std::vector<int>(8, turns));
}

}  // namespace
}  // namespace dsakit
