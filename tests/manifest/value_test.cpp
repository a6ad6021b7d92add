#include "manifest/value.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "manifest/dimension.hpp"
#include "manifest/known_tokens.hpp"
#include "manifest/schema.hpp"

namespace dsakit {
namespace {

using nlohmann::json;

std::string text_of(const char* predicate, DimType type) {
  const auto parsed = parse_predicate(json::parse(predicate), type, "f", "p");
  return parsed ? predicate_text(*parsed) : "refused";
}

TEST(Version, IsOneToFourDottedIntegers) {
  EXPECT_EQ(parse_version("12.8")->parts, (std::vector<std::int32_t>{12, 8}));
  EXPECT_EQ(parse_version("1.2.3.4")->parts, (std::vector<std::int32_t>{1, 2, 3, 4}));
  EXPECT_EQ(parse_version("0"), parse_version("0.0.0"));
  for (const char* text : {"", ".", "1.", ".1", "1..2", "1.2.3.4.5", "a", "1a", "-1", "1.-1", "+1",
                           " 1", "2147483648", "1.99999999999"}) {
    EXPECT_FALSE(parse_version(text)) << text;
  }
}

TEST(Version, ComparesAsNumbersWithMissingPartsZero) {
  EXPECT_EQ(parse_version("12"), parse_version("12.0"));
  EXPECT_LT(*parse_version("9.9"), *parse_version("12.8"));
  EXPECT_LT(*parse_version("12.8"), *parse_version("12.10"));
  EXPECT_LT(*parse_version("12"), *parse_version("12.0.1"));
  EXPECT_EQ(version_text(*parse_version("12.8.0.0")), "12.8");
}

TEST(Value, HasJsonAndText) {
  EXPECT_EQ(value_json(Unknown{}), "null");
  EXPECT_EQ(value_json(Token("bf16")), "\"bf16\"");
  EXPECT_EQ(value_json(std::int32_t{64}), "64");
  EXPECT_EQ(value_json(Set{"a", "b"}), R"(["a","b"])");
  EXPECT_EQ(value_json(*parse_version("12.8")), "\"12.8\"");
  EXPECT_EQ(value_text(Unknown{}), "unknown");
  EXPECT_EQ(value_text(Set{"a", "b"}), "{a, b}");
  EXPECT_EQ(value_text(Set{}), "{}");
  EXPECT_EQ(value_json(Token("a\"\n")), R"("a\"\n")");
}

TEST(Value, ParsesByTypeAndResolvesAliases) {
  EXPECT_EQ(*parse_value("bfloat16", DimType::token), Value(Token("bf16")));
  EXPECT_EQ(*parse_value(nullptr, DimType::integer), Value(Unknown{}));
  EXPECT_EQ(*parse_value(2147483647, DimType::integer), Value(std::int32_t{2147483647}));
  EXPECT_EQ(*parse_value(json{"b", "a", "b"}, DimType::set), Value(Set{"a", "b"}));
  EXPECT_EQ(*parse_value("12.0", DimType::version), Value(*parse_version("12")));
}

TEST(Value, OfAWrongShapeSaysWhatIsAllowed) {
  EXPECT_EQ(parse_value(7, DimType::token).error(),
            "a token of 1 to 64 characters a-z 0-9 _ . + -");
  EXPECT_EQ(parse_value("BF16", DimType::token).error(),
            "a token of 1 to 64 characters a-z 0-9 _ . + -");
  EXPECT_EQ(parse_value("64", DimType::integer).error(), "an integer from 0 to 2147483647");
  EXPECT_FALSE(parse_value(-1, DimType::integer));
  EXPECT_FALSE(parse_value(2147483648LL, DimType::integer));
  EXPECT_FALSE(parse_value(true, DimType::integer));
  EXPECT_EQ(parse_value("hisparse", DimType::set).error(),
            "a list of at most 64 tokens of a-z 0-9 _ . + -");
  EXPECT_FALSE(parse_value(json{1}, DimType::set));
  EXPECT_FALSE(parse_value(json{std::string(65, 'a')}, DimType::set));
  EXPECT_EQ(parse_value(12, DimType::version).error(),
            "a string of 1 to 4 dotted integers, such as \"12.8\"");
}

TEST(PredicateText, ReadsAsPeopleSayIt) {
  EXPECT_EQ(text_of("\"*\"", DimType::integer), "anything");
  EXPECT_EQ(text_of(R"(["sm_100","sm_90"])", DimType::arch), "sm_90, sm_100");
  EXPECT_EQ(text_of("[]", DimType::token), "nothing");
  EXPECT_EQ(text_of("{}", DimType::integer), "anything");
  EXPECT_EQ(text_of(R"({"min":1,"max":128,"multiple_of":16})", DimType::integer),
            "1 to 128, multiples of 16");
  EXPECT_EQ(text_of(R"({"min":4,"max":4})", DimType::integer), "4");
  EXPECT_EQ(text_of(R"({"min":4})", DimType::integer), "4 or more");
  EXPECT_EQ(text_of(R"({"max":4,"pow2":1})", DimType::integer), "up to 4, powers of two");
  EXPECT_EQ(text_of(R"({"one_of":[128,64]})", DimType::integer), "64, 128");
  EXPECT_EQ(text_of(R"({"subset":["b","a"]})", DimType::set), "any of a, b");
  EXPECT_EQ(text_of(R"({"subset":[]})", DimType::set), "none");
  EXPECT_EQ(text_of(R"({"includes":["a"]})", DimType::set), "exactly a");
  EXPECT_EQ(text_of(R"({"subset":["a","b"],"includes":["a"]})", DimType::set),
            "any of a, b, always with a");
  EXPECT_EQ(text_of(R"({"none_of":["a"]})", DimType::set), "none");
  EXPECT_EQ(text_of(R"({"min":"12.8","below":"14"})", DimType::version), "12.8 or newer, below 14");
  EXPECT_EQ(text_of(R"({"not_one_of":[3]})", DimType::integer),
            "only what operator `not_one_of` of a newer dsakit says");
}

TEST(Dimensions, BuiltInTableHasTheNeutralValuesOfTheDesign) {
  const DimensionTable& table = builtin_dimensions();
  const auto neutral = [&](std::string_view name) {
    const Dimension& dim = table.at(table.find(name));
    return dim.neutral ? value_json(*dim.neutral) : std::string(dim.open ? "open" : "none");
  };
  for (const char* name : {"platform", "arch", "phase", "model_family", "kv_dtype", "page_size",
                           "heads", "topk", "d_qk", "d_v"}) {
    EXPECT_EQ(neutral(name), "none") << name;
  }
  for (const char* name : {"runtime_cuda", "runtime_hip", "driver"})
    EXPECT_EQ(neutral(name), "open") << name;
  EXPECT_EQ(neutral("kv_scale"), "\"any\"");
  EXPECT_EQ(neutral("index_kpool"), "1");
  EXPECT_EQ(neutral("index_mode"), "\"physical\"");
  EXPECT_EQ(neutral("invalid_index"), "\"any_out_of_range\"");
  EXPECT_EQ(neutral("q_dtype"), "\"bf16\"");
  EXPECT_EQ(neutral("out_dtype"), "\"bf16\"");
  EXPECT_EQ(neutral("lse"), "\"natural\"");
  EXPECT_EQ(neutral("lse_sink"), "\"excluded\"");
  EXPECT_EQ(neutral("lse_empty"), "\"plus_inf\"");
  EXPECT_EQ(neutral("compute"), "\"exact\"");
  EXPECT_EQ(neutral("features"), "[]");
  EXPECT_EQ(table.size(), 24);
  EXPECT_EQ(table.find("kv_layout"), -1);
}

TEST(Dimensions, KnownTokensHoldTheNeutralOneAndAreInTheText) {
  const DimensionTable& dims = builtin_dimensions();
  for (int i = 0; i < dims.size(); ++i) {
    const Dimension& dim = dims.at(i);
    EXPECT_EQ(dim.doc.find("{}"), std::string::npos) << dim.name;
    const std::vector<std::string> known = known_tokens(dim.name);
    if (known.empty() || dim.type != DimType::token) continue;
    ASSERT_TRUE(dim.neutral) << dim.name;
    EXPECT_EQ(std::ranges::count(known, std::get<Token>(*dim.neutral)), 1) << dim.name;
  }
  EXPECT_EQ(known_tokens("lse"), (std::vector<std::string>{"natural", "log2", "none"}));
  EXPECT_EQ(dims.at(dims.find("compute")).doc, "arithmetic of the products: exact, fp8");
  EXPECT_EQ(dims.at(dims.find("features")).doc,
            "what the engine uses: hisparse, cuda_graph, attn_sink, ...");
  EXPECT_TRUE(known_tokens("heads").empty());
  EXPECT_TRUE(known_tokens("acme.tile").empty());
}

TEST(Dimensions, DeclareRefusesBuiltInNamesAndContradictions) {
  DimensionTable table;
  Dimension tile;
  tile.name = "acme.tile";
  tile.type = DimType::integer;
  tile.neutral = Value(std::int32_t{0});
  EXPECT_TRUE(table.declare(tile));
  EXPECT_TRUE(table.declare(tile));
  tile.doc = "another text";
  EXPECT_TRUE(table.declare(tile)) << "the text is no part of a declaration";
  for (int change = 0; change < 4; ++change) {
    Dimension other = tile;
    if (change == 0) other.neutral = Value(std::int32_t{1});
    if (change == 1) other.open = true;
    if (change == 2) other.shared = true;
    if (change == 3) other.type = DimType::set;
    EXPECT_FALSE(table.declare(other)) << change;
  }
  Dimension heads = table.at(table.find("heads"));
  EXPECT_FALSE(table.declare(heads));
}

TEST(Aliases, Bfloat16IsBf16) {
  EXPECT_EQ(resolve_alias("bfloat16"), "bf16");
  EXPECT_EQ(resolve_alias("fp8_e4m3"), "fp8_e4m3");
  EXPECT_EQ(spellings("bf16"), (std::vector<std::string>{"bf16", "bfloat16"}));
  EXPECT_EQ(spellings("fp8_e4m3"), (std::vector<std::string>{"fp8_e4m3"}));
}

TEST(KvLayouts, AreDescribedInWords) {
  EXPECT_EQ(kv_layout_text("bf16_1152"), "1152 bytes per token, 576 bf16");
  EXPECT_EQ(kv_layout_text("fp8_656_g128"), "656 bytes per token, one scale per 128 values");
  EXPECT_EQ(kv_layout_text("fp8_576_pt_fnuz"),
            "576 bytes per token, fnuz encoding, one scale per tensor");
  EXPECT_EQ(kv_layout_text("v4_584"),
            "584 bytes per token, one power-of-two scale per 64 values, stored behind the rows of "
            "a page");
  EXPECT_EQ(kv_layout_text("acme_layout"), "");
}

}  // namespace
}  // namespace dsakit
