// Each rule of the manifest schema, and that a breach says where, what was found and what is
// allowed.
#include "manifest/schema.hpp"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "diag/render.hpp"

namespace dsakit {
namespace {

using nlohmann::json;

json minimal() {
  return json::parse(R"({"schema":1,"id":"alpha","version":[1,2,3],"abi":{"min":1,"max":1},
    "rows":[{"name":"r","where":{"heads":{"min":1}},"rank":5,"provides":{"kv_layout":"bf16_1152"}}]})");
}

std::string text_field(const Diagnostic& diagnostic, std::string_view name) {
  for (const Field& field : diagnostic.fields) {
    if (field.name != name) continue;
    if (const auto* text = std::get_if<std::string>(&field.value)) return *text;
    if (const auto* number = std::get_if<std::int64_t>(&field.value))
      return fmt::format("{}", *number);
  }
  return "(no field)";
}

// "path | found | allowed" of the refusal of a manifest into which `patch` (RFC 6902) was worked.
std::string refusal(const char* patch, ManifestKind kind = ManifestKind::built) {
  const auto parsed = parse_manifest(minimal().patch(json::parse(patch)).dump(), "m.json", kind);
  if (parsed) return "accepted";
  const Diagnostic& error = parsed.error();
  if (error.code != Code::E0107) return std::string(code_name(error.code));
  EXPECT_EQ(text_field(error, "file"), "m.json");
  return text_field(error, "path") + " | " + text_field(error, "found") + " | " +
         text_field(error, "allowed");
}

constexpr const char* kToken = "a token of 1 to 64 characters a-z 0-9 _ . + -";

TEST(Schema, ReadsAWholeManifest) {
  const auto parsed = parse_manifest(
      R"({"schema":1,"id":"acme.x","version":[1,2,3],"abi":{"min":1,"max":2},"summary":"s","vendor":"v",
          "license":"l","url":"u","dims":{"acme.t":{"type":"int","neutral":0,"open":true,"shared":true,"doc":"d"}},
          "common":{"platform":["cuda"]},"conflicts":["b","a","b"],
          "rows":[{"name":"r","where":{"kv_dtype":["bfloat16"],"acme.t":{"one_of":[1]}},"rank":7,
                   "provides":{"kv_layout":"bf16_1152","page_size":64,"acme.t":1},"note":"n","x-r":[1]}],
          "build":{"targets":["sm_90a"],"toolkit":"t","commit":"c","evidence":{"r":{"sm_90":"hardware"}}},
          "x-top":{"k":1}})",
      "f");
  ASSERT_TRUE(parsed) << render_text(parsed.error());
  EXPECT_TRUE(parsed->warnings.empty());
  const Manifest& m = parsed->manifest;
  EXPECT_EQ(m.id, "acme.x");
  EXPECT_EQ(m.version, (std::array<std::int32_t, 3>{1, 2, 3}));
  EXPECT_EQ(m.abi_max, 2);
  ASSERT_EQ(m.dims.size(), 1U);
  EXPECT_TRUE(m.dims[0].open && m.dims[0].shared);
  EXPECT_EQ(m.dims[0].neutral, Value(std::int32_t{0}));
  EXPECT_EQ(m.conflicts, (std::vector<std::string>{"a", "b"}));
  ASSERT_EQ(m.rows.size(), 1U);
  EXPECT_EQ(m.rows[0].where.at("kv_dtype").list, (std::vector<std::string>{"bf16"}));
  EXPECT_EQ(m.rows[0].where.at("kv_dtype").json, R"(["bf16"])");
  EXPECT_EQ(m.rows[0].provides.at("page_size"), Value(std::int32_t{64}));
  EXPECT_EQ(m.rows[0].extra.at("x-r"), "[1]");
  EXPECT_EQ(m.extra.at("x-top"), R"({"k":1})");
  EXPECT_EQ(m.build.evidence.at("r").at("sm_90"), "hardware");
}

TEST(Schema, MissingFieldsAreNamed) {
  for (const char* key : {"id", "version", "abi", "rows"}) {
    json manifest = minimal();
    manifest.erase(key);
    const auto parsed = parse_manifest(manifest.dump(), "f");
    ASSERT_FALSE(parsed) << key;
    EXPECT_EQ(text_field(parsed.error(), "path"), key);
    EXPECT_EQ(text_field(parsed.error(), "found"), "nothing");
  }
  EXPECT_EQ(refusal(R"([{"op":"remove","path":"/schema"}])"), "schema | nothing | 1");
  EXPECT_EQ(refusal(R"([{"op":"remove","path":"/rows/0/name"}])"),
            fmt::format("rows[0].name | nothing | {}", kToken));
  EXPECT_EQ(refusal(R"([{"op":"remove","path":"/rows/0/provides"}])"),
            "rows[0].provides | nothing | an object with at least kv_layout");
  EXPECT_EQ(refusal(R"([{"op":"remove","path":"/rows/0/provides/kv_layout"}])"),
            "rows[0].provides.kv_layout | nothing | the name of the KV layout that the row reads "
            "or writes");
}

TEST(Schema, NewerSchemaIsRefusedWithBothNumbers) {
  const auto parsed = parse_manifest(R"({"schema":2,"future":true})", "f");
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().code, Code::E0108);
  EXPECT_EQ(headline(parsed.error()),
            "`f` needs a newer dsakit: manifest schema 2, this version reads up to 1");
}

TEST(Schema, WrongJsonHasItsOwnCode) {
  const auto parsed = parse_manifest("{", "f");
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().code, Code::E0106);
  const auto list = parse_manifest("[]", "f");
  ASSERT_FALSE(list);
  EXPECT_EQ(headline(list.error()),
            "manifest of `f` is wrong at the top level: found [], allowed an object");
}

struct Case {
  const char* name;
  const char* patch;
  const char* expected;
};

class SchemaRefusal : public testing::TestWithParam<Case> {};

TEST_P(SchemaRefusal, SaysPathFoundAllowed) {
  EXPECT_EQ(refusal(GetParam().patch), GetParam().expected);
}

#define DSAKIT_TOKEN_TEXT "a token of 1 to 64 characters a-z 0-9 _ . + -"

INSTANTIATE_TEST_SUITE_P(
    Identity, SchemaRefusal,
    testing::Values(
        Case{"schema", R"([{"op":"add","path":"/schema","value":"1"}])", "schema | \"1\" | 1"},
        Case{"schema0", R"([{"op":"add","path":"/schema","value":0}])", "schema | 0 | 1"},
        Case{"id", R"([{"op":"add","path":"/id","value":"Alpha"}])",
             "id | \"Alpha\" | " DSAKIT_TOKEN_TEXT},
        Case{"id_auto", R"([{"op":"add","path":"/id","value":"auto"}])",
             "id | \"auto\" | any token but auto, which asks for an automatic choice"},
        Case{"version", R"([{"op":"add","path":"/version","value":[1,2]}])",
             "version | [1,2] | a list of three integers from 0 to 2147483647"},
        Case{"version_text", R"([{"op":"add","path":"/version","value":"1.2.3"}])",
             "version | \"1.2.3\" | a list of three integers from 0 to 2147483647"},
        Case{"version_negative",
             R"([{"op":"add","path":"/version/1","value":-1},{"op":"remove","path":"/version/3"}])",
             "version | [1,-1,2] | a list of three integers from 0 to 2147483647"},
        Case{"abi", R"([{"op":"add","path":"/abi","value":{"min":2,"max":1}}])",
             "abi | {\"max\":1,\"min\":2} | {\"min\":a,\"max\":b} with 1 <= a <= b"},
        Case{"abi_min", R"([{"op":"add","path":"/abi/min","value":0}])",
             "abi | {\"max\":1,\"min\":0} | {\"min\":a,\"max\":b} with 1 <= a <= b"},
        Case{"summary", R"([{"op":"add","path":"/summary","value":1}])",
             "summary | 1 | a string of at most 256 bytes"},
        Case{"conflicts", R"([{"op":"add","path":"/conflicts","value":["b","B"]}])",
             "conflicts[1] | \"B\" | " DSAKIT_TOKEN_TEXT},
        Case{"conflicts_list", R"([{"op":"add","path":"/conflicts","value":"b"}])",
             "conflicts | \"b\" | a list of at most 64 ids"}),
    [](const auto& param) { return std::string(param.param.name); });

INSTANTIATE_TEST_SUITE_P(
    Dims, SchemaRefusal,
    testing::Values(
        Case{"built_in",
             R"([{"op":"add","path":"/dims","value":{"heads":{"type":"int","neutral":0}}}])",
             "dims.heads | a name that dsakit uses itself | a new name, such as vendor.name"},
        Case{"reserved",
             R"([{"op":"add","path":"/dims","value":{"kv_layout":{"type":"token","open":true}}}])",
             "dims.kv_layout | a name that dsakit uses itself | a new name, such as vendor.name"},
        Case{"name", R"([{"op":"add","path":"/dims","value":{"A":{"type":"token","open":true}}}])",
             "dims.A | name \"A\" | " DSAKIT_TOKEN_TEXT},
        Case{"type",
             R"([{"op":"add","path":"/dims","value":{"a.b":{"type":"float","open":true}}}])",
             "dims[\"a.b\"].type | \"float\" | token, int, set, version or arch"},
        Case{"no_type", R"([{"op":"add","path":"/dims","value":{"a.b":{"open":true}}}])",
             "dims[\"a.b\"].type | nothing | token, int, set, version or arch"},
        Case{"neutral",
             R"([{"op":"add","path":"/dims","value":{"a.b":{"type":"int","neutral":"x"}}}])",
             "dims[\"a.b\"].neutral | \"x\" | an integer from 0 to 2147483647"},
        Case{"closed", R"([{"op":"add","path":"/dims","value":{"a.b":{"type":"int"}}}])",
             "dims[\"a.b\"] | neither a neutral value nor open | `neutral`, or `open`: true"},
        Case{"flag", R"([{"op":"add","path":"/dims","value":{"a.b":{"type":"int","open":1}}}])",
             "dims[\"a.b\"].open | 1 | true or false"}),
    [](const auto& param) { return std::string(param.param.name); });

INSTANTIATE_TEST_SUITE_P(
    Rows, SchemaRefusal,
    testing::Values(
        Case{"list", R"([{"op":"add","path":"/rows","value":{}}])", "rows | {} | a list of rows"},
        Case{"row", R"([{"op":"add","path":"/rows/0","value":7}])",
             "rows[0] | 7 | an object of name, where, rank, provides, note"},
        Case{"name", R"([{"op":"add","path":"/rows/0/name","value":""}])",
             "rows[0].name | \"\" | " DSAKIT_TOKEN_TEXT},
        Case{"twice", R"([{"op":"copy","from":"/rows/0","path":"/rows/1"}])",
             "rows[1].name | \"r\" | a name that no earlier row of this file has"},
        Case{"rank", R"([{"op":"add","path":"/rows/0/rank","value":-1}])",
             "rows[0].rank | -1 | an integer from 0 to 2147483647"},
        Case{"note", R"([{"op":"add","path":"/rows/0/note","value":[]}])",
             "rows[0].note | [] | a string of at most 256 bytes"},
        Case{"layout", R"([{"op":"add","path":"/rows/0/where/kv_layout","value":["bf16_1152"]}])",
             "rows[0].where.kv_layout | [\"bf16_1152\"] | nothing: a layout is said in `provides` "
             "alone"},
        Case{"common_layout", R"([{"op":"add","path":"/common","value":{"kv_layout":"*"}}])",
             "common.kv_layout | \"*\" | nothing: a layout is said in `provides` alone"},
        Case{"not_shared", R"([{"op":"add","path":"/rows/0/provides/heads","value":64}])",
             "rows[0].provides.heads | 64 | kv_layout, and dimensions that are shared and known to "
             "this file"},
        Case{"unknown_value", R"([{"op":"add","path":"/rows/0/provides/page_size","value":null}])",
             "rows[0].provides.page_size | null | a known value"},
        Case{"wrong_value", R"([{"op":"add","path":"/rows/0/provides/page_size","value":"64"}])",
             "rows[0].provides.page_size | \"64\" | an integer from 0 to 2147483647"},
        Case{"layout_type", R"([{"op":"add","path":"/rows/0/provides/kv_layout","value":7}])",
             "rows[0].provides.kv_layout | 7 | " DSAKIT_TOKEN_TEXT},
        Case{"phase", R"([{"op":"add","path":"/rows/0/where/phase","value":["decode","verify"]}])",
             "rows[0].where.phase | \"verify\" | prefill, decode, mtp"}),
    [](const auto& param) { return std::string(param.param.name); });

INSTANTIATE_TEST_SUITE_P(
    Predicates, SchemaRefusal,
    testing::Values(
        Case{
            "bare_int", R"([{"op":"add","path":"/rows/0/where/heads","value":64}])",
            "rows[0].where.heads | 64 | \"*\" or an object of min, max, multiple_of, one_of, pow2"},
        Case{"int_list", R"([{"op":"add","path":"/rows/0/where/heads","value":[64]}])",
             "rows[0].where.heads | [64] | \"*\" or an object of min, max, multiple_of, one_of, "
             "pow2"},
        Case{"null", R"([{"op":"add","path":"/common","value":{"heads":null}}])",
             "common.heads | null | \"*\" or an object of min, max, multiple_of, one_of, pow2"},
        Case{"token", R"([{"op":"add","path":"/rows/0/where/kv_dtype","value":"bf16"}])",
             "rows[0].where.kv_dtype | \"bf16\" | \"*\" or a list of tokens"},
        Case{"token_object", R"([{"op":"add","path":"/rows/0/where/kv_dtype","value":{}}])",
             "rows[0].where.kv_dtype | {} | \"*\" or a list of tokens"},
        Case{"token_element",
             R"([{"op":"add","path":"/rows/0/where/kv_dtype","value":["bf16","*"]}])",
             "rows[0].where.kv_dtype[1] | \"*\" | " DSAKIT_TOKEN_TEXT},
        Case{"min", R"([{"op":"add","path":"/rows/0/where/heads/min","value":"1"}])",
             "rows[0].where.heads.min | \"1\" | an integer from 0 to 2147483647"},
        Case{"multiple", R"([{"op":"add","path":"/rows/0/where/heads/multiple_of","value":0}])",
             "rows[0].where.heads.multiple_of | 0 | an integer from 1 to 2147483647"},
        Case{"pow2", R"([{"op":"add","path":"/rows/0/where/heads/pow2","value":true}])",
             "rows[0].where.heads.pow2 | true | 1"},
        Case{"one_of", R"([{"op":"add","path":"/rows/0/where/heads/one_of","value":[1,-1]}])",
             "rows[0].where.heads.one_of[1] | -1 | an integer from 0 to 2147483647"},
        Case{"one_of_list", R"([{"op":"add","path":"/rows/0/where/heads/one_of","value":64}])",
             "rows[0].where.heads.one_of | 64 | a list of integers"},
        Case{"subset",
             R"([{"op":"add","path":"/rows/0/where/features","value":{"subset":"hisparse"}}])",
             "rows[0].where.features.subset | \"hisparse\" | a list of tokens"},
        Case{"set_list", R"([{"op":"add","path":"/rows/0/where/features","value":["hisparse"]}])",
             "rows[0].where.features | [\"hisparse\"] | \"*\" or an object of subset, includes, "
             "none_of"},
        Case{"version", R"([{"op":"add","path":"/rows/0/where/driver","value":{"min":570}}])",
             "rows[0].where.driver.min | 570 | a version: a string of 1 to 4 dotted integers"},
        Case{"other_type", R"([{"op":"add","path":"/rows/0/where/heads/subset","value":[]}])",
             "rows[0].where.heads.subset | [] | no such operator here: the dimension is of type "
             "int, which takes "
             "\"*\" or an object of min, max, multiple_of, one_of, pow2"},
        Case{"arch", R"([{"op":"add","path":"/rows/0/where/arch","value":["sm_80-sm_90"]}])",
             "rows[0].where.arch[0] | \"sm_80-sm_90\" | a range stays inside one major version; "
             "sm_80 and sm_90 "
             "have 8 and 9"},
        Case{"mixed",
             R"([{"op":"add","path":"/rows/0/where/acme.t","value":{"max":1,"subset":[]}}])",
             "rows[0].where[\"acme.t\"].subset | [] | no such operator here: the dimension is of "
             "type int, which "
             "takes \"*\" or an object of min, max, multiple_of, one_of, pow2"}),
    [](const auto& param) { return std::string(param.param.name); });

INSTANTIATE_TEST_SUITE_P(
    Build, SchemaRefusal,
    testing::Values(
        Case{"object", R"([{"op":"add","path":"/build","value":1}])",
             "build | 1 | an object of targets, toolkit, flags, sanitizer, commit, sources, "
             "portable, "
             "evidence"},
        Case{"targets", R"([{"op":"add","path":"/build","value":{"targets":[1]}}])",
             "build.targets[0] | 1 | " DSAKIT_TOKEN_TEXT},
        Case{"flags", R"([{"op":"add","path":"/build","value":{"flags":{"CXX":1}}}])",
             "build.flags.CXX | 1 | a string of at most 256 bytes"},
        Case{"row", R"([{"op":"add","path":"/build","value":{"evidence":{"s":{}}}}])",
             "build.evidence.s | \"s\" | the name of a row of this file"},
        Case{"level",
             R"([{"op":"add","path":"/build","value":{"evidence":{"r":{"sm_90":"proven"}}}}])",
             "build.evidence.r.sm_90 | \"proven\" | hardware, emulated, compiled, declared"}),
    [](const auto& param) { return std::string(param.param.name); });

TEST(Schema, BuildIsForbiddenInSourceManifests) {
  const char* patch = R"([{"op":"add","path":"/build","value":{}}])";
  EXPECT_EQ(refusal(patch), "accepted");
  EXPECT_EQ(refusal(patch, ManifestKind::source),
            "build | {} | nothing: the build writes `build`, never a person");
}

TEST(Schema, CountsAreBounded) {
  json manifest = minimal();
  const json row = manifest["rows"][0];
  for (int i = 0; i < 64; ++i) {
    manifest["rows"][static_cast<std::size_t>(i)] = row;
    manifest["rows"][static_cast<std::size_t>(i)]["name"] = fmt::format("r{}", i);
  }
  EXPECT_TRUE(parse_manifest(manifest.dump(), "f"));
  manifest["rows"].push_back(row);
  auto parsed = parse_manifest(manifest.dump(), "f");
  ASSERT_FALSE(parsed);
  EXPECT_EQ(text_field(parsed.error(), "found"), "65 rows");

  manifest = minimal();
  for (int i = 0; i < 32; ++i) manifest["common"][fmt::format("a.b{}", i)] = "*";
  EXPECT_TRUE(parse_manifest(manifest.dump(), "f"));
  manifest["common"]["a.c"] = "*";
  parsed = parse_manifest(manifest.dump(), "f");
  ASSERT_FALSE(parsed);
  EXPECT_EQ(text_field(parsed.error(), "found"), "33 predicates");

  manifest = minimal();
  for (int i = 0; i < 65; ++i) manifest["rows"][0]["where"]["heads"]["one_of"].push_back(i);
  parsed = parse_manifest(manifest.dump(), "f");
  ASSERT_FALSE(parsed);
  EXPECT_EQ(text_field(parsed.error(), "found"), "65 values");
}

TEST(Schema, UnknownOperatorLosesItsRowNotTheFile) {
  json manifest = minimal();
  manifest["rows"][0]["where"] = {{"heads", {{"not_one_of", {3}}, {"min", 1}}},
                                  {"kv_dtype", {{"matches", "fp8"}}},
                                  {"features", {{"subset", {"a"}}, {"at_most", 1}}}};
  const auto parsed = parse_manifest(manifest.dump(), "f");
  ASSERT_TRUE(parsed) << render_text(parsed.error());
  const Where& where = parsed->manifest.rows[0].where;
  EXPECT_EQ(where.at("heads").unknown_operator, "not_one_of");
  EXPECT_EQ(where.at("heads").min, 1);
  EXPECT_EQ(where.at("heads").json, R"({"min":1,"not_one_of":[3]})");
  EXPECT_EQ(where.at("kv_dtype").unknown_operator, "matches");
  EXPECT_EQ(where.at("features").unknown_operator, "at_most");
}

TEST(Schema, ADimensionDeclaredElsewhereIsReadByShape) {
  const auto read = [](const char* text) {
    return *parse_predicate(json::parse(text), std::nullopt, "f", "p");
  };
  EXPECT_EQ(read("\"*\"").kind, Predicate::Kind::any);
  EXPECT_EQ(read(R"(["a"])").kind, Predicate::Kind::list);
  EXPECT_EQ(read(R"({"min":1})").kind, Predicate::Kind::integer);
  EXPECT_EQ(read(R"({"min":"1"})").kind, Predicate::Kind::version);
  EXPECT_EQ(read(R"({"below":"2","min":"1"})").kind, Predicate::Kind::version);
  EXPECT_EQ(read(R"({"subset":[]})").kind, Predicate::Kind::set);

  using enum DimType;
  const auto fits = [&](const char* text) {
    std::string types;
    for (const DimType type : {token, integer, set, version, arch}) {
      if (predicate_fits(read(text), type)) types += std::string(dim_type_name(type)) + " ";
    }
    return types;
  };
  EXPECT_EQ(fits("\"*\""), "token int set version arch ");
  EXPECT_EQ(fits("{}"), "int set version ");
  EXPECT_EQ(fits(R"(["a"])"), "token arch ");
  EXPECT_EQ(fits(R"(["sm_80-sm_90"])"), "token ");
  EXPECT_EQ(fits(R"({"one_of":[1]})"), "int ");
  EXPECT_EQ(fits(R"({"none_of":["a"]})"), "set ");
  EXPECT_EQ(fits(R"({"min":"1"})"), "version ");
  EXPECT_EQ(fits(R"({"newer":1})"), "token int set version arch ");
  EXPECT_EQ(fits(R"({"newer":1,"max":2})"), "int ");
}

TEST(Schema, UnknownKeysAreWarningsExceptExtensions) {
  json manifest = minimal();
  manifest["sumary"] = "x";
  manifest["x-tool"] = 1;
  manifest["rows"][0]["ranks"] = 1;
  manifest["abi"]["x-note"] = 1;
  const auto parsed = parse_manifest(manifest.dump(), "f");
  ASSERT_TRUE(parsed);
  ASSERT_EQ(parsed->warnings.size(), 2U);
  EXPECT_EQ(parsed->warnings[0].code, Code::W0110);
  EXPECT_EQ(text_field(parsed->warnings[0], "path"), "rows[0].ranks");
  EXPECT_EQ(parsed->warnings[0].notes,
            (std::vector<std::string>{"the nearest known key is `rank`"}));
  EXPECT_EQ(text_field(parsed->warnings[1], "path"), "sumary");
}

}  // namespace
}  // namespace dsakit
