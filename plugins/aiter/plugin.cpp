// The aiter plugin: ragged index lists on AMD GPUs, and index rows for engines that have those.
#include <array>
#include <limits>
#include <string_view>

#include "common/hip/sparse_backend.hpp"

namespace dsakit::aiter {
namespace {

struct Kernels {
  static constexpr const char* kId = "aiter";
  static constexpr std::array<std::string_view, 6> kLayouts{
      "bf16_1152", "bf16_1024", "fp8_576_pt", "fp8_512_pt", "fp8_576_pt_fnuz", "fp8_512_pt_fnuz"};
  static constexpr std::array<std::string_view, 6> kFeatures{
      "hisparse", "cuda_graph", "attn_sink", "topk_length", "max_logits", "deterministic"};
  static constexpr bool kRagged = true;

  static const char* refused(const sdk::Config& config) {
    if (config.page_size != 1 && config.page_size != 64) return "a page_size other than 1 and 64";
    if (config.lse == sdk::LseBase::log2) return "lse = log2";
    if (config.lse_with_sink) return "lse_sink = included";
    if (config.lse_empty != std::numeric_limits<float>::infinity())
      return "an lse_empty other than plus_inf";
    if (config.ragged && config.invalid_index != "none")
      return "ragged lists with invalid_index other than none";
    return nullptr;
  }
};

}  // namespace
}  // namespace dsakit::aiter

DSAKIT_PLUGIN(dsakit::hip::SparseBackend<dsakit::aiter::Kernels>)
