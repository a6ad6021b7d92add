// Evidence records: their schema, when they count, and what they do to the levels of a built
// manifest.
#include "manifest/evidence.hpp"

#include <gtest/gtest.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "diag/render.hpp"
#include "manifest/schema.hpp"
#include "manifest/sha256.hpp"

namespace dsakit {
namespace {

using nlohmann::json;

const std::string kSources = sha256("the sources");

Manifest built(const char* patch = "[]") {
  json source = json::parse(R"({"schema":1,"id":"alpha","version":[1,0,0],"abi":{"min":1,"max":1},
    "common":{"platform":["cuda"],"arch":["sm_90","sm_100f"]},
    "rows":[{"name":"a","where":{"heads":{"max":64}},"rank":5,"provides":{"kv_layout":"bf16_1152"}},
            {"name":"b","where":{"heads":{"max":128}},"rank":4,"provides":{"kv_layout":"bf16_1024"}}],
    "build":{"targets":["sm_90a","sm_100f"],"toolkit":"GNU 12.2.0, NVIDIA 13.0.88"}})");
  source["build"]["sources"] = kSources;
  auto parsed = parse_manifest(source.patch(json::parse(patch)).dump(), "m.json");
  if (!parsed) throw std::runtime_error(render_text(parsed.error()));
  return std::move(parsed->manifest);
}

EvidenceRecord record(const std::string& arch = "sm_90") {
  const Manifest manifest = built();
  EvidenceRecord out{.plugin = "alpha",
                     .date = "2026-11-30",
                     .device = "NVIDIA H200",
                     .arch = arch,
                     .driver = "580.65",
                     .runtime = "13.0",
                     .build = manifest.build,
                     .tier = "reduced",
                     .levels = {{0, 5, 5, {}}, {1, 4, 9, {"negotiation.probe"}}},
                     .rows = {}};
  out.build.flags = {{"CUDA", "-O3"}};
  for (const Row& row : manifest.rows) {
    out.rows.push_back({row.name,
                        row_digest(manifest, row),
                        {{3, 2, 20, {}}, {4, 30, 300, {"numerics.ragged"}}},
                        WorstError{3.1e-4, 2e-3, 0.25},
                        WorstError{2e-7, 1e-7, 0.125}});
  }
  return out;
}

// The levels of a manifest once `records` are known: "a: sm_90 hardware …; b: …".
std::string levels(Manifest manifest, const std::vector<EvidenceRecord>& records) {
  write_levels(manifest, records);
  std::string out;
  for (const Row& row : manifest.rows) {
    out += row.name + ":";
    for (const char* device : {"sm_90", "sm_100", "sm_103"})
      out += " " + evidence_level(manifest, row.name, device);
    out += "; ";
  }
  return out;
}

constexpr const char* kCompiled = "a: compiled compiled compiled; b: compiled compiled compiled; ";
constexpr const char* kHopper = "a: hardware compiled compiled; b: hardware compiled compiled; ";

TEST(Sha256, AnswersAsTheStandardSays) {
  EXPECT_EQ(sha256(""), "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"),
            "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "sha256:248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256(std::string(1000000, 'a')),
            "sha256:cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  EXPECT_TRUE(is_sha256(kSources));
  EXPECT_FALSE(is_sha256("sha256:ABCD"));
}

TEST(Evidence, IsReadAsItIsWritten) {
  const std::string text = evidence_json(record());
  const auto read = parse_evidence(text, "f");
  ASSERT_TRUE(read) << render_text(read.error());
  EXPECT_EQ(evidence_json(*read), text);
  EXPECT_EQ(read->rows[1].levels[1].skipped, std::vector<std::string>{"numerics.ragged"});
  EXPECT_EQ(read->rows[0].out->absolute, 3.1e-4);
}

// As bench writes them.
MeasuredTimes some_times() {
  MeasuredTimes times;
  times.date = "2026-12-01";
  times.seed = 3;
  times.baseline = "another kernel";
  times.ceilings = {{"gather", "TB/s", 4.2, 4.25}, {"product", "TFLOP/s", 0, 793}};
  times.empty_kernel = 0.64;
  times.clock = {1965, 1980, 1980};
  TimedShape& shape = times.shapes.emplace_back();
  shape.row = "a";
  shape.phase = "decode";
  shape.heads = 64;
  shape.topk = 2048;
  shape.tokens = 8;
  shape.pool = 131072;
  shape.features = {"attn_sink"};
  shape.clean = {10.25, 10.5};
  shape.dirty = {11};
  shape.baseline_clean = 55.81;
  return times;
}

TEST(Evidence, TimesAreReadAsTheyAreWritten) {
  EvidenceRecord both = record();
  both.times = some_times();
  const std::string text = evidence_json(both);
  const auto read = parse_evidence(text, "f");
  ASSERT_TRUE(read) << render_text(read.error());
  EXPECT_EQ(evidence_json(*read), text);
  EXPECT_EQ(read->times->shapes[0].clean, (std::vector<double>{10.25, 10.5}));
  EXPECT_FALSE(read->times->shapes[0].baseline_dirty);
  EXPECT_EQ(levels(built(), {*read}), kHopper) << "times say nothing about a level";
}

TEST(Evidence, EachToolKeepsWhatTheOtherWrote) {
  EvidenceRecord timed = record();
  timed.times = some_times();
  timed.tier.clear();
  timed.levels.clear();
  timed.rows.clear();
  timed.date = "2026-12-01";
  const EvidenceRecord judged = record();
  EvidenceRecord by_bench = timed;
  keep_other_part(by_bench, judged);
  EXPECT_EQ(by_bench.tier, "reduced");
  EXPECT_EQ(by_bench.date, judged.date);
  EXPECT_EQ(by_bench.rows.size(), 2u);
  EvidenceRecord by_conform = judged;
  keep_other_part(by_conform, timed);
  EXPECT_EQ(evidence_json(by_conform), evidence_json(by_bench));
  EvidenceRecord again = judged;
  again.tier = "full";
  keep_other_part(again, by_bench);
  EXPECT_EQ(again.tier, "full") << "what is fresh stays";
  for (const auto change : {+[](EvidenceRecord& old) { old.build.sources = sha256("others"); },
                            +[](EvidenceRecord& old) { old.build.toolkit = "GNU 13.1.0"; },
                            +[](EvidenceRecord& old) { old.device = "NVIDIA H100"; }}) {
    EvidenceRecord other = judged;
    change(other);
    EvidenceRecord alone = timed;
    keep_other_part(alone, other);
    EXPECT_FALSE(alone.judged());
  }
}

// "path | found | allowed" of the refusal of a record into which `patch` (RFC 6902) was worked.
std::string record_refusal(const char* patch) {
  const auto read =
      parse_evidence(json::parse(evidence_json(record())).patch(json::parse(patch)).dump(), "f");
  if (read) return "accepted";
  const Diagnostic& error = read.error();
  if (error.code != Code::E0119) return std::string(code_name(error.code));
  std::string out;
  for (const Field& field : error.fields)
    if (field.name != "file")
      out += (out.empty() ? "" : " | ") + std::get<std::string>(field.value);
  return out;
}

TEST(Evidence, RefusesTimesThatItDoesNotKnow) {
  EvidenceRecord timed = record();
  timed.times = some_times();
  timed.tier.clear();
  const json whole = json::parse(evidence_json(timed));
  ASSERT_TRUE(parse_evidence(whole.dump(), "f")) << "times need no judged part";
  const auto refusal = [&](const char* patch) {
    const auto read = parse_evidence(whole.patch(json::parse(patch)).dump(), "f");
    return read ? "accepted" : render_text(read.error());
  };
  const auto expect = [&](const char* patch, const char* path) {
    EXPECT_NE(refusal(patch).find(path), std::string::npos) << refusal(patch);
  };
  expect(R"([{"op":"add","path":"/levels","value":[]}])", "tier");
  expect(R"([{"op":"add","path":"/times/fastest","value":true}])", "times.fastest");
  expect(R"([{"op":"replace","path":"/times/date","value":"today"}])", "times.date");
  expect(R"([{"op":"replace","path":"/times/shapes/0/clean","value":[]}])",
         "times.shapes[0].clean");
  expect(R"([{"op":"replace","path":"/times/shapes/0/dirty/0","value":-1}])", "dirty[0]");
  expect(R"([{"op":"replace","path":"/times/shapes/0/heads","value":0}])", "heads");
  expect(R"([{"op":"replace","path":"/times/shapes/0/baseline","value":[]}])", "baseline");
  expect(R"([{"op":"add","path":"/times/shapes/0/own_pools","value":1}])", "own_pools");
  expect(R"([{"op":"replace","path":"/times/ceilings/0/here","value":"4"}])", "ceilings[0].here");
  expect(R"([{"op":"replace","path":"/times","value":[]}])", "times");
}

TEST(Evidence, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(record_refusal("[]"), "accepted");
  EXPECT_EQ(record_refusal(R"([{"op":"add","path":"/level","value":"hardware"}])"),
            "level | \"hardware\" | no such key");
  EXPECT_EQ(record_refusal(R"([{"op":"add","path":"/rows/0/evidence","value":"hardware"}])"),
            "rows[0].evidence | \"hardware\" | no such key");
  EXPECT_EQ(
      record_refusal(R"([{"op":"remove","path":"/date"}])"),
      "date | nothing | an object of schema, plugin, date, device, build, tier, levels, rows");
  EXPECT_EQ(record_refusal(R"([{"op":"replace","path":"/schema","value":2}])"),
            "schema | 2 | an integer from 1 to 1");
  EXPECT_EQ(record_refusal(R"([{"op":"replace","path":"/date","value":"30 Nov 2026"}])"),
            "date | \"30 Nov 2026\" | a date such as 2026-11-30");
  EXPECT_EQ(record_refusal(R"([{"op":"replace","path":"/device/arch","value":"sm_91"}])"),
            "device.arch | \"sm_91\" | a device that dsakit knows");
  EXPECT_EQ(record_refusal(R"([{"op":"replace","path":"/build/sources","value":"abc"}])"),
            "build.sources | \"abc\" | sha256: and 64 digits 0-9 a-f");
  EXPECT_EQ(record_refusal(R"([{"op":"replace","path":"/tier","value":"some"}])"),
            "tier | \"some\" | reduced or full");
  EXPECT_EQ(record_refusal(R"([{"op":"replace","path":"/rows/0/levels/1/level","value":3}])"),
            "rows[0].levels | levels out of order | each level once, ascending");
  EXPECT_EQ(record_refusal(R"([{"op":"replace","path":"/rows/0/levels/1/checks","value":0}])"),
            "rows[0].levels[1].checks | 0 | an integer from 1 to 1048576");
  EXPECT_EQ(record_refusal(
                R"([{"op":"replace","path":"/rows/0/worst_error/out/of_allowed","value":1.5}])"),
            "rows[0].worst_error.out.of_allowed | 1.5 | a number from 0 to 1");
  EXPECT_EQ(record_refusal(R"([{"op":"replace","path":"/rows/1/row","value":"a"}])"),
            "rows[1].row | \"a\" | each row once");
  EXPECT_EQ(record_refusal(R"([{"op":"replace","path":"/rows","value":{}}])"),
            "rows | {} | a list of at most 1024");
  EXPECT_EQ(parse_evidence("{\"a\":1,\"a\":1}", "f").error().code, Code::E0106);
}

// Every value in `whole` by its JSON pointer.
void pointers(const json& value, const std::string& at, std::vector<std::string>& out) {
  out.push_back(at);
  if (!value.is_structured()) return;
  std::size_t i = 0;
  for (const auto& [key, member] : value.items())
    pointers(member, at + "/" + (value.is_array() ? std::to_string(i++) : key), out);
}

TEST(Evidence, AnswersWhateverStandsInItsPlaces) {
  const json whole = json::parse(evidence_json(record()));
  std::vector<std::string> places;
  pointers(whole, "", places);
  ASSERT_GT(places.size(), 60U);
  int refused = 0;
  for (const std::string& place : places) {
    for (const char* value :
         {"null", "true", "-1", "1e300", "\"\"", "[null]", "{}", "[[[[[[[[[1]]]]]]]]]"}) {
      json changed = whole;
      changed[json::json_pointer(place)] = json::parse(value);
      const auto read = parse_evidence(changed.dump(), "f");
      if (!read) ++refused;
      if (read) {
        EXPECT_TRUE(parse_evidence(evidence_json(*read), "f")) << place << " " << value;
      }
    }
  }
  EXPECT_GT(refused, 400);
  const std::string text = evidence_json(record());
  for (std::size_t size = 0; size + 2 < text.size(); size += 7)
    EXPECT_FALSE(parse_evidence(text.substr(0, size), "f")) << size;
}

TEST(Evidence, ARowIsWhatItServesAndProvides) {
  const Manifest before = built();
  const auto digest = [](const Manifest& manifest) {
    return row_digest(manifest, manifest.rows.front());
  };
  EXPECT_NE(row_digest(before, before.rows[0]), row_digest(before, before.rows[1]));
  for (const char* changed : {R"([{"op":"replace","path":"/rows/0/where/heads/max","value":65}])",
                              R"([{"op":"add","path":"/rows/0/where/topk","value":{"max":1}}])",
                              R"([{"op":"replace","path":"/common/arch","value":["sm_90"]}])",
                              R"([{"op":"add","path":"/rows/0/provides/page_size","value":64}])"})
    EXPECT_NE(digest(built(changed)), digest(before)) << changed;
  for (const char* same : {R"([{"op":"replace","path":"/rows/0/rank","value":6}])",
                           R"([{"op":"add","path":"/rows/0/note","value":"said otherwise"}])",
                           R"([{"op":"replace","path":"/rows/1/where/heads/max","value":256}])",
                           R"([{"op":"remove","path":"/common/platform"},
            {"op":"add","path":"/rows/0/where/platform","value":["cuda"]}])"})
    EXPECT_EQ(digest(built(same)), digest(before)) << same;
}

TEST(Levels, ARunProvesTheRowsThatRan) {
  EXPECT_EQ(levels(built(), {}), kCompiled);
  EXPECT_EQ(levels(built(), {record()}), kHopper);
  EvidenceRecord one = record();
  one.rows.pop_back();
  EXPECT_EQ(levels(built(), {one}),
            "a: hardware compiled compiled; b: compiled compiled compiled; ");
}

TEST(Levels, CodeThatRanOnAnotherDeviceIsEmulated) {
  EXPECT_EQ(levels(built(), {record("sm_100")}),
            "a: compiled hardware emulated; b: compiled hardware emulated; ");
  EXPECT_EQ(levels(built(), {record("sm_103"), record("sm_100"), record()}),
            "a: hardware hardware hardware; b: hardware hardware hardware; ");
}

TEST(Levels, PortableCodeThatRanSpeaksForItsPlatform) {
  const Manifest portable = built(R"([{"op":"add","path":"/build/portable","value":true}])");
  EXPECT_EQ(levels(portable, {record()}),
            "a: hardware emulated emulated; b: hardware emulated emulated; ");
  const Manifest without = built(R"([{"op":"add","path":"/build/portable","value":true},
      {"op":"replace","path":"/build/targets","value":["sm_100f"]}])");
  EXPECT_EQ(levels(without, {record()}),
            "a: declared emulated emulated; b: declared emulated emulated; ")
      << "the file needs no code for the device that ran";
  EXPECT_EQ(levels(portable, {record("cpu")}), kCompiled) << "of another platform";
}

TEST(Levels, ArithmeticOfAGpuSpeaksForItAlone) {
  const Manifest fp8 = built(R"([{"op":"add","path":"/build/portable","value":true},
      {"op":"add","path":"/rows/0/where/compute","value":["fp8"]}])");
  EvidenceRecord fresh = record();
  for (RowEvidence& row : fresh.rows)
    row.digest = row_digest(fp8, fp8.rows[row.row == "a" ? 0 : 1]);
  EXPECT_EQ(levels(fp8, {fresh}), "a: hardware compiled compiled; b: hardware emulated emulated; ");
}

TEST(Levels, AnEmulatorIsNoHardware) {
  EvidenceRecord emulator = record();
  emulator.emulated = true;
  const auto read = parse_evidence(evidence_json(emulator), "f");
  ASSERT_TRUE(read) << render_text(read.error());
  EXPECT_EQ(levels(built(), {*read}),
            "a: emulated compiled compiled; b: emulated compiled compiled; ");
}

TEST(Levels, AChangedRowFallsAlone) {
  const Manifest changed =
      built(R"([{"op":"replace","path":"/rows/0/where/heads/max","value":65}])");
  EXPECT_EQ(levels(changed, {record()}),
            "a: compiled compiled compiled; b: hardware compiled compiled; ");
  EXPECT_EQ(stale_rows(record(), changed), std::vector<std::string>{"a"});
  EXPECT_EQ(stale_rows(record(), built()), std::vector<std::string>{});
}

TEST(Levels, OtherCodeFallsBack) {
  const auto with = [](const char* key, const std::string& value) {
    return built(
        fmt::format(R"([{{"op":"add","path":"/build/{}","value":"{}"}}])", key, value).c_str());
  };
  for (const Manifest& other : {with("sources", sha256("others")), with("sources", ""),
                                with("toolkit", "GNU 13.1.0, NVIDIA 13.0.88"),
                                with("toolkit", "GNU 12.2.0"), with("sanitizer", "address")}) {
    EXPECT_EQ(levels(other, {record()}), kCompiled);
    EXPECT_TRUE(why_stale(record(), other));
  }
  for (const Manifest& same : {with("toolkit", "GNU 12.4.0, NVIDIA 13.1.2"), with("commit", "fed")})
    EXPECT_EQ(levels(same, {record()}), kHopper);
}

TEST(Levels, WithoutNumericsNothingIsProven) {
  EvidenceRecord weak = record();
  weak.rows[0].levels.pop_back();                          // level 3 alone
  weak.rows[1].levels.erase(weak.rows[1].levels.begin());  // level 4 alone
  EXPECT_EQ(levels(built(), {weak}), kCompiled);
}

TEST(Levels, NoRecordReachesBeyondItsCode) {
  const Manifest narrow = built(R"([{"op":"replace","path":"/build/targets","value":["sm_90a"]}])");
  EXPECT_EQ(levels(narrow, {record("sm_100")}),
            "a: compiled declared declared; b: compiled declared declared; ");
}

}  // namespace
}  // namespace dsakit
