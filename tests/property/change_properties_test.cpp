// P7 to P11: what a change of a catalogue or of a request may do to the set of sessions.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "property/harness.hpp"
#include "property/oracle/predicates.hpp"

namespace dsakit::property {
namespace {

using Keys = std::set<std::string>;

Keys allowed_keys(const Built& built, const Case& one) {
  Keys keys;
  for (const auto& session : allowed(built.solver(), one.request, one.policy)) {
    keys.insert(key_of(session));
  }
  return keys;
}

std::string missing(const Keys& smaller, const Keys& larger, const std::string& what) {
  for (const auto& key : smaller) {
    if (!larger.contains(key)) return what + key;
  }
  return "";
}

bool well_formed(const Built& built, const Json& request) {
  return read(built.solver(), request).has_value();
}

std::string adding_never_shrinks(const Built& built, const Case& one) {
  if (!well_formed(built, one.request)) return "";
  Rng rng(one.seed);
  auto manifests = built.manifests();
  if (rng.chance(50)) {
    Json added = random_manifest(rng, "added");
    added.erase("dims");
    for (auto& row : added["rows"]) row["provides"] = {{"kv_layout", "bf16_1152"}};
    manifests.insert(manifests.begin() + static_cast<std::ptrdiff_t>(rng.below(manifests.size())),
                     added);
  } else {
    Json row = random_row(rng, "added");
    if (row["where"].contains("arch")) row["where"]["arch"] = {"sm_90"};
    auto& rows = manifests[rng.below(manifests.size())]["rows"];
    rows.insert(rows.begin(), row);
  }
  const Built larger(manifests);
  return missing(allowed_keys(built, one), allowed_keys(larger, one), "lost by adding: ");
}

// P8 on a random row and a random dimension with a neutral value, on which the row is silent.
std::string a_predicate_never_grows(const Built& built, const Case& one) {
  Rng rng(one.seed);
  const Pool& pool = rng.pick(pools());
  const auto dim = built.oracle().dims().find(pool.dim);
  if (dim == built.oracle().dims().end() || !dim->second.neutral) return "";
  Case neutral = one;
  if (rng.chance(50)) {
    neutral.request.erase(pool.dim);
  } else {
    neutral.request[pool.dim] = *dim->second.neutral;
  }
  if (!well_formed(built, neutral.request)) return "";
  auto manifests = built.manifests();
  auto& manifest = rng.pick(manifests);
  auto& row = const_cast<Json&>(manifest)["rows"][0];
  if (row["where"].contains(pool.dim) || manifest["common"].contains(pool.dim)) return "";
  row["where"][pool.dim] = random_predicate(rng, pool);
  return missing(allowed_keys(Built(manifests), neutral), allowed_keys(built, neutral),
                 "grown by a predicate on " + pool.dim + ": ");
}

// A value for each dimension with obligations; null where the oracle finds none.
Json fulfilling(const Built& built, const Answer& answer) {
  std::map<std::string, std::vector<Json>> by_dim;
  for (const auto& o : answer.obligations) by_dim[o.dim].push_back(Json::parse(o.predicate));
  Json values = Json::object();
  for (const auto& [dim, predicates] : by_dim) {
    const auto type = built.oracle().dims().at(dim).type;
    values[dim] = oracle::common_value(predicates, type).value_or(Json());
  }
  return values;
}

std::string fulfilled_is_plain(const Built& built, const Case& one) {
  if (one.request.value("kv_dtype", Json()) == "auto") return "";
  const Answer before = resolve(built.solver(), one.request, one.policy);
  if (!before.ok() || before.obligations.empty()) return "";
  Json request = one.request;
  const Json values = fulfilling(built, before);
  request.update(values);
  for (const auto& [dim, value] : values.items()) {
    if (value.is_null()) return "no value fulfils the obligations on " + dim;
  }
  const Answer after = resolve(built.solver(), request, one.policy);
  if (!after.ok()) return "refused with " + values.dump();
  if (!after.obligations.empty()) return "obligations are left with " + values.dump();
  if (ids_of(after.session) != ids_of(before.session) || after.session.row != before.session.row) {
    return "another session with " + values.dump() + ": " + ids_of(after.session).dump();
  }
  request.update(fulfilling(built, after));
  return to_json(resolve(built.solver(), request, one.policy)) == to_json(after) ? ""
                                                                                 : "not idempotent";
}

std::string ranks_do_not_matter(const Built& built, const Case& one) {
  if (!well_formed(built, one.request)) return "";
  Rng rng(one.seed);
  auto manifests = built.manifests();
  for (auto& manifest : manifests) {
    for (auto& row : manifest["rows"]) row["rank"] = rng.below(3) * 100;
  }
  const Keys before = allowed_keys(built, one);
  const Keys after = allowed_keys(Built(manifests), one);
  return missing(before, after, "lost by ranks: ") + missing(after, before, "won by ranks: ");
}

std::string neutral_changes_nothing(const Built& built, const Case& one) {
  Json request = one.request;
  for (const auto& [name, dim] : built.oracle().dims()) {
    if (dim.neutral && !request.contains(name)) request[name] = *dim.neutral;
  }
  const std::string with = to_json(resolve(built.solver(), request, one.policy));
  const std::string without = to_json(resolve(built.solver(), one.request, one.policy));
  return with == without ? "" : "with neutral values: " + with + "\nwithout: " + without;
}

bool silent_on(const oracle::Row& row, const std::string& dim) {
  return std::none_of(row.where.begin(), row.where.end(),
                      [&](const auto& predicate) { return predicate.first == dim; });
}

// A value of `pool` other than the neutral one.
Json other_value(Rng& rng, const Pool& pool) {
  if (pool.kind == Pool::Kind::set) return Json::array({rng.pick(pool.values)});
  return pool.values[1 + rng.below(pool.values.size() - 1)];
}

std::string undeclared_rejects(const Built& built, const Case& one) {
  Rng rng(one.seed);
  const Pool& pool = rng.pick(pools());
  const auto dim = built.oracle().dims().find(pool.dim);
  if (dim == built.oracle().dims().end() || !dim->second.neutral || dim->second.open) return "";
  Json request = one.request;
  request[pool.dim] = other_value(rng, pool);
  if (oracle::same_value(request[pool.dim], *dim->second.neutral, dim->second.type)) return "";
  if (!well_formed(built, request)) return "";
  const auto explanation = explain(built.solver(), request, one.policy);
  for (const auto& row : built.oracle().rows()) {
    if (!silent_on(row, pool.dim)) continue;
    for (const auto& verdict : explanation.evaluation) {
      if (verdict.backend != row.backend || verdict.row != row.name) continue;
      const bool said =
          std::any_of(verdict.failed.begin(), verdict.failed.end(), [&](const auto& failed) {
            return failed.dim == pool.dim && failed.kind == FailKind::undeclared;
          });
      if (!said || verdict.state != RowVerdict::State::reject) {
        return row.backend + "/" + row.name + " is silent on " + pool.dim + " and accepts " +
               request[pool.dim].dump();
      }
    }
  }
  return "";
}

TEST(Property, P7_AddingNeverShrinks) {
  EXPECT_EQ(for_cases(700000, 60, 20, adding_never_shrinks), 60 * 20);
}

TEST(Property, P8_APredicateNeverGrows) {
  EXPECT_EQ(for_cases(800000, 60, 30, a_predicate_never_grows), 60 * 30);
}

TEST(Property, P9_FulfilledIsPlainAccept) {
  EXPECT_EQ(for_cases(900000, 60, 60, fulfilled_is_plain), 60 * 60);
}

TEST(Property, P10_RanksNeverChangeAllowedSet) {
  EXPECT_EQ(for_cases(1000000, 60, 20, ranks_do_not_matter), 60 * 20);
}

TEST(Property, P11_UndeclaredRejects) {
  EXPECT_EQ(for_cases(1100000, 60, 40, undeclared_rejects), 60 * 40);
}

TEST(Property, P11_NeutralChangesNothing) {
  EXPECT_EQ(for_cases(1110000, 60, 30, neutral_changes_nothing), 60 * 30);
}

}  // namespace
}  // namespace dsakit::property
