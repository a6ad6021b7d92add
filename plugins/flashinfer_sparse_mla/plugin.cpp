// The flashinfer_sparse_mla plugin: bf16 and fp8 caches on every NVIDIA GPU from sm_80 on.
#include <array>
#include <string_view>

#include "common/cuda/sparse_backend.hpp"
#include "flashinfer_sparse_mla/sparse_mla_mma.hpp"

namespace dsakit::sparse::mma {
namespace {

struct Kernels {
  static constexpr const char* kId = "flashinfer_sparse_mla";
  static constexpr std::array<std::string_view, 4> kLayouts{"bf16_1152", "bf16_1024",
                                                            "fp8_656_g128", "fp8_528_g128"};
  static constexpr std::array<std::string_view, 6> kFeatures{
      "hisparse", "cuda_graph", "attn_sink", "topk_length", "max_logits", "deterministic"};
  static constexpr bool kPow2Scales = false;
  static constexpr auto has_code = mma::has_code;
  static constexpr int kCountedKeys = mma::kCountedKeys;
  static constexpr auto make_plan = mma::make_plan;
  static constexpr auto fixed_plan = mma::fixed_plan;
  static constexpr auto workspace_bytes = mma::workspace_bytes;
  static constexpr auto device_ctas = mma::device_ctas;
  static constexpr auto launch = mma::launch;
  static constexpr auto move_kv_rows = mma::move_kv_rows;
};

}  // namespace
}  // namespace dsakit::sparse::mma

DSAKIT_PLUGIN(dsakit::sparse::SparseBackend<dsakit::sparse::mma::Kernels>)
