// A naive GPU backend in many builds: right, or wrong in the one way that TOY_WRONG names.
#include <cuda_runtime_api.h>

#include <cmath>
#include <memory>
#include <string>

#include "sdk/plugin.hpp"
#include "sdk/run_view.hpp"
#include "wrong/toy_kernel.hpp"

namespace dsakit::gpu_toy {
namespace {

using sdk::Config;
using sdk::Error;

constexpr bool wrong(std::string_view way) {
  return way == TOY_WRONG;
}

const unsigned char* bytes(const std::byte* at) {
  return reinterpret_cast<const unsigned char*>(at);
}
unsigned char* bytes(std::byte* at) {
  return reinterpret_cast<unsigned char*>(at);
}
Axis axis(const sdk::TokenStride& stride) {
  return {stride.outer, stride.inner, stride.inner_count};
}

class Toy {
 public:
  explicit Toy(Config config) : config_(std::move(config)) {}

  static dsakit_rc probe(std::int32_t type, std::int32_t id, Error& error) {
    int count = 0;
    if (type == kDLCUDA && cudaGetDeviceCount(&count) == cudaSuccess && id >= 0 && id < count)
      return DSAKIT_RC_OK;
    return error.fail(DSAKIT_RC_NO_DEVICE, "the toy runs on CUDA devices only");
  }

  static dsakit_rc create(const Config& c, std::unique_ptr<Toy>& made, Error& error) {
    if (const dsakit_rc rc = probe(c.device_type, c.device_id, error); rc != DSAKIT_RC_OK)
      return rc;
    bool good = c.kv_layout == "bf16_1152" && c.d_qk == 576 && c.d_v == 512 && c.heads <= 128;
    good = good && c.topk <= 65536 && !c.ragged && !c.fp8_compute && !c.lse_with_sink;
    good = good && c.lse == sdk::LseBase::natural && std::isinf(c.lse_empty) && c.dims.empty();
    good = good && c.index_kpool == 1;
    good = good && c.q_dtype.code == kDLBfloat && c.out_dtype.code == kDLBfloat;
    for (const std::string& name : c.features)
      good = good && (name == "topk_length" || name == "max_logits" || name == "cuda_graph");
    if (!good) return error.fail(DSAKIT_RC_UNSUPPORTED, "no row of the toy serves this");
    made = std::make_unique<Toy>(c);
    return DSAKIT_RC_OK;
  }

  // A length for each token and head, of which only the wrong toy makes use.
  dsakit_rc workspace(std::int64_t tokens, dsakit_workspace& answer, Error& error) const {
    if (tokens < 0 || tokens > config_.max_tokens)
      return error.fail(DSAKIT_RC_INVALID, "tokens is out of range");
    answer.alignment = 256;
    answer.bytes = answer.zero_bytes = static_cast<std::uint64_t>(tokens * config_.heads * 4);
    return DSAKIT_RC_OK;
  }

  dsakit_rc run(const dsakit_run_args& args, Error& error) {
    sdk::RunView view;
    const dsakit_rc rc = check_run(config_, *config_.layout, args, view, error);
    if (rc != DSAKIT_RC_OK) return rc;
    dsakit_workspace needed{};
    workspace(view.tokens, needed, error);
    if (const dsakit_rc bad = check_workspace(args, needed.bytes, 256, error); bad != DSAKIT_RC_OK)
      return bad;
    if (view.tokens == 0) return DSAKIT_RC_OK;
    void* scratch = nullptr;
    if (wrong("allocates") || wrong("leaks")) cudaMalloc(&scratch, 1 << 22);
    const int status =
        launch(describe(view, args), wrong("default_stream") ? nullptr : args.stream);
    if (wrong("waits")) cudaStreamSynchronize(static_cast<cudaStream_t>(args.stream));
    if (wrong("allocates")) cudaFree(scratch);
    if (status == 0) return DSAKIT_RC_OK;
    return error.fail(DSAKIT_RC_DEVICE, DSAKIT_DOMAIN_CUDA, status, "the launch failed");
  }

 private:
  Call describe(const sdk::RunView& view, const dsakit_run_args& args) const {
    const sdk::CacheView& cache = view.cache[0];
    Call c;
    c.q = bytes(view.q);
    c.pool = bytes(cache.data);
    c.indices = bytes(cache.indices);
    c.length = bytes(cache.length);
    c.out = bytes(view.out);
    c.lse = bytes(view.lse);
    c.max_logits = bytes(view.max_logits);
    c.q_token = axis(view.q_token);
    c.out_token = axis(view.out_token);
    c.lse_token = axis(view.lse_token);
    c.max_token = axis(view.max_token);
    c.index_row = axis(cache.index_row);
    c.q_head = view.q_head;
    c.out_head = view.out_head;
    c.lse_head = view.lse_head;
    c.max_head = view.max_head;
    c.page_size = cache.page_size;
    c.page_stride = cache.page_stride;
    c.row_stride = cache.row_stride;
    c.slots = cache.slots();
    c.length_stride = cache.length_stride;
    c.tokens_per_length = cache.tokens_per_length;
    c.tokens = view.tokens;
    c.heads = view.heads;
    c.topk = cache.topk;
    c.scale = view.sm_scale;
    c.wide = cache.wide_indices;
    c.int32_offset = wrong("int32_offset");
    c.nan_leaks = wrong("nan_leaks");
    if (wrong("stale_length")) c.first_lengths = static_cast<std::int32_t*>(args.workspace);
    return c;
  }

  Config config_;
};

}  // namespace
}  // namespace dsakit::gpu_toy

DSAKIT_PLUGIN(dsakit::gpu_toy::Toy)
