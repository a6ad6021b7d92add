// The flashinfer_sparse_mla plugin: bf16, fp8 and DeepSeek V4 caches on every NVIDIA GPU from sm_80
// on.
#include <array>
#include <string_view>

#include "common/cuda/sparse_backend.hpp"
#include "flashinfer_sparse_mla/sparse_mla_mma.hpp"

namespace dsakit::sparse::mma {
namespace {

struct Kernels {
  static constexpr const char* kId = "flashinfer_sparse_mla";
  static constexpr std::array<std::string_view, 5> kLayouts{
      "bf16_1152", "bf16_1024", "fp8_656_g128", "fp8_528_g128", "v4_584"};
  static constexpr std::array<std::string_view, 7> kFeatures{
      "hisparse",   "cuda_graph",    "attn_sink",   "topk_length",
      "max_logits", "deterministic", "second_cache"};
  static constexpr auto has_code = mma::has_code;
  static constexpr auto has_fp8_code = mma::has_fp8_code;
  static constexpr int kCountedKeys = mma::kCountedKeys;
  static constexpr auto make_plan = mma::make_plan;
  static constexpr auto fixed_plan = mma::fixed_plan;
  static constexpr auto workspace_bytes = mma::workspace_bytes;
  static constexpr auto device_ctas = mma::device_ctas;
  static constexpr auto launch = mma::launch;
  static constexpr auto launch_lists = mma::launch_lists;
  static constexpr auto keys_of_lists = mma::keys_of_lists;
  static constexpr auto move_kv_rows = mma::move_kv_rows;
  // Why a configuration is not served, though each part of it is.
  static const char* refused(const sdk::Config& config) {
    const bool footer = config.layout->footer();
    if (footer && config.model_family != "deepseek_v4") return "this kv_layout for this model";
    const bool groups = config.layout->scale == KvScale::group_fp32;
    if (config.fp8_compute && !groups) return "compute = fp8 with this kv_layout";
    return config.second_cache && !footer ? "feature `second_cache` with this kv_layout" : nullptr;
  }
};

}  // namespace
}  // namespace dsakit::sparse::mma

DSAKIT_PLUGIN(dsakit::sparse::SparseBackend<dsakit::sparse::mma::Kernels>)
