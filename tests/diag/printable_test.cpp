#include "diag/printable.hpp"

#include <gtest/gtest.h>

namespace dsakit {
namespace {

TEST(Printable, OrdinaryTextIsUntouched) {
  for (const char* text :
       {"", "sm_90 ~`\"'\\", "Grüße", "… → ◄ 中文 🙂", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_EQ(printable(text), text);
  }
}

TEST(Printable, ControlBytesShowTheirNumber) {
  EXPECT_EQ(printable("a\x1b[31mb"), "a\\x1b[31mb");
  EXPECT_EQ(printable(std::string_view("\0\a\b\r\t\x7f", 6)), "\\x00\\x07\\x08\\x0d\\x09\\x7f");
  EXPECT_EQ(printable("one\ntwo"), "one\\x0atwo");
  EXPECT_EQ(printable("one\ntwo\r", true), "one\ntwo\\x0d");
}

TEST(Printable, BytesThatAreNotUtf8ShowTheirNumber) {
  EXPECT_EQ(printable("\xff\xfe"), "\\xff\\xfe");
  EXPECT_EQ(printable("\xc3"), "\\xc3");                             // cut short
  EXPECT_EQ(printable("\xc3("), "\\xc3(");                           // no continuation
  EXPECT_EQ(printable("\xc0\x8a"), "\\xc0\\x8a");                    // a line feed in two bytes
  EXPECT_EQ(printable("\xe0\x80\x8a"), "\\xe0\\x80\\x8a");           // in three
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");           // a surrogate
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // above U+10FFFF
  EXPECT_EQ(printable("\x9b"
                      "31m"),
            "\\x9b"
            "31m");
}

TEST(Printable, MarksThatSteerATerminalShowTheirNumber) {
  EXPECT_EQ(printable("\xc2\x9b"), "\\u{009b}");
  EXPECT_EQ(printable("\xc2\xa0"), "\xc2\xa0");
  EXPECT_EQ(printable("a\xe2\x80\xae"
                      "b\xe2\x81\xa6"),
            "a\\u{202e}b\\u{2066}");
  EXPECT_EQ(printable("\xe2\x80\xa8\xef\xbb\xbf"), "\\u{2028}\\u{feff}");
}

}  // namespace
}  // namespace dsakit
