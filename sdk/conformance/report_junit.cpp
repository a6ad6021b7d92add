// A report as JUnit XML.
#include <array>

#include <fmt/format.h>

#include "sdk/conformance/runner.hpp"

namespace dsakit::conformance {
namespace {

constexpr int kSuites = 6;  // levels

// Text inside an attribute; characters that XML 1.0 does not have become `?`.
std::string xml(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\n':
        escaped += "&#10;";
        break;
      default:
        escaped += code < 0x20 || code > 0x7E ? '?' : c;
    }
  }
  return escaped;
}

std::string test_case(const Report& report, const CheckResult& r) {
  const std::string row = r.row.empty() ? "" : "." + r.row;
  std::string text = fmt::format("    <testcase classname=\"{}\" name=\"{}\" time=\"{:.3f}\"",
                                 xml(report.id + row), xml(r.name), r.milliseconds / 1000);
  if (r.result == Result::pass) return text + "/>\n";
  const char* element = r.result == Result::fail   ? "failure"
                        : r.result == Result::skip ? "skipped"
                                                   : "error";
  return text +
         fmt::format(">\n      <{} message=\"{}\"/>\n    </testcase>\n", element, xml(r.reason));
}

std::string test_suite(const Report& report, int level) {
  std::array<int, 4> counts{};
  double milliseconds = 0;
  std::string cases;
  for (const CheckResult& r : report.results) {
    if (r.level != level) continue;
    ++counts[static_cast<std::size_t>(r.result)];
    milliseconds += r.milliseconds;
    cases += test_case(report, r);
  }
  if (cases.empty()) return "";
  const auto count = [&](Result result) { return counts[static_cast<std::size_t>(result)]; };
  return fmt::format(
             "  <testsuite name=\"L{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" "
             "skipped=\"{}\" time=\"{:.3f}\">\n",
             level, counts[0] + counts[1] + counts[2] + counts[3], count(Result::fail),
             count(Result::broken), count(Result::skip), milliseconds / 1000) +
         cases + "  </testsuite>\n";
}

}  // namespace

std::string report_junit(const Report& report) {
  std::string text = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuites name=\"{} {}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\">\n",
      xml(report.id), xml(report.version), report.results.size(), report.count(Result::fail),
      report.count(Result::broken), report.count(Result::skip));
  for (int level = 0; level < kSuites; ++level) text += test_suite(report, level);
  return text + "</testsuites>\n";
}

}  // namespace dsakit::conformance
