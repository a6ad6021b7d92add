#include "manifest/json.hpp"

#include <gtest/gtest.h>

namespace dsakit {
namespace {

// The canonical text, or "!" and the reason.
std::string read(std::string_view text, const JsonLimits& limits = {}) {
  const auto value = parse_strict_json(text, limits);
  return value ? canonical_json(*value) : "!" + value.error();
}

TEST(StrictJson, ReadsAndWritesCanonically) {
  EXPECT_EQ(read(" { \"b\" : [1, -2, true, null, \"\\u00e9\"], \"a\" : {} } "),
            "{\"a\":{},\"b\":[1,-2,true,null,\"\u00e9\"]}");
  EXPECT_EQ(read("9223372036854775807"), "9223372036854775807");
  EXPECT_EQ(read("-9223372036854775808"), "-9223372036854775808");
}

TEST(StrictJson, ReadsPlainAndUnusualTextAlike) {
  // Plain text has its own scanner; an escape anywhere leaves the whole text to the library.
  for (const char* text : {"0", "-1", "123456789012345678", "1234567890123456789", "[]", "{}",
                           "[[],{}]", "\"\"", "[0,-0,10]", " [ 1 , \"a\" ] ",
                           "{\"b\":1,\"a\":{\"c\":[true,false,null]}}", "\t{\r\n\"a\" : [ ] }"}) {
    const auto reference = nlohmann::json::parse(text);
    EXPECT_EQ(read(text), reference.dump()) << text;
    EXPECT_EQ(read(std::string("[\"\\u0041\",") + text + "]"), "[\"A\"," + reference.dump() + "]")
        << text;
  }
}

TEST(StrictJson, RefusesDuplicateKeysWithTheirPlace) {
  EXPECT_EQ(read(R"({"a":1,"a":1})"), "!duplicate key `a`");
  EXPECT_EQ(read(R"({"rows":[{"x":1},{"w":{"b":1,"b":2}}]})"), "!duplicate key `b` in rows[1].w");
  EXPECT_EQ(read(R"({"a":1,"\u0061":1})"), "!duplicate key `a`");
}

TEST(StrictJson, RefusesNumbersThatAreNoIntegersOf64Bits) {
  EXPECT_EQ(read("[1.5]"), "!number 1.5 is not an integer of 64 bits");
  EXPECT_EQ(read("[1e3]"), "!number 1e3 is not an integer of 64 bits");
  EXPECT_EQ(read("[9223372036854775808]"), "!an integer too large for 64 bits");
  EXPECT_EQ(read("[99999999999999999999]"),
            "!number 99999999999999999999 is not an integer of 64 bits");
  for (const char* text :
       {"1e400", "[NaN]", "[Infinity]", "[01]", "[+1]", "[-]", "[0x10]", "[1.]"}) {
    EXPECT_EQ(read(text).front(), '!') << text;
  }
  JsonLimits floats;
  floats.integers_only = false;
  EXPECT_EQ(read("[1.5]", floats), "[1.5]");
}

TEST(StrictJson, RefusesWhatIsNotJson) {
  for (const char* text :
       {"", " ", "{", "[1,]", "{\"a\":1,}", "{a:1}", "{'a':1}", "1 2", "{} {}", "// c\n{}", "[1 2]",
        "nul", "\"a", "\"\x01\"", "\"\\x\"", "\"\\ud800\"", "]", "{\"a\"}"}) {
    EXPECT_EQ(read(text).front(), '!') << text;
  }
  EXPECT_EQ(read("\xEF\xBB\xBF{}"), "!a byte order mark");
  EXPECT_EQ(read(std::string_view("[1]\0", 4)).front(), '!');
}

TEST(StrictJson, RefusesInvalidUtf8) {
  for (const char* text :
       {"\"\xff\"", "\"\xc0\x80\"", "\"\xed\xa0\x80\"", "\"\xf4\x90\x80\x80\"", "\"\xe2\x82\""}) {
    EXPECT_EQ(read(text).front(), '!') << text;
  }
}

TEST(StrictJson, BoundsDepthStringsBytesAndItems) {
  EXPECT_EQ(read("[[[[[[[[]]]]]]]]"), "[[[[[[[[]]]]]]]]");
  EXPECT_EQ(read("[[[[[[[[[]]]]]]]]]"), "!more than 8 levels deep in [0][0][0][0][0][0][0]");
  EXPECT_EQ(read(std::string(100000, '[')).front(), '!');
  const std::string longest = "\"" + std::string(256, 'a') + "\"";
  EXPECT_EQ(read(longest), longest);
  EXPECT_EQ(read("{\"k\":\"" + std::string(257, 'a') + "\"}"), "!a string longer than 256 bytes");
  EXPECT_EQ(read("{\"" + std::string(257, 'a') + "\":1}"), "!a string longer than 256 bytes");
  EXPECT_EQ(read(std::string(64 * 1024, ' ') + "1"), "!65537 bytes, at most 65536 are read");
  JsonLimits few;
  few.max_items = 3;
  EXPECT_EQ(read("[1,2]", few), "[1,2]");
  EXPECT_EQ(read("[1,2,3]", few), "!more than 3 values");
}

TEST(JsonExcerpt, IsCutAtSixtyBytesBetweenCharacters) {
  EXPECT_EQ(json_excerpt(nlohmann::json{{"a", 1}}), "{\"a\":1}");
  const std::string cut = json_excerpt(std::string(100, 'x'));
  EXPECT_EQ(cut, "\"" + std::string(56, 'x') + "...");
  std::string accents;
  for (int i = 0; i < 50; ++i) accents += "\u00e9";
  const std::string accent_cut = json_excerpt(accents);
  EXPECT_LE(accent_cut.size(), 60U);
  EXPECT_EQ(accent_cut.size() % 2, 0U) << "a quote, whole two-byte characters and three dots";
}

}  // namespace
}  // namespace dsakit
