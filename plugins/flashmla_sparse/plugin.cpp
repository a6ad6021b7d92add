// The flashmla_sparse plugin: bf16 caches on Hopper.
#include <array>
#include <string_view>

#include "common/cuda/sparse_backend.hpp"
#include "flashmla_sparse/kv_rows.hpp"
#include "flashmla_sparse/sparse_mla.hpp"

namespace dsakit::sparse {
namespace {

struct Kernels {
  static constexpr const char* kId = "flashmla_sparse";
  static constexpr std::array<std::string_view, 2> kLayouts{"bf16_1152", "bf16_1024"};
  static constexpr std::array<std::string_view, 6> kFeatures{
      "hisparse", "cuda_graph", "attn_sink", "topk_length", "max_logits", "deterministic"};
  static constexpr auto make_plan = sparse::make_plan;
  static constexpr auto workspace_bytes = sparse::workspace_bytes;
  static constexpr auto device_ctas = sparse::device_ctas;
  static constexpr auto launch = sparse::launch;
  static constexpr auto move_kv_rows = sparse::move_kv_rows;
};

}  // namespace
}  // namespace dsakit::sparse

DSAKIT_PLUGIN(dsakit::sparse::SparseBackend<dsakit::sparse::Kernels>)
