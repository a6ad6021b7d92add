// Reads evidence records strictly: every key is known and every value in range, or the first that
// is not is remembered with its path. For evidence_json.cpp and evidence_times.cpp alone. One
// thread.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "diag/diagnostic.hpp"
#include "manifest/evidence.hpp"
#include "manifest/json.hpp"
#include "manifest/sha256.hpp"
#include "manifest/value.hpp"

namespace dsakit::detail {

constexpr std::size_t kMostItems = 1024;  // of a list

// Reads values below one path; the first that is wrong is remembered and the rest is skipped.
class EvidenceReader {
 public:
  explicit EvidenceReader(const std::string& file) : file_(file) {}

  std::optional<Diagnostic> refusal;

  bool fail(const std::string& path, const std::string& found, std::string allowed) {
    if (!refusal) {
      refusal = Diagnostic(Code::E0119)
                    .with("file", file_)
                    .with("path", path.empty() ? "the top level" : path)
                    .with("found", found)
                    .with("allowed", std::move(allowed));
    }
    return false;
  }

  // An object of these keys and no other; those after `optional` may be missing.
  bool keys(const nlohmann::json& value, const std::string& path,
            const std::vector<std::string>& needed, const std::vector<std::string>& optional = {}) {
    const std::string allowed = fmt::format("an object of {}", fmt::join(needed, ", "));
    if (!value.is_object()) return fail(path, json_excerpt(value), allowed);
    for (const std::string& key : needed) {
      if (!value.contains(key)) return fail(join(path, key), "nothing", allowed);
    }
    for (const auto& [key, member] : value.items()) {
      if (std::ranges::find(needed, key) == needed.end() &&
          std::ranges::find(optional, key) == optional.end())
        return fail(join(path, key), json_excerpt(member), "no such key");
    }
    return true;
  }

  std::string text(const nlohmann::json& value, const std::string& path,
                   bool may_be_empty = false) {
    if (value.is_string() && (may_be_empty || !value.get_ref<const std::string&>().empty()))
      return value.get<std::string>();
    fail(path, json_excerpt(value), may_be_empty ? "a string" : "a string that is not empty");
    return "";
  }

  std::string word(const nlohmann::json& value, const std::string& path) {
    if (value.is_string() && is_token(value.get_ref<const std::string&>()))
      return value.get<std::string>();
    fail(path, json_excerpt(value), "a token");
    return "";
  }

  std::string digest(const nlohmann::json& value, const std::string& path) {
    if (value.is_string() && is_sha256(value.get_ref<const std::string&>()))
      return value.get<std::string>();
    fail(path, json_excerpt(value), "sha256: and 64 digits 0-9 a-f");
    return "";
  }

  int number(const nlohmann::json& value, const std::string& path, int low, int high) {
    if (value.is_number_integer() && value >= low && value <= high) return value.get<int>();
    fail(path, json_excerpt(value), fmt::format("an integer from {} to {}", low, high));
    return low;
  }

  double measure(const nlohmann::json& value, const std::string& path, double high) {
    if (value.is_number() && value >= 0.0 && value <= high) return value.get<double>();
    fail(path, json_excerpt(value), fmt::format("a number from 0 to {}", high));
    return 0;
  }

  // A date such as 2026-11-30.
  void check_date(const std::string& text, const std::string& path) {
    if (!is_date(text)) fail(path, "\"" + text + "\"", "a date such as 2026-11-30");
  }

  bool flag(const nlohmann::json& value, const std::string& path) {
    if (value.is_boolean()) return value.get<bool>();
    fail(path, json_excerpt(value), "true or false");
    return false;
  }

  template <class Item, class Read>
  std::vector<Item> list(const nlohmann::json& value, const std::string& path, Read&& read) {
    std::vector<Item> out;
    if (!value.is_array() || value.size() > kMostItems) {
      fail(path, json_excerpt(value), fmt::format("a list of at most {}", kMostItems));
      return out;
    }
    for (std::size_t i = 0; i < value.size() && !refusal; ++i)
      out.push_back(read(value[i], fmt::format("{}[{}]", path, i)));
    return out;
  }

  static std::string join(const std::string& path, const std::string& key) {
    return path.empty() ? key : path + "." + key;
  }

 private:
  static bool is_date(const std::string& text) {
    if (text.size() != 10) return false;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const bool digit = text[i] >= '0' && text[i] <= '9';
      if (i == 4 || i == 7 ? text[i] != '-' : !digit) return false;
    }
    return true;
  }

  const std::string& file_;
};

// The part of a record that dsakit bench writes (evidence_times.cpp).
MeasuredTimes read_times(EvidenceReader& in, const nlohmann::json& value, const std::string& path);
std::string times_json(const MeasuredTimes& times);

}  // namespace dsakit::detail
