#include "manifest/dimension.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "dsakit/kv_layout.hpp"
#include "manifest/known_tokens.hpp"

namespace dsakit {
namespace {

constexpr int kOpen = 1, kShared = 2, kSettable = 4;

struct Builtin {
  std::string_view name;
  DimType type;
  std::string_view neutral;
  int flags;
  std::string_view doc;         // {} stands for the known tokens
  std::string_view known = "";  // tokens that dsakit gives a meaning to: "a, b"
};

// The one list of built-in dimensions. Neutral values: a token as written, an int as digits, "{}"
// the empty set, "" none.
constexpr Builtin kBuiltins[] = {
    {"platform", DimType::token, "", 0, "programming platform: cuda, hip, xpu, cpu"},
    {"arch", DimType::arch, "", 0, "device architecture: sm_90, gfx942, cpu"},
    {"phase", DimType::token, "", 0, "prefill, decode, or mtp (target-verify and draft-extend)"},
    {"model_family", DimType::token, "", 0, "family of the model, such as deepseek_v32"},
    {"kv_dtype", DimType::token, "", kShared | kSettable, "element type of the KV cache"},
    {"kv_scale", DimType::token, "any", kShared | kSettable, "scales that the engine may write: {}",
     "any, pow2_fp32, ue8m0"},
    {"page_size", DimType::integer, "", kShared | kSettable, "tokens a page of the KV cache"},
    {"heads", DimType::integer, "", 0, "query heads a rank"},
    {"topk", DimType::integer, "", 0, "width of the index row handed to run"},
    {"d_qk", DimType::integer, "", 0, "elements of a query or key row"},
    {"d_v", DimType::integer, "", 0, "elements of a value row"},
    {"index_kpool", DimType::integer, "1", kShared,
     "neighbouring keys that one index of the indexer stands for"},
    {"index_mode", DimType::token, "physical", kSettable,
     "physical (slot ids) or ragged (indptr and list)", "physical, ragged"},
    {"invalid_index", DimType::token, "any_out_of_range", kSettable,
     "indices that mean no token: {}", "any_out_of_range, minus1_only, none"},
    {"q_dtype", DimType::token, "bf16", kSettable, "element type of the queries",
     "bf16, fp16, fp32, fp8_e4m3"},
    {"out_dtype", DimType::token, "bf16", kSettable, "element type of the output",
     "bf16, fp16, fp32, fp8_e4m3"},
    {"lse", DimType::token, "natural", kSettable, "base of the returned log-sum-exp: {}",
     "natural, log2, none"},
    {"lse_sink", DimType::token, "excluded", kSettable,
     "whether the attention sink counts in the LSE: {}", "excluded, included"},
    {"lse_empty", DimType::token, "plus_inf", kSettable, "LSE of a row without valid tokens: {}",
     "plus_inf, minus_large"},
    {"compute", DimType::token, "exact", kSettable, "arithmetic of the products: {}", "exact, fp8"},
    {"features", DimType::set, "{}", kSettable, "what the engine uses: {}",
     "hisparse, cuda_graph, attn_sink, topk_length, second_cache, max_logits, deterministic"},
    {"runtime_cuda", DimType::version, "", kOpen | kSettable, "CUDA runtime on the machine"},
    {"runtime_hip", DimType::version, "", kOpen | kSettable, "HIP runtime on the machine"},
    {"driver", DimType::version, "", kOpen | kSettable, "GPU driver on the machine"},
};

constexpr std::string_view kPhaseDim = "phase";
constexpr std::array<std::string_view, 3> kPhaseNames{"prefill", "decode", "mtp"};
constexpr std::array<std::string_view, 5> kReservedKeys{"phases", "prefill", "decode", "mtp",
                                                        "kv_layout"};

struct Alias {
  std::string_view written, meant;
};
constexpr Alias kAliases[] = {{"bfloat16", "bf16"}};

std::optional<Value> neutral_value(const Builtin& builtin) {
  if (builtin.neutral.empty()) return std::nullopt;
  if (builtin.type == DimType::set) return Value(Set{});
  if (builtin.type == DimType::integer)
    return Value(std::int32_t{std::stoi(std::string(builtin.neutral))});
  return Value(Token(builtin.neutral));
}

std::vector<std::string> split(std::string_view list) {
  std::vector<std::string> tokens;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(", "), list.size());
    tokens.emplace_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 2, list.size()));
  }
  return tokens;
}

// The documentation names the first three of a long list.
std::string doc_text(const Builtin& builtin) {
  std::string text(builtin.doc);
  const std::size_t place = text.find("{}");
  if (place == std::string::npos) return text;
  const std::vector<std::string> tokens = split(builtin.known);
  std::string list(builtin.known);
  if (tokens.size() > 4) list = tokens[0] + ", " + tokens[1] + ", " + tokens[2] + ", ...";
  return text.replace(place, 2, list);
}

}  // namespace

DimensionTable::DimensionTable() {
  for (const Builtin& builtin : kBuiltins) {
    Dimension dim;
    dim.name = builtin.name;
    dim.type = builtin.type;
    dim.neutral = neutral_value(builtin);
    dim.open = (builtin.flags & kOpen) != 0;
    dim.shared = (builtin.flags & kShared) != 0;
    dim.settable = (builtin.flags & kSettable) != 0;
    if (builtin.name == kPhaseDim) dim.values.assign(kPhaseNames.begin(), kPhaseNames.end());
    dim.doc = doc_text(builtin);
    dims_.push_back(std::move(dim));
  }
  builtin_ = size();
}

int DimensionTable::find(std::string_view name) const {
  for (int i = 0; i < size(); ++i) {
    if (at(i).name == name) return i;
  }
  return -1;
}

bool DimensionTable::declare(const Dimension& dim) {
  const int known = find(dim.name);
  if (known < 0) {
    dims_.push_back(dim);
    return true;
  }
  return known >= builtin_ && at(known).same_declaration(dim);
}

std::vector<std::string> DimensionTable::names() const {
  std::vector<std::string> result;
  for (const Dimension& dim : dims_) result.push_back(dim.name);
  return result;
}

const DimensionTable& builtin_dimensions() {
  static const DimensionTable table;
  return table;
}

std::span<const std::string_view> reserved_request_keys() {
  return kReservedKeys;
}

std::vector<std::string> known_tokens(std::string_view dim) {
  for (const Builtin& builtin : kBuiltins)
    if (builtin.name == dim) return split(builtin.known);
  return {};
}

std::string_view resolve_alias(std::string_view token) {
  for (const Alias& alias : kAliases) {
    if (alias.written == token) return alias.meant;
  }
  return token;
}

std::vector<std::string> spellings(std::string_view token) {
  std::vector<std::string> result{std::string(resolve_alias(token))};
  for (const Alias& alias : kAliases) {
    if (alias.meant == result.front()) result.emplace_back(alias.written);
  }
  return result;
}

std::string kv_layout_text(std::string_view name) {
  const KvLayout* layout = find_kv_layout(name);
  if (!layout) return "";
  std::string out = fmt::format("{} bytes per token, ", layout->token_bytes);
  switch (layout->scale) {
    case KvScale::none:
      return out + fmt::format("{} bf16", layout->d_qk());
    case KvScale::tensor_fp32:
      return out + (layout->element == KvElement::e4m3fnuz ? "fnuz encoding, " : "") +
             "one scale per tensor";
    case KvScale::group_fp32:
      out += fmt::format("one scale per {} values", layout->group);
      break;
    case KvScale::group_ue8m0:
      out += fmt::format("one power-of-two scale per {} values", layout->group);
      break;
  }
  if (layout->footer()) out += ", stored behind the rows of a page";
  return out + (layout->rope == 0 ? ", no rope part" : "");
}

}  // namespace dsakit
