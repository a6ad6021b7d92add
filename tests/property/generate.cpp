#include "property/generate.hpp"

#include <algorithm>

namespace dsakit::property {
namespace {

using Kind = Pool::Kind;

const std::vector<std::string> kIds{"alpha", "beta", "kern9", "kern10", "acme.fast", "zeta_2"};
const std::vector<std::string> kPhases{"prefill", "decode", "mtp"};
const std::vector<std::string> kLayouts{"bf16_1152", "bf16_1152", "fp8_656_g128", "acme_640"};
const std::vector<std::string> kArchTokens{
    "sm_90",       "sm_90a",      "sm_100",      "sm_100f", "sm_103", "sm_110", "sm_120", "sm_120f",
    "sm_80-sm_86", "sm_86-sm_89", "sm_80-sm_89", "sm_121a", "gfx942", "gfx950", "cpu"};
const std::vector<std::string> kExtensions{"acme.tile", "acme.swizzle", "acme.fw",
                                           "acme.caps", "acme.depth",   "acme.rev"};

Json declaration(const std::string& dim) {
  if (dim == "acme.tile") return {{"type", "int"}, {"neutral", 0}, {"doc", "tile edge"}};
  if (dim == "acme.swizzle") {
    return {{"type", "token"}, {"neutral", "none"}, {"shared", true}, {"doc", "row order"}};
  }
  if (dim == "acme.fw") return {{"type", "version"}, {"open", true}, {"doc", "firmware"}};
  if (dim == "acme.caps") {
    return {{"type", "set"}, {"neutral", {"p"}}, {"shared", true}, {"doc", "abilities"}};
  }
  if (dim == "acme.rev") {
    return {{"type", "version"}, {"neutral", "1.5"}, {"shared", true}, {"doc", "row revision"}};
  }
  return {{"type", "int"}, {"neutral", 8}, {"open", true}, {"doc", "queue depth"}};
}

Json token_list(Rng& rng, const Json& values) {
  Json list = Json::array();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (rng.chance(i == 0 ? 88 : 35)) list.push_back(values[i]);
  }
  if (list.empty()) list.push_back(rng.pick(values));
  for (auto& item : list) {
    if (item == "bf16" && rng.chance(25)) item = "bfloat16";
  }
  rng.shuffle(list);
  return list;
}

Json arch_list(Rng& rng) {
  Json list = Json::array();
  if (rng.chance(85)) list.push_back(rng.chance(50) ? "sm_90" : "sm_90a");
  for (auto extra = rng.below(4) + (list.empty() ? 1 : 0); extra > 0; --extra) {
    const auto& token = rng.pick(kArchTokens);
    if (std::find(list.begin(), list.end(), Json(token)) == list.end()) list.push_back(token);
  }
  return list;
}

Json integer_predicate(Rng& rng, const Json& values) {
  const auto anchor = [&] { return (rng.chance(60) ? values[0] : rng.pick(values)).get<int>(); };
  Json predicate = Json::object();
  if (rng.chance(40)) predicate["min"] = std::max(0, anchor() - (rng.chance(85) ? 0 : -1));
  if (rng.chance(40)) predicate["max"] = std::max(0, anchor() - (rng.chance(85) ? 0 : 1));
  if (rng.chance(20)) predicate["multiple_of"] = 1 + static_cast<int>(rng.below(8)) * 8;
  if (rng.chance(10)) predicate["pow2"] = 1;
  if (predicate.empty() || rng.chance(10)) {
    Json list = Json::array({anchor()});
    const int other = anchor();
    if (list[0] != other) list.push_back(other);
    predicate["one_of"] = list;
  }
  return predicate;
}

Json some_of(Rng& rng, const Json& elements, int percent) {
  Json list = Json::array();
  for (const auto& element : elements) {
    if (rng.chance(percent)) list.push_back(element);
  }
  rng.shuffle(list);
  return list;
}

Json set_predicate(Rng& rng, const Json& elements) {
  Json predicate = Json::object();
  if (rng.chance(85)) predicate["subset"] = some_of(rng, elements, 65);
  if (rng.chance(15)) predicate["includes"] = some_of(rng, elements, 30);
  if (predicate.empty() || rng.chance(15)) predicate["none_of"] = some_of(rng, elements, 20);
  return predicate;
}

Json version_predicate(Rng& rng, const Json& values) {
  Json predicate = Json::object();
  if (rng.chance(60)) predicate["min"] = rng.pick(values);
  if (predicate.empty() || rng.chance(30)) predicate["below"] = rng.pick(values);
  return predicate;
}

// An operator from some later version.
Json newer_predicate(Rng& rng, const Pool& pool) {
  if (pool.kind == Kind::integer) return {{"not_one_of", {3}}, {"min", 1}};
  if (pool.kind == Kind::set) return {{"subset", pool.values}, {"at_most", 1}};
  if (pool.kind == Kind::version) return {{"above", "1.0"}};
  return {{"not_in", token_list(rng, pool.values)}};
}

void add_provides(Rng& rng, Json& row, const Json& dims) {
  row["provides"] = {{"kv_layout", rng.pick(kLayouts)}};
  for (const auto& [dim, declared] : dims.items()) {
    if (!declared.value("shared", false) || !rng.chance(35)) continue;
    row["provides"][dim] = random_value(rng, *find_pool(dim));
  }
}

}  // namespace

const std::vector<Pool>& pools() {
  static const std::vector<Pool> all{
      {"platform", Kind::token, {"cuda", "hip", "cpu"}, false},
      {"arch",
       Kind::arch,
       {"sm_90", "sm_100", "sm_103", "sm_120", "sm_121", "sm_86", "sm_89", "gfx942", "cpu"},
       false},
      {"model_family", Kind::token, {"deepseek_v32", "glm_moe_dsa", "hyv4"}, false},
      {"kv_dtype", Kind::token, {"bf16", "fp8_e4m3", "fp8_e5m2"}, false},
      {"page_size", Kind::integer, {64, 1, 32, 128}, false},
      {"heads", Kind::integer, {64, 8, 16, 48, 96, 128}, false},
      {"topk", Kind::integer, {2048, 512, 1024, 2051}, false},
      {"d_qk", Kind::integer, {576, 512}, false},
      {"d_v", Kind::integer, {512, 256}, false},
      {"kv_scale", Kind::token, {"any", "pow2_fp32", "ue8m0"}, true},
      {"index_kpool", Kind::integer, {1, 4}, true},
      {"index_mode", Kind::token, {"physical", "ragged"}, true},
      {"invalid_index", Kind::token, {"any_out_of_range", "minus1_only", "none"}, true},
      {"q_dtype", Kind::token, {"bf16", "fp8_e4m3"}, true},
      {"out_dtype", Kind::token, {"bf16", "fp16"}, true},
      {"lse", Kind::token, {"natural", "log2", "none"}, true},
      {"lse_sink", Kind::token, {"excluded", "included"}, true},
      {"lse_empty", Kind::token, {"plus_inf", "minus_large"}, true},
      {"compute", Kind::token, {"exact", "fp8"}, true},
      {"features",
       Kind::set,
       {"cuda_graph", "hisparse", "attn_sink", "topk_length", "max_logits"},
       true},
      {"runtime_cuda", Kind::version, {"12.8", "12.9", "13.0", "12.8.1"}, false},
      {"driver", Kind::version, {"570.86", "580", "580.0.0.1"}, false},
      {"acme.tile", Kind::integer, {0, 16, 64}, true},
      {"acme.swizzle", Kind::token, {"none", "x", "y"}, true},
      {"acme.fw", Kind::version, {"2.0", "1.9", "2"}, false},
      {"acme.caps", Kind::set, {"p", "q"}, true},
      {"acme.depth", Kind::integer, {8, 4}, true},
      {"acme.rev", Kind::version, {"1.5", "1.5.0.0", "2", "2.0"}, true},
  };
  return all;
}

const Pool* find_pool(const std::string& dim) {
  const auto found = std::find_if(pools().begin(), pools().end(),
                                  [&](const Pool& pool) { return pool.dim == dim; });
  return found == pools().end() ? nullptr : &*found;
}

Json random_predicate(Rng& rng, const Pool& pool) {
  if (rng.chance(12)) return "*";
  switch (pool.kind) {
    case Kind::token:
      return token_list(rng, pool.values);
    case Kind::arch:
      return arch_list(rng);
    case Kind::integer:
      return integer_predicate(rng, pool.values);
    case Kind::set:
      return set_predicate(rng, pool.values);
    case Kind::version:
      return version_predicate(rng, pool.values);
  }
  return "*";
}

Json random_value(Rng& rng, const Pool& pool) {
  if (pool.kind == Kind::set) return some_of(rng, pool.values, 25);
  const Json value = rng.chance(75) ? pool.values[0] : rng.pick(pool.values);
  return value == "bf16" && rng.chance(25) ? Json("bfloat16") : value;
}

Json random_row(Rng& rng, const std::string& name) {
  static const std::vector<int> ranks{0, 10, 100, 100, 200, 200, 300};
  Json where = Json::object();
  if (!rng.chance(10)) {
    Json phases = Json::array();
    for (const auto& phase : kPhases) {
      if (rng.chance(70)) phases.push_back(phase);
    }
    if (phases.empty()) phases.push_back("decode");
    where["phase"] = phases;
  }
  for (auto count = rng.below(3); count > 0; --count) {
    const Pool& pool = rng.pick(pools());
    if (pool.dim.rfind("acme.", 0) == 0 && rng.chance(70)) continue;
    where[pool.dim] = rng.chance(2) ? newer_predicate(rng, pool) : random_predicate(rng, pool);
  }
  if (rng.chance(30)) where["features"] = random_predicate(rng, *find_pool("features"));
  Json row{{"name", name}, {"where", where}, {"rank", rng.pick(ranks)}};
  add_provides(rng, row, Json::object());
  return row;
}

Json random_manifest(Rng& rng, const std::string& id) {
  Json manifest{{"schema", 1},
                {"id", id},
                {"version", {1, 0, 0}},
                {"abi", {{"min", 1}, {"max", 1}}},
                {"summary", "generated"},
                {"vendor", "acme"},
                {"license", "Apache-2.0"},
                {"url", "https://example.org"}};
  Json common{{"phase", "*"}};
  for (const auto& pool : pools()) {
    if (pool.has_neutral || pool.kind == Kind::version) continue;
    if (rng.chance(3)) continue;
    common[pool.dim] = rng.chance(82) ? Json("*") : random_predicate(rng, pool);
  }
  if (rng.per_mille(5)) common["arch"] = {"sm_80-sm_90"};
  manifest["common"] = common;
  Json dims = Json::object();
  for (const auto& dim : kExtensions) {
    if (rng.chance(18)) dims[dim] = declaration(dim);
  }
  if (dims.contains("acme.tile") && rng.chance(12)) dims["acme.tile"]["neutral"] = 16;
  if (!dims.empty()) manifest["dims"] = dims;
  const bool by_name_only = rng.chance(15);
  Json rows = Json::array();
  for (std::uint64_t i = 0, count = 1 + rng.below(3); i < count; ++i) {
    Json row = random_row(rng, "row-" + std::to_string(9 + i));
    for (const auto& [dim, declared] : dims.items()) {
      if (rng.chance(35)) row["where"][dim] = random_predicate(rng, *find_pool(dim));
    }
    add_provides(rng, row, dims);
    if (by_name_only) row["rank"] = 0;
    rows.push_back(row);
  }
  manifest["rows"] = rows;
  return manifest;
}

std::vector<Json> random_manifests(Rng& rng) {
  std::vector<std::string> ids = kIds;
  rng.shuffle(ids);
  ids.resize(2 + rng.below(kIds.size() - 1));
  const bool by_name_only = rng.chance(12);
  std::vector<Json> manifests;
  for (const auto& id : ids) {
    manifests.push_back(random_manifest(rng, id));
    if (rng.chance(12)) {
      const auto& other = rng.pick(kIds);
      if (other != id) manifests.back()["conflicts"] = {other};
    }
    for (auto& row : manifests.back()["rows"]) {
      if (by_name_only && rng.chance(85)) row["rank"] = 0;
    }
  }
  return manifests;
}

}  // namespace dsakit::property
