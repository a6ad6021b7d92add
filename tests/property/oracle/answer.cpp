// R5, R6, R10, R11: from sessions to an answer.
#include <algorithm>

#include "property/oracle/oracle.hpp"
#include "property/oracle/predicates.hpp"

namespace dsakit::oracle {
namespace {

struct Rules {
  std::vector<std::string> prefer;
  std::set<std::string> denied;
  std::vector<std::string> dtypes;  // in order; a single empty one if kv_dtype is unknown
};

std::vector<std::string> default_dtypes(const Asked& asked) {
  const Json& arch = asked.values.at("arch");
  const Json& features = asked.values.at("features");
  const bool fp8_first = arch.is_string() && nvidia_major(arch.get<std::string>()) >= 10 &&
                         features.is_array() &&
                         std::find(features.begin(), features.end(), "attn_sink") == features.end();
  if (fp8_first) return {"fp8_e4m3", "bf16"};
  return {"bf16", "fp8_e4m3"};
}

Rules read_policy(const Json& policy, const Asked& asked) {
  Rules rules;
  rules.prefer = policy.value("prefer", std::vector<std::string>{});
  for (const auto& deny : policy.value("deny", Json::array())) {
    rules.denied.insert((deny.is_string() ? deny : deny.at("id")).get<std::string>());
  }
  const Json& dtype = asked.values.at("kv_dtype");
  if (dtype.is_null()) {
    rules.dtypes = {""};
  } else if (dtype != "auto") {
    rules.dtypes = {dtype.get<std::string>()};
  } else if (policy.contains("kv_dtype")) {
    rules.dtypes = without_aliases(policy["kv_dtype"]).get<std::vector<std::string>>();
  } else {
    rules.dtypes = default_dtypes(asked);
  }
  return rules;
}

std::vector<Judged> judge_all(const Catalogue& catalogue, Asked asked, const std::string& dtype,
                              const std::set<std::string>& denied) {
  asked.values["kv_dtype"] = dtype.empty() ? Json() : Json(dtype);
  std::vector<Judged> all;
  for (const auto& row : catalogue.rows()) {
    for (const auto& phase : asked.phases) {
      all.push_back(judge(row, phase, asked, catalogue.dims()));
      all.back().denied = denied.contains(row.backend);
    }
  }
  return all;
}

Session to_session(const Combination& combination, const std::string& dtype) {
  Session session;
  session.kv_dtype = dtype;
  for (const Judged* judged : combination) {
    session.backend[judged->phase] = judged->row->backend;
    session.row[judged->phase] = judged->row->name;
  }
  return session;
}

bool fits(const Judged& judged, const std::string& entry) {
  if (entry == "auto") return judged.row->rank != 0;
  return judged.row->backend == entry;
}

// R6: the lists' entries in nested order, decode outermost; `entries` runs parallel to
// asked.phases.
std::vector<std::vector<std::string>> choices_in_order(const Asked& asked) {
  std::vector<std::vector<std::string>> choices{{}};
  for (const auto& phase : asked.phases) {
    const auto typed = asked.typed.find(phase);
    const auto list = typed == asked.typed.end() ? std::vector<std::string>{"auto"} : typed->second;
    std::vector<std::vector<std::string>> longer;
    for (const auto& choice : choices) {
      for (const auto& entry : list) {
        longer.push_back(choice);
        longer.back().push_back(entry);
      }
    }
    choices = std::move(longer);
  }
  return choices;
}

const Combination* first_under_choice(const std::vector<Combination>& sessions,
                                      const Asked& asked) {
  for (const auto& choice : choices_in_order(asked)) {
    for (const auto& session : sessions) {
      bool all = true;
      for (std::size_t i = 0; i < choice.size(); ++i) all = all && fits(*session[i], choice[i]);
      if (all) return &session;
    }
  }
  return nullptr;
}

void fill_session(Result& result, const Combination& combination, const std::string& dtype) {
  result.verdict = Verdict::ok;
  result.session = to_session(combination, dtype);
  for (const Judged* judged : combination) {
    for (const auto& [name, value] : judged->row->provides) result.provides[name] = value;
    for (const auto& [name, predicate] : judged->obligations) {
      result.obligations.insert({name, normalised(predicate).dump(), judged->phase});
    }
  }
}

void fill_evaluation(Result& result, const std::vector<Judged>& all, const std::string& dtype) {
  result.evaluated_dtype = dtype;
  for (const auto& judged : all) {
    for (const auto& [dim, kind] : judged.failed) {
      result.failed.insert({judged.row->backend, judged.row->name, judged.phase, dim, kind});
    }
    std::string state = judged.obligations.empty() ? "accept" : "accept_if";
    if (!judged.failed.empty()) state = "reject";
    result.judgements.push_back(
        {judged.row->backend, judged.row->name, judged.phase, state, judged.denied});
  }
}

void check_typed_ids(Result& result, const Asked& asked, const Catalogue& catalogue,
                     const Rules& rules) {
  for (const auto& [phase, entries] : asked.typed) {
    if (entries.size() > 1 && entries.back() == "auto") result.mixed_list = true;
    for (const auto& entry : entries) {
      const auto& ids = catalogue.ids();
      const bool known = std::find(ids.begin(), ids.end(), entry) != ids.end();
      if (entry != "auto" && !known) result.unknown_id = true;
      if (rules.denied.contains(entry)) result.denied_id = true;
    }
  }
}

bool holds_typed_ids(const Session& session, const Asked& asked) {
  return std::all_of(asked.typed.begin(), asked.typed.end(), [&](const auto& typed) {
    const auto& [phase, entries] = typed;
    return entries.back() == "auto" ||
           std::find(entries.begin(), entries.end(), session.backend.at(phase)) != entries.end();
  });
}

}  // namespace

Result Catalogue::answer(const Json& request, const Json& policy) const {
  Result result;
  Asked asked;
  if (!read_request(request, dims_, asked, result.error)) {
    result.verdict = Verdict::error;
    return result;
  }
  const Rules rules = read_policy(policy, asked);
  check_typed_ids(result, asked, *this, rules);
  for (const auto& dtype : rules.dtypes) {
    const auto judged = judge_all(*this, asked, dtype, rules.denied);
    const auto sessions = all_sessions(*this, asked, judged, rules.prefer);
    for (const auto& session : sessions) result.allowed.push_back(to_session(session, dtype));
    if (result.judgements.empty()) fill_evaluation(result, judged, dtype);
    if (result.verdict == Verdict::ok || result.unknown_id) continue;
    if (const Combination* first = first_under_choice(sessions, asked)) {
      fill_session(result, *first, dtype);
      result.failed.clear();
      result.judgements.clear();
      fill_evaluation(result, judged, dtype);
    }
  }
  if (result.verdict == Verdict::rejected && !result.unknown_id) {
    for (const auto& session : result.allowed) {
      if (holds_typed_ids(session, asked)) result.by_name.push_back(session);
    }
  }
  return result;
}

}  // namespace dsakit::oracle
