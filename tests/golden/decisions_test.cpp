// The enumerated launches: for each request the session that the catalogue must choose, or none.
// Each line also holds what upstream's own rules answer, which is not compared.
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "golden/support.hpp"

namespace dsakit::golden {
namespace {

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> cells;
  std::stringstream stream(line);
  for (std::string cell; std::getline(stream, cell, ',');) cells.push_back(cell);
  return cells;
}

std::string expected(const std::map<std::string, std::string>& cells) {
  const std::string& prefill = cells.at("expect_prefill");
  return prefill.empty()
             ? "rejected"
             : prefill + "/" + cells.at("expect_decode") + "/" + cells.at("expect_layout");
}

Json request_of(const std::map<std::string, std::string>& cells) {
  Json request = golden_request(cells.at("arch"), cells.at("family"),
                                cells.at("upstream_kv") == "bfloat16" ? "bf16" : "fp8_e4m3",
                                cells.at("hisparse") == "1");
  if (const std::string& id = cells.at("user_prefill"); !id.empty()) request["prefill"] = id;
  if (const std::string& id = cells.at("user_decode"); !id.empty()) request["decode"] = id;
  return request;
}

using Cells = std::map<std::string, std::string>;

const std::vector<Cells>& lines() {
  static const std::vector<Cells> all = [] {
    std::vector<Cells> result;
    std::ifstream in(DSAKIT_GOLDEN_DECISIONS);
    std::string line;
    std::getline(in, line);
    const std::vector<std::string> header = split(line);
    while (std::getline(in, line)) {
      const std::vector<std::string> values = split(line);
      Cells cells;
      for (std::size_t i = 0; i < header.size(); ++i)
        cells.emplace(header[i], i < values.size() ? values[i] : "");
      result.push_back(std::move(cells));
    }
    return result;
  }();
  return all;
}

std::vector<std::string> devices() {
  std::set<std::string> names;
  for (const Cells& cells : lines()) names.insert(cells.at("arch"));
  return {names.begin(), names.end()};
}

class Decisions : public testing::TestWithParam<std::string> {};

TEST_P(Decisions, EveryLineOfADevice) {
  int wrong = 0;
  for (const Cells& cells : lines()) {
    if (cells.at("arch") != GetParam()) continue;
    const Json request = request_of(cells);
    const std::string actual = outcome(resolve(sglang(), request));
    if (actual == expected(cells)) continue;
    if (++wrong <= 10)
      ADD_FAILURE() << request << "\n  gives " << actual << "\n  not " << expected(cells);
  }
  EXPECT_EQ(wrong, 0);
}

INSTANTIATE_TEST_SUITE_P(Golden, Decisions, testing::ValuesIn(devices()),
                         [](const auto& device) { return device.param; });

TEST(DecisionsFile, IsComplete) {
  EXPECT_EQ(lines().size(), 23989U);
  EXPECT_EQ(devices().size(), 8U);
}

}  // namespace
}  // namespace dsakit::golden
