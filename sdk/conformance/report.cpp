// A report as text and as JSON.
#include <algorithm>
#include <map>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "sdk/conformance/runner.hpp"

namespace dsakit::conformance {
namespace {

constexpr const char* kLevels[] = {"static", "negotiation", "negative",
                                   "truth",  "numerics",    "runtime"};

std::string tier_name(Tier tier) {
  return tier == Tier::full ? "full" : "reduced";
}

// Skips for the same reason are one line.
std::string skipped_lines(const Report& report) {
  constexpr std::size_t kShown = 3;
  std::map<std::string, std::vector<std::string>> by_reason;
  for (const CheckResult& r : report.results) {
    if (r.result != Result::skip) continue;
    std::vector<std::string>& names = by_reason[r.reason];
    if (std::ranges::find(names, r.name) == names.end()) names.push_back(r.name);
  }
  std::string text;
  for (auto& [reason, names] : by_reason) {
    const std::size_t more = names.size() > kShown ? names.size() - kShown : 0;
    names.resize(names.size() - more);
    text += fmt::format("skip  {}: {}{}\n", reason, fmt::join(names, ", "),
                        more > 0 ? fmt::format(" and {} more", more) : "");
  }
  return text;
}

// Failures of a row for one reason are one line, in the order of the first of each.
std::string failed_lines(const Report& report) {
  struct Line {
    const CheckResult* first;
    int more = 0;
  };
  std::vector<Line> lines;
  for (const CheckResult& r : report.results) {
    if (r.result != Result::fail && r.result != Result::broken) continue;
    const auto same = std::ranges::find_if(lines, [&](const Line& line) {
      return line.first->result == r.result && line.first->row == r.row &&
             line.first->reason == r.reason;
    });
    if (same == lines.end())
      lines.push_back({&r});
    else
      ++same->more;
  }
  std::string text;
  for (const auto& [first, more] : lines)
    text += fmt::format("{}  {}{}{}: {}\n", first->result == Result::fail ? "FAIL" : "BROKEN",
                        first->name, first->row.empty() ? "" : "/" + first->row,
                        more > 0 ? fmt::format(" and {} more", more) : "", first->reason);
  return text;
}

}  // namespace

std::string report_text(const Report& report) {
  std::string text = fmt::format("plugin {} {}  {}\n", report.id, report.version, report.file);
  for (int level = 0; level < 6; ++level) {
    int counts[4]{};
    int cases = 0;
    double milliseconds = 0;
    for (const CheckResult& r : report.results)
      if (r.level == level) {
        ++counts[static_cast<int>(r.result)];
        cases += r.cases;
        milliseconds += r.milliseconds;
      }
    if (counts[0] + counts[1] + counts[2] + counts[3] == 0) continue;
    text +=
        fmt::format("L{} {:<11}  {} passed, {} failed, {} skipped  ({} cases, {:.1f} s)\n", level,
                    kLevels[level], counts[0], counts[1], counts[2], cases, milliseconds / 1000);
  }
  text += skipped_lines(report);
  text += failed_lines(report);
  if (const CheckResult* first = report.refused_by())
    return text + fmt::format("does not conform: refused by {}\n", first->name);
  if (report.count(Result::broken) > 0)
    return text + fmt::format("not decided: the kit itself failed in {} checks\n",
                              report.count(Result::broken));
  if (report.undecided())
    return text + fmt::format("not decided: {} checks passed, {} need a device that is not here\n",
                              report.count(Result::pass), report.lacking_device());
  return text + fmt::format("conforms: {} check{} passed ({} tier)\n", report.count(Result::pass),
                            report.count(Result::pass) == 1 ? "" : "s", tier_name(report.tier));
}

std::string report_json(const Report& report) {
  using Json = nlohmann::ordered_json;
  Json checks = Json::array();
  for (const CheckResult& r : report.results) {
    Json check{{"check", r.name}, {"level", r.level}};
    if (!r.row.empty()) check["row"] = r.row;
    check["result"] = result_name(r.result);
    if (!r.reason.empty()) check["reason"] = r.reason;
    check["cases"] = r.cases;
    check["milliseconds"] = static_cast<std::int64_t>(r.milliseconds);
    checks.push_back(std::move(check));
  }
  Json json{{"plugin", report.id},
            {"version", report.version},
            {"file", report.file},
            {"tier", tier_name(report.tier)},
            {"verdict", report.undecided()  ? "undecided"
                        : report.conforms() ? "conforms"
                                            : "refused"}};
  if (const CheckResult* first = report.refused_by()) json["refused_by"] = first->name;
  json["passed"] = report.count(Result::pass);
  json["failed"] = report.count(Result::fail);
  json["skipped"] = report.count(Result::skip);
  json["broken"] = report.count(Result::broken);
  json["checks"] = std::move(checks);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace dsakit::conformance
