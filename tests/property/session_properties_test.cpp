// P1 to P3: the answer, the validator and the allowed set are views of one set of sessions.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "property/harness.hpp"

namespace dsakit::property {
namespace {

bool well_formed(const Built& built, const Json& request) {
  return read(built.solver(), request).has_value();
}

// The request as it is, but with one id typed in each requested phase.
std::vector<Request> complete_choices(const Built& built, const Request& request) {
  std::vector<Request> all{request};
  for (const Phase phase : kPhases) {
    if (!request.phases()[index(phase)]) continue;
    std::vector<Request> longer;
    for (const auto& partial : all) {
      for (const auto& id : built.solver().ids()) {
        longer.push_back(partial);
        longer.back().choice[index(phase)] = Typed{id, {}};
      }
    }
    all = std::move(longer);
  }
  return all;
}

Json typed_ids(const Request& request) {
  Json ids = Json::object();
  for (const Phase phase : kPhases) {
    const auto& typed = request.choice[index(phase)];
    if (typed) ids[std::string(phase_name(phase))] = typed->text;
  }
  return ids;
}

std::string resolve_is_allowed(const Built& built, const Case& one) {
  if (!well_formed(built, one.request)) return "";
  const Answer answer = resolve(built.solver(), one.request, one.policy);
  if (!answer.ok()) return "";
  const auto sessions = allowed(built.solver(), one.request, one.policy);
  const bool found = std::any_of(sessions.begin(), sessions.end(), [&](const Session& session) {
    return key_of(session) == key_of(answer.session);
  });
  return found ? "" : "resolved " + key_of(answer.session) + " is not in the allowed set";
}

std::string validate_agrees(const Built& built, const Case& one) {
  const Answer resolved = resolve(built.solver(), one.request, one.policy);
  const Answer validated = validate(built.solver(), one.request, one.policy);
  if (resolved.verdict != validated.verdict) return "validate and resolve disagree";
  const auto request = read(built.solver(), one.request);
  if (!request) return "";
  const Policy policy = read_policy(one.policy);
  std::set<std::string> members;
  for (const auto& s : built.solver().allowed_set(*request, policy)) {
    members.insert(ids_of(s).dump());
  }
  auto choices = complete_choices(built, *request);
  Rng rng(one.seed);
  rng.shuffle(choices);
  choices.resize(std::min<std::size_t>(choices.size(), 40));
  for (const auto& choice : choices) {
    const bool member = members.contains(typed_ids(choice).dump());
    if (built.solver().validate(choice, policy).ok() != member) {
      return "validate(" + typed_ids(choice).dump() + ") is not membership of the allowed set";
    }
    if (built.solver().resolve(choice, policy).ok() != member) {
      return "resolve(" + typed_ids(choice).dump() + ") is not membership of the allowed set";
    }
  }
  return "";
}

// Whether `id` is a string anywhere in the diagnostics.
bool mentions(const Json& json, const std::string& id) {
  if (json.is_primitive()) return json == id;
  return std::any_of(json.begin(), json.end(),
                     [&](const Json& item) { return mentions(item, id); });
}

std::string empty_has_reasons(const Built& built, const Case& one) {
  Case untyped = one;
  for (const auto& key : {"prefill", "decode", "mtp"}) untyped.request.erase(key);
  const auto request = read(built.solver(), untyped.request);
  if (!request) return "";
  const Policy policy = read_policy(one.policy);
  const bool empty = built.solver().allowed_set(*request, policy).empty();
  bool all_fail = true;
  for (const auto& choice : complete_choices(built, *request)) {
    if (!empty && !all_fail) break;
    all_fail = all_fail && !built.solver().resolve(choice, policy).ok();
  }
  if (empty != all_fail) return "the allowed set is empty, or not, against the choices";
  if (!empty) return "";
  const Answer answer = built.solver().resolve(*request, policy);
  if (answer.ok()) return "resolved from an empty allowed set";
  const Json diagnostics = Json::parse(to_json(answer))["diagnostics"];
  for (const auto& id : built.solver().ids()) {
    if (!mentions(diagnostics, id)) return "no reason for " + id + ": " + diagnostics.dump();
  }
  return "";
}

TEST(Property, P1_ResolveIsAllowed) {
  EXPECT_EQ(for_cases(100000, 60, 40, resolve_is_allowed), 60 * 40);
}

TEST(Property, P2_ValidateIsResolve) {
  EXPECT_EQ(for_cases(200000, 60, 20, validate_agrees), 60 * 20);
}

TEST(Property, P3_EmptyMeansAReasonForEach) {
  EXPECT_EQ(for_cases(300000, 60, 20, empty_has_reasons), 60 * 20);
}

}  // namespace
}  // namespace dsakit::property
