// Seeded random catalogues, requests and policies for the properties, tuned so that accepts,
// rejections, obligations and by-name-only outcomes are all frequent (generate_test.cpp checks it).
// The same seed gives the same case on every machine: only integer arithmetic, no library
// distribution. Not thread-safe: one Rng a thread.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

namespace dsakit::property {

using Json = nlohmann::json;

class Rng {
 public:
  explicit Rng(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t below(std::uint64_t limit) { return engine_() % limit; }
  bool chance(int percent) { return below(100) < static_cast<std::uint64_t>(percent); }
  bool per_mille(int parts) { return below(1000) < static_cast<std::uint64_t>(parts); }
  template <typename List>
  const auto& pick(const List& list) {
    return list[below(list.size())];
  }
  template <typename List>
  void shuffle(List& list) {
    for (std::size_t i = list.size(); i > 1; --i) std::swap(list[i - 1], list[below(i)]);
  }

 private:
  std::mt19937_64 engine_;
};

// What a dimension's values are drawn from; the first is the usual one, a neutral value if there is
// one.
struct Pool {
  std::string dim;
  enum class Kind : std::uint8_t { token, arch, integer, set, version } kind;
  Json values;  // of `set`: the elements
  bool has_neutral;
};
const std::vector<Pool>& pools();
const Pool* find_pool(const std::string& dim);

// A predicate over the pool that accepts its first value more often than not.
Json random_predicate(Rng& rng, const Pool& pool);
// A value of the pool; the first more often than any other.
Json random_value(Rng& rng, const Pool& pool);

// Complete manifests (all required fields) with distinct ids, in search order.
std::vector<Json> random_manifests(Rng& rng);
Json random_manifest(Rng& rng, const std::string& id);
Json random_row(Rng& rng, const std::string& name);
Json random_request(Rng& rng, const std::vector<Json>& manifests);
Json random_policy(Rng& rng, const std::vector<Json>& manifests);

}  // namespace dsakit::property
