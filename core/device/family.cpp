#include "device/family.hpp"

#include <algorithm>

namespace dsakit {
namespace {

constexpr std::string_view kDsaLayers = "deepseek_sparse_attention";

// name, sinks, indexer, counts_compressed, rope_inside, latent, sparse_layers
constexpr ModelFamily kFamilies[] = {
    {"deepseek_v32", SinkRule::flag, IndexerRule::schedule, false, false, 0, ""},
    {"glm_moe_dsa", SinkRule::flag, IndexerRule::schedule, false, false, 0, kDsaLayers},
    {"glm5_next", SinkRule::flag, IndexerRule::schedule, false, false, 0, kDsaLayers},
    {"hyv4", SinkRule::flag, IndexerRule::schedule, false, false, 0, ""},
    {"longcat", SinkRule::flag, IndexerRule::unexplained, false, false, 0, ""},
    {"dots3", SinkRule::flag, IndexerRule::unexplained, false, false, 0, ""},
    {"deepseek_v4", SinkRule::always, IndexerRule::ratio_4, true, true, 512, ""},
    {"deepseek_v41", SinkRule::always, IndexerRule::source_layers, true, true, 512, ""},
};

constexpr std::string_view kArchAlone = "no index_topk; the architecture alone is not enough";
constexpr std::string_view kDenseMla = "no index_topk; dense MLA";
constexpr std::string_view kDenseGqa = "dense GQA";
constexpr std::string_view kSinksGqa = "no index_topk; sinks and sliding windows over dense GQA";
constexpr std::string_view kBlockSparse = "block-sparse GQA; no index_topk";

constexpr Architecture kArchitectures[] = {
    {"DeepseekV32ForCausalLM", "deepseek_v32", kArchAlone},
    {"DeepseekV3ForCausalLM", "deepseek_v32", kArchAlone},
    {"DeepseekV3ForCausalLMNextN", "deepseek_v32", kArchAlone},
    {"KimiK25ForConditionalGeneration", "deepseek_v32", kDenseMla},
    {"MistralLarge3ForCausalLM", "deepseek_v32", kDenseMla},
    {"PixtralForConditionalGeneration", "deepseek_v32", kArchAlone},
    {"GlmMoeDsaForCausalLM", "glm_moe_dsa", kArchAlone},
    {"GlmMoeDsaForCausalLMNextN", "glm_moe_dsa", kArchAlone},
    {"Glm5NextForConditionalGeneration", "glm5_next", kArchAlone},
    {"HYV4ForCausalLM", "hyv4", kArchAlone},
    {"HYV4ForCausalLMNextN", "hyv4", kArchAlone},
    {"LongcatCausalLM", "longcat", kDenseMla},
    {"LongcatFlashForCausalLM", "longcat", kDenseMla},
    {"LongcatFlashForCausalLMNextN", "longcat", kDenseMla},
    {"Dots3NoteForCausalLM", "dots3", kDenseMla},
    {"DeepseekV4ForCausalLM", "deepseek_v4", kArchAlone},
    {"DeepseekV41ForCausalLM", "deepseek_v41", kArchAlone},
    // Models that people also try; what they are is said instead of "unknown".
    {"DeepseekV2ForCausalLM", "", kDenseMla},
    {"GptOssForCausalLM", "", kSinksGqa},
    {"MiniMaxM3SparseForCausalLM", "", kBlockSparse},
    {"MiniMaxM3SparseForConditionalGeneration", "", kBlockSparse},
    {"LlamaForCausalLM", "", kDenseGqa},
    {"MistralForCausalLM", "", kDenseGqa},
    {"MixtralForCausalLM", "", kDenseGqa},
    {"Qwen2ForCausalLM", "", kDenseGqa},
    {"Qwen2MoeForCausalLM", "", kDenseGqa},
    {"Qwen3ForCausalLM", "", kDenseGqa},
    {"Qwen3MoeForCausalLM", "", kDenseGqa},
    {"Glm4MoeForCausalLM", "", kDenseGqa},
};

constexpr bool families_complete() {
  return std::ranges::all_of(kArchitectures, [](const Architecture& a) {
    return a.family.empty() ||
           std::ranges::any_of(kFamilies, [&](const ModelFamily& f) { return f.name == a.family; });
  });
}
static_assert(families_complete(), "an architecture names a family that the table lacks");

template <typename T>
const T* find_named(std::span<const T> table, std::string_view name) {
  const auto it = std::ranges::find(table, name, &T::name);
  return it == table.end() ? nullptr : &*it;
}

}  // namespace

std::span<const ModelFamily> model_families() {
  return kFamilies;
}
std::span<const Architecture> model_architectures() {
  return kArchitectures;
}

const ModelFamily* find_family(std::string_view name) {
  return find_named(model_families(), name);
}

const Architecture* find_architecture(std::string_view name) {
  return find_named(model_architectures(), name);
}

}  // namespace dsakit
