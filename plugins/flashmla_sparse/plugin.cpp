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
  static constexpr std::array<std::string_view, 5> kFeatures{"hisparse", "cuda_graph", "attn_sink",
                                                             "topk_length", "max_logits"};
  static constexpr int kMaxHeads = sparse::kMaxHeads;
  static constexpr int kMaxTopk = 1 << 20;
  static constexpr int kBlock = sparse::kBlock;

  static int device_ctas(int sm_count, int* error) { return sparse::device_ctas(sm_count, error); }
  static std::size_t workspace_bytes(const sdk::Config& config, int ctas) {
    return sparse::workspace_bytes(static_cast<int>(config.heads), ctas);
  }
  static int launch(const sdk::Config&, const Problem& problem, int ctas, void* workspace,
                    void* stream) {
    const Plan plan = make_plan(problem.tokens, problem.heads, problem.topk, ctas);
    return sparse::launch(problem, plan, workspace, stream);
  }
  static int move_kv_rows(const KvRows& rows, bool append, void* stream) {
    return sparse::move_kv_rows(rows, append, stream);
  }
};

}  // namespace
}  // namespace dsakit::sparse

DSAKIT_PLUGIN(dsakit::cuda::SparseBackend<dsakit::sparse::Kernels>)
