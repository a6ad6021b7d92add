#include "device/config_reader.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "manifest/json.hpp"

namespace dsakit {
namespace {

constexpr std::size_t kMaxArray = 4096;  // layers of a model, generously

}  // namespace

ConfigReader::ConfigReader(const nlohmann::json& root, std::string file)
    : root_(root), file_(std::move(file)) {
  if (!root.is_object()) {
    reject("the top level", json_excerpt(root), "an object");
    return;
  }
  const auto it = root.find("text_config");
  if (it == root.end() || it->is_null()) return;
  if (it->is_object()) {
    text_ = &*it;
  } else {
    reject("text_config", json_excerpt(*it), "an object");
  }
}

void ConfigReader::reject(const std::string& path, std::string found, std::string allowed) {
  if (error_) return;
  error_ = Diagnostic(Code::E0502)
               .with("file", file_)
               .with("path", path)
               .with("found", std::move(found))
               .with("allowed", std::move(allowed));
}

ConfigReader::Found ConfigReader::find(std::string_view key, Where first) const {
  const auto look = [&](const nlohmann::json* object, bool nested) -> Found {
    if (object == nullptr || !object->is_object()) return {};
    const auto it = object->find(key);
    if (it == object->end() || it->is_null()) return {};
    return {&*it, nested, fmt::format("{}{}", nested ? "text_config." : "", key)};
  };
  Found text = look(text_, true);
  Found top = look(&root_, false);
  const bool take_text = text.value != nullptr && (first == Where::text || top.value == nullptr);
  return take_text ? text : top;
}

std::optional<int> ConfigReader::bounded(const nlohmann::json& value, const std::string& path,
                                         Range range) {
  const bool fits = value.is_number_unsigned()
                        ? value.get<std::uint64_t>() <= static_cast<std::uint64_t>(range.max) &&
                              static_cast<int>(value.get<std::uint64_t>()) >= range.min
                        : value.is_number_integer() && value.get<std::int64_t>() >= range.min &&
                              value.get<std::int64_t>() <= range.max;
  if (fits) return value.get<int>();
  reject(path, json_excerpt(value), fmt::format("an integer from {} to {}", range.min, range.max));
  return std::nullopt;
}

std::optional<int> ConfigReader::integer(std::initializer_list<std::string_view> keys,
                                         Range range) {
  if (error_) return std::nullopt;
  for (const std::string_view key : keys) {
    if (const Found found = find(key); found.value != nullptr) {
      return bounded(*found.value, found.path, range);
    }
  }
  return std::nullopt;
}

std::optional<bool> ConfigReader::flag(std::string_view key) {
  const Found found = find(key);
  if (error_ || found.value == nullptr) return std::nullopt;
  if (found.value->is_boolean()) return found.value->get<bool>();
  reject(found.path, json_excerpt(*found.value), "true or false");
  return std::nullopt;
}

const nlohmann::json* ConfigReader::array(const Found& found) {
  if (error_ || found.value == nullptr) return nullptr;
  if (!found.value->is_array()) {
    reject(found.path, json_excerpt(*found.value), "an array");
    return nullptr;
  }
  if (found.value->size() > kMaxArray) {
    reject(found.path, fmt::format("{} entries", found.value->size()),
           fmt::format("at most {}", kMaxArray));
    return nullptr;
  }
  return found.value;
}

std::optional<std::vector<std::string>> ConfigReader::strings(std::string_view key, Where first) {
  const Found found = find(key, first);
  const nlohmann::json* const list = array(found);
  if (list == nullptr) return std::nullopt;
  std::vector<std::string> out;
  for (const nlohmann::json& entry : *list) {
    if (!entry.is_string()) {
      reject(fmt::format("{}[{}]", found.path, out.size()), json_excerpt(entry), "a string");
      return std::nullopt;
    }
    out.push_back(entry.get<std::string>());
  }
  return out;
}

std::optional<std::vector<int>> ConfigReader::integers(std::string_view key, Range range) {
  const Found found = find(key);
  const nlohmann::json* const list = array(found);
  if (list == nullptr) return std::nullopt;
  std::vector<int> out;
  for (const nlohmann::json& entry : *list) {
    const std::optional<int> value =
        bounded(entry, fmt::format("{}[{}]", found.path, out.size()), range);
    if (!value) return std::nullopt;
    out.push_back(*value);
  }
  return out;
}

}  // namespace dsakit
