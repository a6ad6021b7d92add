#include <algorithm>
#include <set>

#include "property/generate.hpp"

namespace dsakit::property {
namespace {

using Kind = Pool::Kind;

std::string random_id(Rng& rng, const std::vector<Json>& manifests) {
  if (rng.chance(2)) return "nosuch";
  return rng.pick(manifests)["id"].get<std::string>();
}

std::string random_choice(Rng& rng, const std::vector<Json>& manifests) {
  if (rng.chance(1)) return rng.chance(50) ? "auto,alpha" : "alpha,,beta";
  std::string text = random_id(rng, manifests);
  if (rng.chance(65)) return text;
  for (auto more = rng.below(3); more > 0; --more) {
    text.append(",").append(random_id(rng, manifests));
  }
  if (rng.chance(50)) text.append(",auto");
  return text;
}

std::set<std::string> declared_dims(const std::vector<Json>& manifests) {
  std::set<std::string> names;
  for (const auto& manifest : manifests) {
    if (!manifest.contains("dims")) continue;
    for (const auto& [name, declared] : manifest["dims"].items()) names.insert(name);
  }
  return names;
}

void add_values(Rng& rng, Json& request, const std::vector<Json>& manifests) {
  const auto declared = declared_dims(manifests);
  for (const auto& pool : pools()) {
    const bool extension = pool.dim.rfind("acme.", 0) == 0;
    if (extension && !declared.contains(pool.dim)) continue;
    if (pool.dim == "features") {
      if (rng.chance(55)) request["features"] = random_value(rng, pool);
    } else if (pool.has_neutral || pool.kind == Kind::version) {
      if (rng.chance(6)) request[pool.dim] = random_value(rng, pool);
    } else if (!rng.chance(5)) {
      request[pool.dim] = random_value(rng, pool);
    }
    if (rng.chance(2)) request[pool.dim] = nullptr;
  }
  if (rng.chance(25)) request["kv_dtype"] = "auto";
}

void add_mistake(Rng& rng, Json& request) {
  switch (rng.below(8)) {
    case 0:
      request["page_sise"] = 64;
      break;
    case 1:
      request["heads"] = "64";
      break;
    case 2:
      request["arch"] = "sm_90a";
      break;
    case 3:
      request["phase"] = "decode";
      break;
    case 4:
      request["features"] = "hisparse";
      break;
    case 5:
      request["driver"] = "570..1";
      break;
    case 6:
      request["topk"] = -1;
      break;
    default:
      request["phases"] = {"verify"};
      break;
  }
}

}  // namespace

Json random_request(Rng& rng, const std::vector<Json>& manifests) {
  Json request = Json::object();
  add_values(rng, request, manifests);
  if (rng.chance(15)) request["phases"] = {"prefill", "decode", "mtp"};
  if (rng.chance(4)) request["phases"] = {rng.chance(50) ? "decode" : "prefill"};
  if (rng.chance(6)) request["kv_layout"] = rng.chance(60) ? "bf16_1152" : "fp8_656_g128";
  if (rng.chance(2)) request["kv_layout"] = nullptr;
  if (rng.chance(18)) request["decode"] = random_choice(rng, manifests);
  if (rng.chance(14)) request["prefill"] = random_choice(rng, manifests);
  if (rng.chance(6)) request["mtp"] = random_choice(rng, manifests);
  if (rng.chance(2)) add_mistake(rng, request);
  return request;
}

Json random_policy(Rng& rng, const std::vector<Json>& manifests) {
  Json policy = Json::object();
  if (rng.chance(60)) return policy;
  if (rng.chance(50)) {
    std::set<std::string> ids;
    for (auto count = 1 + rng.below(3); count > 0; --count) ids.insert(random_id(rng, manifests));
    std::vector<std::string> order(ids.begin(), ids.end());
    rng.shuffle(order);
    policy["prefer"] = order;
  }
  if (rng.chance(30)) policy["deny"] = {random_id(rng, manifests)};
  if (rng.chance(30)) {
    policy["kv_dtype"] =
        rng.chance(50) ? Json{"fp8_e4m3", "bfloat16"} : Json{"fp8_e5m2", "bf16", "fp8_e4m3"};
  }
  return policy;
}

}  // namespace dsakit::property
