// A dsakit_config as a plugin wants to use it: owned, complete, tokens resolved. What the tokens
// mean is written in the dimension table of the manifests; this is only their form in code.
//
// Invariants: read_config() accepts no size, token or feature list that it does not understand in
// full, so an instance never silently ignores part of its contract. Immutable afterwards; const use
// from any thread.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dsakit/kv_layout.hpp"
#include "dsakit/plugin_abi.h"
#include "sdk/error.hpp"

namespace dsakit::sdk {

enum class ScaleKind : std::uint8_t { any, pow2_fp32, ue8m0 };
enum class LseBase : std::uint8_t { natural, log2, none };

struct Config {
  std::int32_t device_type = 0;
  std::int32_t device_id = 0;
  std::int32_t sm_count = 0;
  std::string row, phase, model_family, kv_layout, invalid_index;
  const KvLayout* layout = nullptr;  // null: a layout that dsakit's table does not have
  ScaleKind kv_scale = ScaleKind::any;
  bool ragged = false;
  DLDataType q_dtype{}, out_dtype{};
  LseBase lse = LseBase::natural;
  bool lse_with_sink = false;
  float lse_empty = std::numeric_limits<float>::infinity();
  bool fp8_compute = false;
  std::vector<std::string> features;
  bool attn_sink = false, topk_length = false, second_cache = false, max_logits = false,
       deterministic = false;
  std::vector<std::pair<std::string, std::string>> dims;
  std::int64_t heads = 0, d_qk = 0, d_v = 0, topk = 0, topk2 = 0, page_size = 0, page_size2 = 0;
  std::int64_t index_kpool = 1, max_tokens = 0;
};

// DLPack's numbers of the dtypes that the manifests name; lanes is 0 if there is no such name.
constexpr DLDataType find_dtype(std::string_view name) {
  struct Named {
    std::string_view name;
    DLDataType type;
  };
  // 10 and 11 are DLPack's codes of e4m3fn and e4m3fnuz, newer than some systems' header.
  constexpr Named kTypes[] = {{"bf16", {4, 16, 1}},
                              {"fp16", {2, 16, 1}},
                              {"fp32", {2, 32, 1}},
                              {"fp8_e4m3", {10, 8, 1}},
                              {"fp8_e4m3fnuz", {11, 8, 1}}};
  for (const Named& each : kTypes)
    if (each.name == name) return each.type;
  return {0, 0, 0};
}

namespace detail {

// Null is the neutral value, which comes first.
template <class Value>
struct Token {
  std::string_view name;
  Value value;
};

template <class Value, std::size_t kCount>
bool read_token(const char* dim, const char* text, const Token<Value> (&table)[kCount],
                Value& value, Error& error) {
  const std::string_view wanted = text == nullptr ? table[0].name : std::string_view(text);
  for (const Token<Value>& token : table) {
    if (token.name != wanted) continue;
    value = token.value;
    return true;
  }
  error.fail(DSAKIT_RC_UNSUPPORTED, "%s = `%s` is not known to this plugin", dim, text);
  return false;
}

inline bool read_dtype(const char* dim, const char* text, DLDataType& type, Error& error) {
  type = find_dtype(text == nullptr ? "bf16" : text);
  if (type.lanes != 0) return true;
  error.fail(DSAKIT_RC_UNSUPPORTED, "%s = `%s` is not known to this plugin", dim, text);
  return false;
}

inline bool in_range(const char* dim, std::int64_t value, std::int64_t min, Error& error) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int32_t>::max();
  if (value >= min && value <= kMax) return true;
  error.fail(DSAKIT_RC_INVALID, "%s = %lld is outside %lld ... %lld", dim,
             static_cast<long long>(value), static_cast<long long>(min),
             static_cast<long long>(kMax));
  return false;
}

inline std::string text_or(const char* text, const char* otherwise) {
  return text == nullptr ? otherwise : text;
}

inline bool read_tokens(const dsakit_config& from, Config& to, Error& error) {
  using Scale = Token<ScaleKind>;
  using Base = Token<LseBase>;
  using Flag = Token<bool>;
  using Number = Token<float>;
  constexpr Scale kScales[] = {
      {"any", ScaleKind::any}, {"pow2_fp32", ScaleKind::pow2_fp32}, {"ue8m0", ScaleKind::ue8m0}};
  constexpr Base kBases[] = {
      {"natural", LseBase::natural}, {"log2", LseBase::log2}, {"none", LseBase::none}};
  constexpr Flag kIndexModes[] = {{"physical", false}, {"ragged", true}};
  constexpr Flag kSinks[] = {{"excluded", false}, {"included", true}};
  constexpr Flag kComputes[] = {{"exact", false}, {"fp8", true}};
  constexpr Number kEmpties[] = {{"plus_inf", std::numeric_limits<float>::infinity()},
                                 {"minus_large", -1e30F}};
  return read_token("kv_scale", from.kv_scale, kScales, to.kv_scale, error) &&
         read_token("lse", from.lse, kBases, to.lse, error) &&
         read_token("index_mode", from.index_mode, kIndexModes, to.ragged, error) &&
         read_token("lse_sink", from.lse_sink, kSinks, to.lse_with_sink, error) &&
         read_token("compute", from.compute, kComputes, to.fp8_compute, error) &&
         read_token("lse_empty", from.lse_empty, kEmpties, to.lse_empty, error) &&
         read_dtype("q_dtype", from.q_dtype, to.q_dtype, error) &&
         read_dtype("out_dtype", from.out_dtype, to.out_dtype, error);
}

inline bool read_features(const dsakit_config& from, Config& to, Error& error) {
  const std::pair<std::string_view, bool*> known[] = {{"attn_sink", &to.attn_sink},
                                                      {"topk_length", &to.topk_length},
                                                      {"second_cache", &to.second_cache},
                                                      {"max_logits", &to.max_logits},
                                                      {"deterministic", &to.deterministic}};
  for (std::uint64_t i = 0; i < from.feature_count; ++i) {
    if (from.features == nullptr || from.features[i] == nullptr) {
      error.fail(DSAKIT_RC_INVALID, "features[%llu] is null", static_cast<unsigned long long>(i));
      return false;
    }
    to.features.emplace_back(from.features[i]);
    for (const auto& [name, flag] : known)
      if (name == to.features.back()) *flag = true;
  }
  return true;
}

inline bool read_shape(const dsakit_config& from, Config& to, Error& error) {
  to.heads = from.heads;
  to.d_qk = from.d_qk;
  to.d_v = from.d_v;
  to.topk = from.topk;
  to.topk2 = from.topk2;
  to.page_size = from.page_size;
  to.page_size2 = from.page_size2;
  to.index_kpool = from.index_kpool;
  to.max_tokens = from.max_tokens;
  if (!(in_range("heads", to.heads, 1, error) && in_range("d_qk", to.d_qk, 1, error) &&
        in_range("d_v", to.d_v, 1, error) && in_range("topk", to.topk, 1, error) &&
        in_range("topk2", to.topk2, to.second_cache ? 1 : 0, error) &&
        in_range("page_size", to.page_size, 1, error) &&
        in_range("page_size2", to.page_size2, to.second_cache ? 1 : 0, error) &&
        in_range("index_kpool", to.index_kpool, 1, error) &&
        in_range("max_tokens", to.max_tokens, 0, error)))
    return false;
  if (to.d_v <= to.d_qk) return true;
  error.fail(DSAKIT_RC_INVALID, "d_v = %lld is larger than d_qk = %lld",
             static_cast<long long>(to.d_v), static_cast<long long>(to.d_qk));
  return false;
}

inline bool read_dims(const dsakit_config& from, Config& to, Error& error) {
  for (std::uint64_t i = 0; i < from.dim_count; ++i) {
    const dsakit_dim* dim = from.dims == nullptr ? nullptr : from.dims + i;
    if (dim == nullptr || dim->name == nullptr || dim->value == nullptr) {
      error.fail(DSAKIT_RC_INVALID, "dims[%llu] is null", static_cast<unsigned long long>(i));
      return false;
    }
    to.dims.emplace_back(dim->name, dim->value);
  }
  return true;
}

}  // namespace detail

// Reads a complete config (the thunks of plugin.hpp pass one). OK, INVALID or UNSUPPORTED.
inline dsakit_rc read_config(const dsakit_config& from, Config& to, Error& error) {
  to.device_type = from.device_type;
  to.device_id = from.device_id;
  to.sm_count = from.sm_count;
  to.row = detail::text_or(from.row, "");
  to.phase = detail::text_or(from.phase, "");
  to.model_family = detail::text_or(from.model_family, "");
  to.kv_layout = detail::text_or(from.kv_layout, "");
  to.invalid_index = detail::text_or(from.invalid_index, "any_out_of_range");
  to.layout = find_kv_layout(to.kv_layout);
  const bool good = detail::read_tokens(from, to, error) &&
                    detail::read_features(from, to, error) && detail::read_shape(from, to, error) &&
                    detail::read_dims(from, to, error);
  return good ? DSAKIT_RC_OK : error.last();
}

}  // namespace dsakit::sdk
