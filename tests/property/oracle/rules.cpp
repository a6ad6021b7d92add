#include <algorithm>

#include "property/oracle/oracle.hpp"
#include "property/oracle/predicates.hpp"

namespace dsakit::oracle {
namespace {

const std::vector<std::string> kPhaseOrder{"decode", "mtp", "prefill"};

bool is_phase(const std::string& name) {
  return std::find(kPhaseOrder.begin(), kPhaseOrder.end(), name) != kPhaseOrder.end();
}

// R6: a comma list that may end in `auto`.
bool split_list(const std::string& text, std::vector<std::string>& entries) {
  std::string entry;
  for (char c : text + ",") {
    if (c != ',') {
      entry += c;
      continue;
    }
    if (entry.empty()) return false;
    if (!entries.empty() && entries.back() == "auto") return false;
    entries.push_back(entry);
    entry.clear();
  }
  return true;
}

bool read_phases(const Json& json, std::set<std::string>& phases) {
  if (!json.is_array()) return false;
  phases.clear();
  for (const auto& name : json) {
    if (!name.is_string() || !is_phase(name.get<std::string>())) return false;
    phases.insert(name.get<std::string>());
  }
  return true;
}

bool read_reserved(const std::string& key, const Json& value, Asked& asked,
                   std::set<std::string>& phases) {
  if (key == "phases") return read_phases(value, phases);
  if (key == "kv_layout") {
    if (value.is_string()) asked.kv_layout = without_aliases(value).get<std::string>();
    return value.is_string() || value.is_null();
  }
  return value.is_string() && split_list(value.get<std::string>(), asked.typed[key]);
}

}  // namespace

bool read_request(const Json& request, const Dims& dims, Asked& asked, std::string& error) {
  std::set<std::string> phases{"prefill", "decode"};
  for (const auto& [name, dim] : dims) {
    if (name != "phase") asked.values[name] = dim.neutral.value_or(Json());
  }
  for (const auto& [key, value] : request.items()) {
    if (key == "phases" || key == "kv_layout" || is_phase(key)) {
      if (!read_reserved(key, value, asked, phases)) error = "bad " + key;
    } else if (!dims.contains(key) || key == "phase") {
      error = "unknown key " + key;
    } else if (value.is_null()) {
      asked.values[key] = Json();
    } else if (well_typed(value, dims.at(key).type)) {
      asked.values[key] = without_aliases(value);
    } else {
      error = "bad value of " + key;
    }
  }
  for (const auto& [phase, entries] : asked.typed) phases.insert(phase);
  for (const auto& phase : kPhaseOrder) {
    if (phases.contains(phase)) asked.phases.push_back(phase);
  }
  return error.empty();
}

Judged judge(const Row& row, const std::string& phase, const Asked& asked, const Dims& dims) {
  Judged judged{&row, phase, {}, {}, false};
  const Json asked_phase = phase;
  for (const auto& [name, predicate] : row.where) {
    const auto dim = dims.find(name);
    if (dim == dims.end() || has_unknown_operator(predicate, dim->second.type)) {
      judged.failed.emplace_back(name, "operator");
    }
  }
  for (const auto& [name, dim] : dims) {
    const Json& value = name == "phase" ? asked_phase : asked.values.at(name);
    bool mentioned = false;
    for (const auto& [where_name, predicate] : row.where) {
      if (where_name != name) continue;
      mentioned = true;
      if (has_unknown_operator(predicate, dim.type)) continue;
      if (value.is_null()) {
        if (!is_star(predicate)) judged.obligations.emplace_back(name, predicate);
      } else if (!accepts(predicate, value, dim.type)) {
        judged.failed.emplace_back(name, "mismatch");
      }
    }
    if (mentioned || dim.open) continue;
    if (!dim.neutral) {
      judged.failed.emplace_back(name, "undeclared");
    } else if (value.is_null()) {
      judged.obligations.emplace_back(name, equals_predicate(*dim.neutral, dim.type));
    } else if (!same_value(value, *dim.neutral, dim.type)) {
      judged.failed.emplace_back(name, "undeclared");
    }
  }
  if (!asked.kv_layout.empty() &&
      without_aliases(row.provides.at("kv_layout")) != Json(asked.kv_layout)) {
    judged.failed.emplace_back("kv_layout", "provides");
  }
  return judged;
}

}  // namespace dsakit::oracle
