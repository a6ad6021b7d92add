// P6, P12 and P13: the answer depends on what is asked and on nothing around it.
#include <gtest/gtest.h>

#include <algorithm>
#include <locale>
#include <numeric>
#include <thread>

#include "manifest/schema.hpp"
#include "property/harness.hpp"

namespace dsakit::property {
namespace {

// JSON text with the keys of every object in random order.
std::string shuffled_text(Rng& rng, const Json& json) {
  if (json.is_array()) {
    std::string text = "[";
    for (const auto& item : json) {
      if (text.size() > 1) text += ",";
      text += shuffled_text(rng, item);
    }
    return text + "]";
  }
  if (!json.is_object()) return json.dump();
  std::vector<std::string> members;
  for (const auto& [key, value] : json.items()) {
    std::string member = Json(key).dump();
    member.append(": ").append(shuffled_text(rng, value));
    members.push_back(member);
  }
  rng.shuffle(members);
  std::string text = "{";
  for (const auto& member : members) {
    if (text.size() > 1) text += " , ";
    text += member;
  }
  return text + "}";
}

// Where two texts part, with what stands around it.
std::string parting(const std::string& a, const std::string& b) {
  const auto at = static_cast<std::size_t>(
      std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
  const std::size_t from = at < 80 ? 0 : at - 80;
  return "…" + a.substr(from, 240) + "…\nagainst\n…" + b.substr(from, 240) + "…";
}

// Digits grouped by two, to be noticed where a number is printed through a locale.
struct Grouped : std::numpunct<char> {
  char do_thousands_sep() const override { return '_'; }
  std::string do_grouping() const override { return "\1"; }
};

class ForeignLocale {
 public:
  ForeignLocale() : before_(std::locale::global(std::locale(std::locale(), new Grouped))) {}
  ~ForeignLocale() { std::locale::global(before_); }
  ForeignLocale(const ForeignLocale&) = delete;
  ForeignLocale& operator=(const ForeignLocale&) = delete;

 private:
  std::locale before_;
};

std::string order_does_not_matter(const Built& built, const Case& one) {
  if (!built.set_aside().empty()) return "";
  Rng rng(one.seed);
  auto manifests = built.manifests();
  rng.shuffle(manifests);
  std::vector<std::string> texts;
  for (auto& manifest : manifests) {
    auto rows = manifest["rows"].get<std::vector<Json>>();
    rng.shuffle(rows);
    manifest["rows"] = rows;
    texts.push_back(shuffled_text(rng, manifest));
  }
  const Built other(manifests, texts);
  const auto request = parse_request(shuffled_text(rng, one.request), other.solver().dimensions(),
                                     other.solver().catalog());
  const std::string expected = to_json(resolve(built.solver(), one.request, one.policy));
  std::string found;
  {
    const ForeignLocale foreign;
    found = request ? to_json(other.solver().resolve(*request, read_policy(one.policy)))
                    : to_json(error_answer(other.solver().catalog(), request.error()));
  }
  return found == expected ? "" : "in another order " + parting(found, expected);
}

std::string round_trip_is_stable(const Built& built, const Case& one) {
  Rng rng(one.seed);
  std::vector<std::string> texts;
  for (const auto& manifest : built.manifests()) {
    const auto parsed = parse_manifest(shuffled_text(rng, manifest), "first.json");
    if (!parsed) {
      texts.push_back(manifest.dump());
      continue;
    }
    const std::string canonical = canonical_manifest(parsed->manifest);
    const auto again = parse_manifest(canonical, "again.json");
    if (!again) return "the canonical form is refused: " + canonical;
    if (canonical_manifest(again->manifest) != canonical) return "not stable: " + canonical;
    if (again->manifest.json != parsed->manifest.json) return "stored text differs: " + canonical;
    texts.push_back(canonical);
  }
  const Built other(built.manifests(), texts);
  const std::string before = to_json(resolve(built.solver(), one.request, one.policy));
  const std::string after = to_json(resolve(other.solver(), one.request, one.policy));
  return before == after ? "" : "answers differ after a round trip: " + before + " / " + after;
}

TEST(Property, P6_OrderAndLocaleDoNotMatter) {
  EXPECT_EQ(for_cases(600000, 80, 15, order_does_not_matter), 80 * 15);
}

TEST(Property, P12_CanonicalRoundTrip) {
  EXPECT_EQ(for_cases(1200000, 100, 5, round_trip_is_stable), 100 * 5);
}

TEST(Property, P13_PureUnderThreads) {
  Rng rng(1300000);
  std::vector<Json> manifests = random_manifests(rng);
  while (manifests.size() < 5) manifests = random_manifests(rng);
  const Built built(manifests);
  std::vector<Request> requests;
  std::vector<Policy> policies;
  std::vector<std::string> expected;
  while (requests.size() < 150) {
    auto request = read(built.solver(), random_request(rng, manifests));
    if (!request) continue;
    requests.push_back(*request);
    policies.push_back(read_policy(random_policy(rng, manifests)));
    expected.push_back(to_json(built.solver().explain(requests.back(), policies.back())));
  }
  std::vector<int> wrong(8, 0);
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < wrong.size(); ++t) {
      threads.emplace_back([&, t] {
        for (std::size_t i = 0; i < requests.size(); ++i) {
          const std::size_t at = (i + t * 17) % requests.size();
          wrong[t] += to_json(built.solver().explain(requests[at], policies[at])) != expected[at];
        }
      });
    }
  }
  EXPECT_EQ(std::accumulate(wrong.begin(), wrong.end(), 0), 0);
}

}  // namespace
}  // namespace dsakit::property
