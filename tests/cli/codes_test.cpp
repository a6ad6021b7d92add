// Each code has a page, and each is triggered by a golden case or a test.
#include <fstream>

#include <gtest/gtest.h>

#include "cli/ui_case.hpp"
#include "diag/diagnostic.hpp"
#include "embedded.hpp"
#include "support/fake_plugin.hpp"

namespace dsakit {
namespace {

namespace fs = std::filesystem;

std::string page_of(Code code) {
  for (const EmbeddedFile& page : embedded_code_pages()) {
    if (page.path == std::string(code_name(code)) + ".md") return std::string(page.text);
  }
  return "";
}

TEST(Codes, EachHasAPageThatSaysWhatToDo) {
  for (const Code code : all_codes()) {
    const std::string page = page_of(code);
    EXPECT_TRUE(page.starts_with("# " + std::string(code_name(code)) + ": ")) << code_name(code);
    EXPECT_NE(page.find("**What to do.**"), std::string::npos) << code_name(code);
  }
}

TEST(Codes, EachPageIsOfACode) {
  for (const EmbeddedFile& page : embedded_code_pages()) {
    EXPECT_TRUE(find_code(page.path.substr(0, page.path.find('.')))) << page.path;
  }
}

// What golden files print and what tests name.
std::string all_triggers() {
  std::string out;
  for (const std::string& name : test::ui_case_names()) {
    out += test::read_file(test::ui_case_folder(name) / "expected.txt");
  }
  for (const auto& entry : fs::recursive_directory_iterator(DSAKIT_TESTS_DIR)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with("_test.cpp") && name != "codes_test.cpp")
      out += test::read_file(entry.path());
  }
  return out;
}

TEST(Codes, EachIsTriggeredByATest) {
  const std::string triggers = all_triggers();
  for (const Code code : all_codes()) {
    const std::string name(code_name(code));
    const bool printed = triggers.find("[" + name + "]") != std::string::npos ||
                         triggers.find("\"code\":\"" + name + "\"") != std::string::npos;
    const bool tested = triggers.find("Code::" + name) != std::string::npos ||
                        triggers.find("\"" + name + "\"") != std::string::npos;
    EXPECT_TRUE(printed || tested) << name;
  }
}

}  // namespace
}  // namespace dsakit
