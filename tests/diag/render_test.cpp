#include "diag/render.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace dsakit {
namespace {

using nlohmann::json;

Diagnostic full() {
  Diagnostic d = Diagnostic(Code::E0203)
                     .with("backend", "trtllm")
                     .with("phase", "decode")
                     .with("what", "GPU")
                     .from({"--decode-backend trtllm", "command line"})
                     .note("sm_100 code cannot run on sm_120");
  d.evidence = {{"request", "arch = sm_120"}, {"row gen", "arch accepts sm_100"}};
  d.helps = {"`tilelang` serves this request"};
  return d;
}

TEST(Render, TextHasEveryPartInOrder) {
  EXPECT_EQ(render_text(full()),
            "error[E0203]: `trtllm` has no decode kernel for this GPU\n"
            "  --> --decode-backend trtllm  (command line)\n"
            "   |  request  arch = sm_120\n"
            "   |  row gen  arch accepts sm_100\n"
            "   = note: sm_100 code cannot run on sm_120\n"
            "   = help: `tilelang` serves this request\n");
}

TEST(Render, ColourOnlyAddsEscapes) {
  const std::string coloured = render_text(full(), {.color = true});
  std::string plain;
  for (std::size_t i = 0; i < coloured.size(); ++i) {
    if (coloured[i] == '\x1b') {
      i = coloured.find('m', i);
    } else {
      plain += coloured[i];
    }
  }
  EXPECT_NE(coloured, plain);
  EXPECT_EQ(plain, render_text(full()));
}

TEST(Render, AWarningSaysSo) {
  EXPECT_EQ(render_text(Diagnostic(Code::W0114)), "warning[W0114]: no backend was found\n");
  EXPECT_EQ(json::parse(render_json(Diagnostic(Code::W0114)))["level"], "warning");
}

TEST(Render, AMissingFieldLeavesItsName) {
  EXPECT_EQ(headline(Diagnostic(Code::E0101).with("file", "a.so")),
            "cannot read `{file}`: {reason}");
}

TEST(Render, HostileBytesReachNoTerminal) {
  const auto d = Diagnostic(Code::E0104).with("file", "a\x1b[31m\n.so").note("x\ry");
  const std::string text = render_text(d);
  EXPECT_EQ(text,
            "error[E0104]: `a\\x1b[31m\\x0a.so` carries no dsakit manifest\n   = note: x\\x0dy\n");
}

TEST(Render, BracesInAFieldAreText) {
  EXPECT_EQ(headline(Diagnostic(Code::E0104).with("file", "{reason}{0}{")),
            "`{reason}{0}{` carries no dsakit manifest");
}

TEST(Render, JsonHasFieldsAndLeavesEmptyListsOut) {
  const json parsed = json::parse(render_json(full()));
  EXPECT_EQ(parsed["code"], "E0203");
  EXPECT_EQ(parsed["level"], "error");
  EXPECT_EQ(parsed["message"], "`trtllm` has no decode kernel for this GPU");
  EXPECT_EQ(parsed["backend"], "trtllm");
  EXPECT_EQ(parsed["origins"],
            json::parse(R"([{"text":"--decode-backend trtllm","source":"command line"}])"));
  EXPECT_EQ(parsed["helps"].size(), 1u);
  EXPECT_FALSE(json::parse(render_json(Diagnostic(Code::W0114))).contains("notes"));
}

TEST(Render, JsonSplicesNumbersAndRawJson) {
  const auto d = Diagnostic(Code::E0302)
                     .with("phases", "decode")
                     .with("count", 2)
                     .with("sessions", RawJson{R"([{"decode":"aiter"}])"});
  const json parsed = json::parse(render_json(d));
  EXPECT_EQ(parsed["count"], 2);
  EXPECT_EQ(parsed["sessions"][0]["decode"], "aiter");
}

TEST(Render, JsonStaysJsonWithBytesThatAreNotUtf8) {
  const auto d = Diagnostic(Code::E0104).with("file", "bad \xff\xfe name");
  EXPECT_EQ(json::parse(render_json(d))["code"], "E0104");
}

TEST(Render, ChildrenFollowTheirParentInJsonArrays) {
  Diagnostic parent(Code::E0301);
  parent.children = {Diagnostic(Code::E0203), Diagnostic(Code::W0114)};
  const std::vector<Diagnostic> all{parent, Diagnostic(Code::E0104)};
  std::vector<std::string> codes;
  for (const json& entry : json::parse(render_json(all))) codes.push_back(entry["code"]);
  EXPECT_EQ(codes, (std::vector<std::string>{"E0301", "E0203", "W0114", "E0104"}));
}

}  // namespace
}  // namespace dsakit
