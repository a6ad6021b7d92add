// P12: writing and reading canonical bytes changes nothing.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include <nlohmann/json.hpp>

#include "diag/render.hpp"
#include "manifest/schema.hpp"

namespace dsakit {
namespace {

std::string file_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

std::string canonical(const std::string& text) {
  const auto parsed = parse_manifest(text, "f");
  EXPECT_TRUE(parsed) << (parsed ? "" : render_text(parsed.error())) << text;
  return parsed ? canonical_manifest(parsed->manifest) : "";
}

class Canonical : public testing::TestWithParam<const char*> {};

TEST_P(Canonical, RoundTripIsStable) {
  const std::string source =
      file_text(std::string(DSAKIT_TESTS_DIR) + "/plugins/" + GetParam() + "/manifest.json");
  ASSERT_FALSE(source.empty());
  const std::string once = canonical(source);
  EXPECT_EQ(canonical(once), once);
  // Sorted keys and no spaces: the JSON library's own writer gives the same bytes.
  EXPECT_EQ(nlohmann::json::parse(once).dump() + "\n", once);
}

INSTANTIATE_TEST_SUITE_P(TestPlugins, Canonical,
                         testing::Values("tiny_cpu", "tiny_cuda", "acme.tiny"));

TEST(CanonicalForm, IsTheSameForEveryOrderOfKeysAndForAliases) {
  const char* a =
      R"({"schema":1,"id":"a","version":[1,0,0],"abi":{"min":1,"max":1},"rows":[{"name":"r",
    "where":{"heads":{"min":1,"max":2},"kv_dtype":["bfloat16"]},"rank":1,"provides":{"kv_layout":"l"}}]})";
  const char* b = R"({"rows":[{"provides":{"kv_layout":"l"},"rank":1,"where":{"kv_dtype":["bf16"],
    "heads":{"max":2,"min":1}},"name":"r"}],"abi":{"max":1,"min":1},"version":[1,0,0],"id":"a","schema":1})";
  EXPECT_EQ(canonical(a), canonical(b));
}

TEST(CanonicalForm, IsExactlyThis) {
  EXPECT_EQ(
      canonical(
          R"({"schema":1,"id":"a","version":[1,0,0],"abi":{"min":1,"max":1},"x-b":{"z":1,"a":[1]},
        "summary":"\u00e9\"","dims":{"v.d":{"type":"set","neutral":["b","a"]}},"conflicts":["c"],
        "rows":[{"name":"r","where":{"heads":{"later":{"b":1,"a":2},"pow2":1},"v.d":{"includes":["q","p"]},
        "driver":{"min":"570.0"}},"provides":{"kv_layout":"l"},"x-r":null}],
        "build":{"commit":"abc","targets":["cpu"],"sources":"s","flags":{"CXX":"-O3"},
                 "evidence":{"r":{"cpu":"compiled"}}}})"),
      "{\"abi\":{\"max\":1,\"min\":1},\"build\":{\"commit\":\"abc\",\"evidence\":{\"r\":{\"cpu\":"
      "\"compiled\"}},\"flags\":{\"CXX\":\"-O3\"},\"sources\":\"s\","
      "\"targets\":[\"cpu\"]},\"conflicts\":[\"c\"],\"dims\":{\"v.d\":{\"neutral\":[\"a\",\"b\"],"
      "\"open\":false,"
      "\"shared\":false,\"type\":\"set\"}},\"id\":\"a\",\"rows\":[{\"name\":\"r\",\"provides\":{"
      "\"kv_layout\":"
      "\"l\"},\"rank\":0,\"where\":{\"driver\":{\"min\":\"570.0\"},\"heads\":{\"later\":{\"a\":2,"
      "\"b\":1},"
      "\"pow2\":1},\"v.d\":{\"includes\":[\"q\",\"p\"]}},\"x-r\":null}],\"schema\":1,\"summary\":"
      "\"\u00e9\\\"\","
      "\"version\":[1,0,0],\"x-b\":{\"a\":[1],\"z\":1}}\n");
}

}  // namespace
}  // namespace dsakit
