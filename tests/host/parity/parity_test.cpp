// P14: the command line, the C API and its C++ wrapper give identical JSON for the same requests.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "dsakit/dsakit.hpp"
#include "support/fake_plugin.hpp"
#include "support/part.hpp"

namespace dsakit {
namespace {

const char* const kPolicy =
    R"({"prefer":["tilelang","nobody"],"deny":[{"id":"fa3","reason":"why not"}],"kv_dtype":["fp8_e4m3","bf16"]})";

std::vector<std::string> requests() {
  std::vector<std::string> out;
  std::size_t step = 0;
  for (const char* arch : {"sm_90", "sm_120", "gfx942", "cpu"}) {
    for (const char* dtype : {"auto", "bf16", "fp8_e4m3", "int4"}) {
      for (const char* family : {"glm_moe_dsa", "hyv4"}) {
        for (const char* rest : {"", R"(,"features":["hisparse"])", R"(,"decode":"flashmla_kv")",
                                 R"(,"prefill":"trtllm","decode":"flashmla_kv","mtp":"fa3,auto")",
                                 R"(,"heads":null)"}) {
          if (step++ % (test::kPart / 3 + 1) != 0) continue;
          const std::string platform = arch[0] == 's' ? "cuda" : arch[0] == 'g' ? "hip" : "cpu";
          out.push_back(R"({"platform":")" + platform + R"(","arch":")" + arch +
                        R"(","kv_dtype":")" + dtype + R"(","model_family":")" + family + "\"" +
                        rest + "}");
        }
      }
    }
  }
  for (const char* malformed :
       {"", "{", "[]", "7", R"({"arhc":1})", R"({"phase":"decode"})", R"({"arch":"sm_1"})",
        R"({"decode":"a,,b"})", R"({"heads":-1})", "{\"arch\":\"\xff\"}", R"({"a":1,"a":1})"}) {
    out.emplace_back(malformed);
  }
  return out;
}

std::vector<std::string> run_program(const std::string& arguments) {
  const std::string command = std::string(DSAKIT_PROGRAM) + " " + arguments;
  std::FILE* pipe = ::popen(command.c_str(), "r");
  EXPECT_NE(pipe, nullptr);
  std::string text;
  char buffer[4096];
  for (std::size_t n = 0; (n = std::fread(buffer, 1, sizeof(buffer), pipe)) > 0;)
    text.append(buffer, n);
  EXPECT_EQ(::pclose(pipe), 0) << command;
  std::istringstream lines(text);
  std::vector<std::string> out;
  for (std::string line; std::getline(lines, line);) out.push_back(line);
  return out;
}

// Only a file has lines.
std::string without_line_number(std::string json, std::size_t line) {
  const std::string field = "\"line\":" + std::to_string(line) + ",";
  const std::size_t at = json.find(field);
  return at == std::string::npos ? json : json.erase(at, field.size());
}

// Where two answers part, since they are long.
testing::AssertionResult same(const std::string& a, const std::string& b) {
  if (a == b) return testing::AssertionSuccess();
  const auto [in_a, in_b] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  const auto at = static_cast<std::size_t>(in_a - a.begin());
  const std::size_t from = at > 40 ? at - 40 : 0;
  return testing::AssertionFailure()
         << "byte " << at << "\n  " << a.substr(from, 120) << "\n  " << b.substr(from, 120);
}

std::string take(char* text) {
  std::string out = text ? text : "";
  dsakit_string_free(text);
  return out;
}

class Parity : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(folder_.path() / "plugins");
    test::write_file(folder_ / "plugins/libdsakit_flashmla_kv.so",
                     test::plugin_bytes({.manifest = test::small_manifest("flashmla_kv")}));
    ASSERT_EQ(::setenv("DSAKIT_PLUGIN_PATH", (folder_ / "plugins").c_str(), 1), 0);
    ASSERT_EQ(::setenv("HOME", folder_.path().c_str(), 1), 0);
    ::unsetenv("XDG_CONFIG_HOME");
    std::string text;
    for (const std::string& request : requests()) text += request + "\n";
    test::write_file(folder_ / "requests.jsonl", text);
    test::write_file(folder_ / "policy.json", kPolicy);
  }

  // The answers of all three, for resolve or explain.
  void compare(const std::string& command, const std::string& catalog, const char* policy,
               dsakit_status (*ask)(const dsakit_catalog*, const char*, const char*, char**),
               api::Result (api::Catalog::*wrapped)(const std::string&, const std::string&) const) {
    const std::string with_policy = policy ? " --policy " + (folder_ / "policy.json") : "";
    const auto printed = run_program(command + " --catalog " + catalog + with_policy +
                                     " --requests " + (folder_ / "requests.jsonl"));
    const auto asked = requests();
    ASSERT_EQ(printed.size(), asked.size());
    dsakit_catalog* handle = nullptr;
    ASSERT_EQ(dsakit_catalog_open(catalog.c_str(), nullptr, 0, &handle, nullptr), DSAKIT_OK);
    const api::Catalog wrapper = api::Catalog::open(catalog);
    ASSERT_TRUE(wrapper);
    for (std::size_t i = 0; i < asked.size(); ++i) {
      char* text = nullptr;
      const dsakit_status status = ask(handle, asked[i].c_str(), policy, &text);
      const std::string from_c = take(text);
      EXPECT_TRUE(same(without_line_number(printed[i], i + 1), from_c)) << asked[i];
      const api::Result from_cpp = (wrapper.*wrapped)(asked[i], policy ? policy : "");
      EXPECT_TRUE(same(from_cpp.json, from_c)) << asked[i];
      EXPECT_EQ(from_cpp.status, status) << asked[i];
      const char* verdict = status == DSAKIT_OK         ? "{\"verdict\":\"ok\""
                            : status == DSAKIT_REJECTED ? "{\"verdict\":\"rejected\""
                                                        : "{\"verdict\":\"error\"";
      EXPECT_TRUE(from_c.starts_with(verdict)) << from_c.substr(0, 80);
    }
    dsakit_catalog_close(handle);
  }

  test::TemporaryFolder folder_;
};

TEST_F(Parity, ResolveOverTheEmbeddedCatalogue) {
  compare("evaluate", "sglang", nullptr, dsakit_resolve, &api::Catalog::resolve);
}

TEST_F(Parity, ResolveOverPluginsWithPolicy) {
  compare("evaluate", "local", kPolicy, dsakit_resolve, &api::Catalog::resolve);
}

TEST_F(Parity, ExplainWithPolicy) {
  compare("explain", "sglang", kPolicy, dsakit_explain, &api::Catalog::explain);
}

TEST_F(Parity, TheEnvironmentCountsInAllThree) {
  ASSERT_EQ(::setenv("DSAKIT_BACKEND_DECODE", "flashmla_sparse", 1), 0);
  compare("evaluate", "sglang", nullptr, dsakit_resolve, &api::Catalog::resolve);
  ::unsetenv("DSAKIT_BACKEND_DECODE");
}

TEST_F(Parity, ValidateAgreesWithTheProgramOnOneRequest) {
  const std::string request =
      R"({"arch":"sm_90","platform":"cuda","model_family":"glm_moe_dsa","kv_dtype":"fp8_e4m3","decode":"flashmla_kv"})";
  const auto printed =
      run_program("validate --catalog sglang --format json --request '" + request + "'");
  const api::Catalog catalog = api::Catalog::open("sglang");
  ASSERT_EQ(printed.size(), 1u);
  EXPECT_EQ(printed[0], catalog.validate(request).json);
}

}  // namespace
}  // namespace dsakit
