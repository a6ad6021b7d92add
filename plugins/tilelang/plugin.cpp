// The tilelang plugin: dense index rows on AMD GPUs.
#include <array>
#include <string_view>

#include "common/hip/sparse_backend.hpp"

namespace dsakit::tilelang {
namespace {

struct Kernels {
  static constexpr const char* kId = "tilelang";
  static constexpr std::array<std::string_view, 8> kLayouts{
      "bf16_1152",       "bf16_1024",       "fp8_576_pt",   "fp8_512_pt",
      "fp8_576_pt_fnuz", "fp8_512_pt_fnuz", "fp8_656_g128", "fp8_528_g128"};
  static constexpr std::array<std::string_view, 6> kFeatures{
      "hisparse", "cuda_graph", "attn_sink", "topk_length", "max_logits", "deterministic"};
  static constexpr bool kRagged = false;
};

}  // namespace
}  // namespace dsakit::tilelang

DSAKIT_PLUGIN(dsakit::hip::SparseBackend<dsakit::tilelang::Kernels>)
