// The flashmla_kv plugin: fp8 caches on Hopper.
#include <array>
#include <string_view>

#include "common/cuda/sparse_backend.hpp"
#include "flashmla_kv/kv_rows.hpp"
#include "flashmla_kv/sparse_mla_fp8.hpp"

namespace dsakit::sparse::fp8 {
namespace {

struct Kernels {
  static constexpr const char* kId = "flashmla_kv";
  static constexpr std::array<std::string_view, 2> kLayouts{"fp8_656_g128", "fp8_528_g128"};
  static constexpr std::array<std::string_view, 5> kFeatures{"hisparse", "cuda_graph", "attn_sink",
                                                             "topk_length", "max_logits"};
  static constexpr auto make_plan = sparse::fp8::make_plan;
  static constexpr auto workspace_bytes = sparse::fp8::workspace_bytes;
  static constexpr auto device_ctas = sparse::fp8::device_ctas;
  static constexpr auto launch = sparse::fp8::launch;
  static constexpr auto move_kv_rows = sparse::fp8::move_kv_rows;
  // What else is not served.
  static const char* refused(const sdk::Config& config) {
    return config.kv_scale == sdk::ScaleKind::ue8m0 ? "kv_scale = ue8m0" : nullptr;
  }
};

}  // namespace
}  // namespace dsakit::sparse::fp8

DSAKIT_PLUGIN(dsakit::sparse::SparseBackend<dsakit::sparse::fp8::Kernels>)
