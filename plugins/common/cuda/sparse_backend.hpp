// A sparse MLA plugin on CUDA, whatever its kernels: checks a configuration, answers workspaces,
// enqueues runs. The table's contracts are in plugin_abi.h, the manifest says what is served.
//
// SparseBackend<Kernels> is the class for DSAKIT_PLUGIN. Kernels has
//   kId                   the plugin's id
//   kLayouts, kFeatures   names that its manifest serves
//   kPow2Scales           whether it serves kv_scale = pow2_fp32 alone
//   make_plan, workspace_bytes, device_ctas, launch   as in the plugin's launch header
//   move_kv_rows          as in its kv_rows.hpp
// The manifest's limits of heads and topk are here. An instance is immutable; threads as
// plugin_abi.h says.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "common/cuda/kv_rows.hpp"
#include "common/cuda/sparse_plan.hpp"
#include "sdk/plugin.hpp"
#include "sdk/run_view.hpp"

namespace dsakit::sparse {

inline constexpr int kMaxTopk = 1 << 20;

namespace detail {

inline dsakit_rc failed(sdk::Error& error, int status, const char* what) {
  return error.fail(DSAKIT_RC_DEVICE, DSAKIT_DOMAIN_CUDA, status, "%s: %s", what,
                    cudaGetErrorString(static_cast<cudaError_t>(status)));
}

// Makes a device current for a call, and the caller's again after it.
class DeviceScope {
 public:
  explicit DeviceScope(int device) {
    if (cudaGetDevice(&before_) != cudaSuccess) before_ = device;
    if (before_ != device) status_ = cudaSetDevice(device);
    changed_ = before_ != device && status_ == cudaSuccess;
  }
  ~DeviceScope() {
    if (changed_) cudaSetDevice(before_);
  }
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;
  int status() const { return status_; }

 private:
  int before_ = 0;
  cudaError_t status_ = cudaSuccess;
  bool changed_ = false;
};

// OK, or why no row of the manifest serves the configuration.
template <class Kernels>
dsakit_rc check_served(const sdk::Config& config, sdk::Error& error) {
  const auto refuse = [&](const char* what) {
    return error.fail(DSAKIT_RC_UNSUPPORTED, "%s does not serve %s", Kernels::kId, what);
  };
  const auto in = [](const auto& names, const std::string& name) {
    return std::ranges::find(names, name) != std::end(names);
  };
  if (config.layout == nullptr || !in(Kernels::kLayouts, config.kv_layout))
    return refuse("this kv_layout");
  if (config.d_qk != config.layout->d_qk() || config.d_v != config.layout->d_v)
    return refuse("d_qk and d_v that differ from the layout's");
  if (config.phase != "prefill" && config.phase != "decode" && config.phase != "mtp")
    return refuse("this phase");
  if (config.heads > kMaxHeads)
    return error.fail(DSAKIT_RC_UNSUPPORTED, "%s does not serve more than %d heads", Kernels::kId,
                      kMaxHeads);
  if (config.topk > kMaxTopk)
    return error.fail(DSAKIT_RC_UNSUPPORTED, "%s does not serve a topk above %d", Kernels::kId,
                      kMaxTopk);
  if (Kernels::kPow2Scales && config.kv_scale != sdk::ScaleKind::pow2_fp32)
    return refuse("a kv_scale other than pow2_fp32");
  if (config.ragged) return refuse("index_mode = ragged");
  if (config.fp8_compute) return refuse("compute = fp8");
  const auto bf16 = [](DLDataType type) { return type.code == kDLBfloat && type.bits == 16; };
  if (!bf16(config.q_dtype)) return refuse("a q_dtype other than bf16");
  if (!bf16(config.out_dtype)) return refuse("an out_dtype other than bf16");
  for (const std::string& feature : config.features)
    if (!in(Kernels::kFeatures, feature))
      return error.fail(DSAKIT_RC_UNSUPPORTED, "%s does not serve feature `%s`", Kernels::kId,
                        feature.c_str());
  if (!config.dims.empty())
    return error.fail(DSAKIT_RC_UNSUPPORTED, "%s does not know dimension `%s`", Kernels::kId,
                      config.dims.front().first.c_str());
  return DSAKIT_RC_OK;
}

// A stride of the checked arguments, for tokens counted in groups of `inner`, in `unit` bytes.
inline TokenAxis axis(const sdk::TokenStride& stride, std::int64_t inner, std::int64_t unit) {
  if (stride.inner_count == inner) return {stride.outer / unit, stride.inner / unit};
  return {stride.outer * inner / unit, stride.outer / unit};
}

inline bool aligned(const std::byte* data, std::initializer_list<std::int64_t> strides) {
  auto bits = reinterpret_cast<std::uintptr_t>(data);
  for (std::int64_t stride : strides) bits |= static_cast<std::uintptr_t>(stride);
  return bits % 16 == 0;
}

template <class To>
To* as(std::byte* data) {
  return reinterpret_cast<To*>(data);
}
template <class To>
const To* as(const std::byte* data) {
  return reinterpret_cast<const To*>(data);
}

// OK, or why the kernels cannot reach the pool.
inline dsakit_rc check_pool(const std::byte* data, std::int64_t page_stride,
                            std::int64_t row_stride, sdk::Error& error) {
  if (aligned(data, {page_stride, row_stride})) return DSAKIT_RC_OK;
  return error.fail(DSAKIT_RC_UNSUPPORTED, "kv and its strides must be multiples of 16 bytes");
}

// The call that a checked view describes; lse conventions and rope come from the configuration.
inline Problem make_problem(const sdk::Config& config, const sdk::RunView& view) {
  const sdk::CacheView& cache = view.cache[0];
  const std::int64_t inner = view.q_token.inner_count;
  Problem problem;
  problem.tokens = static_cast<std::int32_t>(view.tokens);
  problem.heads = static_cast<std::int32_t>(view.heads);
  problem.topk = static_cast<std::int32_t>(cache.topk);
  problem.rope = config.d_qk > kLatent;
  problem.index64 = cache.wide_indices;
  problem.lse_log2 = config.lse == sdk::LseBase::log2;
  problem.lse_with_sink = config.lse_with_sink;
  problem.lse_empty = config.lse_empty;
  problem.scale = view.sm_scale;
  Tensors& t = problem.tensors;
  t.tokens_inner = static_cast<std::int32_t>(inner);
  t.q = view.q;
  t.q_token = axis(view.q_token, inner, 1);
  t.q_head = view.q_head;
  t.kv = cache.data;
  t.kv_page = cache.page_stride;
  t.kv_row = cache.row_stride;
  t.page_size = static_cast<std::uint32_t>(cache.page_size);
  t.slots = static_cast<std::uint32_t>(cache.slots());
  t.indices = cache.indices;
  t.index_token = axis(cache.index_row, inner, cache.wide_indices ? 8 : 4);
  t.length = as<std::int32_t>(cache.length);
  t.length_stride = cache.length_stride / 4;
  t.tokens_per_length = static_cast<std::int32_t>(cache.tokens_per_length);
  t.sink = as<float>(view.sink);
  t.sink_head = view.sink_stride / 4;
  t.out = view.out;
  t.out_token = axis(view.out_token, inner, 1);
  t.out_head = view.out_head;
  t.lse = as<float>(view.lse);
  t.lse_token = axis(view.lse_token, inner, 4);
  t.lse_head = view.lse_head / 4;
  t.max_logits = as<float>(view.max_logits);
  t.max_token = axis(view.max_token, inner, 4);
  t.max_head = view.max_head / 4;
  return problem;
}

}  // namespace detail

template <class Kernels>
class SparseBackend {
 public:
  SparseBackend(sdk::Config config, int ctas) : config_(std::move(config)), ctas_(ctas) {}

  static dsakit_rc probe(std::int32_t device_type, std::int32_t device_id, sdk::Error& error) {
    if (device_type != kDLCUDA)
      return error.fail(DSAKIT_RC_NO_DEVICE, "%s runs on CUDA devices only", Kernels::kId);
    int count = 0;
    if (const cudaError_t status = cudaGetDeviceCount(&count); status != cudaSuccess)
      return error.fail(DSAKIT_RC_NO_DEVICE, DSAKIT_DOMAIN_CUDA, status, "no CUDA device: %s",
                        cudaGetErrorString(status));
    if (device_id < 0 || device_id >= count)
      return error.fail(DSAKIT_RC_NO_DEVICE, "there is no CUDA device %d", device_id);
    int major = 0, minor = 0;
    cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device_id);
    cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device_id);
    if (major == 9 && minor == 0) return DSAKIT_RC_OK;
    return error.fail(DSAKIT_RC_UNSUPPORTED, "CUDA device %d is sm_%d%d, the kernels are for sm_90",
                      device_id, major, minor);
  }

  static dsakit_rc create(const sdk::Config& config, std::unique_ptr<SparseBackend>& made,
                          sdk::Error& error) {
    if (const dsakit_rc rc = detail::check_served<Kernels>(config, error); rc != DSAKIT_RC_OK)
      return rc;
    if (const dsakit_rc rc = probe(config.device_type, config.device_id, error); rc != DSAKIT_RC_OK)
      return rc;
    const detail::DeviceScope scope(config.device_id);
    if (scope.status() != 0) return detail::failed(error, scope.status(), "cudaSetDevice");
    int status = 0;
    const int ctas = Kernels::device_ctas(config.sm_count, &status);
    if (ctas == 0) return detail::failed(error, status, "preparing the kernels");
    made = std::make_unique<SparseBackend>(config, ctas);
    return DSAKIT_RC_OK;
  }

  dsakit_rc workspace(std::int64_t tokens, dsakit_workspace& answer, sdk::Error& error) const {
    if (tokens < 0 || tokens > config_.max_tokens)
      return error.fail(DSAKIT_RC_INVALID, "tokens = %lld is outside 0 ... %lld",
                        static_cast<long long>(tokens), static_cast<long long>(config_.max_tokens));
    answer.alignment = kAlignment;
    answer.bytes = bytes();
    answer.zero_bytes = 0;
    return DSAKIT_RC_OK;
  }

  dsakit_rc run(const dsakit_run_args& args, sdk::Error& error) {
    sdk::RunView view;
    dsakit_rc rc = check_run(config_, *config_.layout, args, view, error);
    if (rc == DSAKIT_RC_OK) rc = check_workspace(args, bytes(), kAlignment, error);
    if (rc != DSAKIT_RC_OK) return rc;
    if (view.tokens == 0) return DSAKIT_RC_OK;
    if (rc = check_reach(view, error); rc != DSAKIT_RC_OK) return rc;
    const detail::DeviceScope scope(config_.device_id);
    if (scope.status() != 0) return detail::failed(error, scope.status(), "cudaSetDevice");
    const Problem problem = detail::make_problem(config_, view);
    const Plan plan = Kernels::make_plan(problem.tokens, problem.heads, problem.topk, ctas_);
    const int status = Kernels::launch(problem, plan, args.workspace, args.stream);
    return status == 0 ? DSAKIT_RC_OK : detail::failed(error, status, "launching the kernels");
  }

  dsakit_rc kv_append(const dsakit_kv_args& args, sdk::Error& error) {
    return move_rows(args, true, error);
  }
  dsakit_rc kv_dequant(const dsakit_kv_args& args, sdk::Error& error) {
    return move_rows(args, false, error);
  }

 private:
  static constexpr std::uint32_t kAlignment = 256;  // of the workspace

  std::uint64_t bytes() const {
    return Kernels::workspace_bytes(static_cast<int>(config_.heads), ctas_);
  }

  // What the kernels' copies and counters can reach.
  dsakit_rc check_reach(const sdk::RunView& view, sdk::Error& error) const {
    const sdk::CacheView& cache = view.cache[0];
    if (!detail::aligned(view.q, {view.q_token.outer, view.q_token.inner, view.q_head}))
      return error.fail(DSAKIT_RC_UNSUPPORTED, "q and its strides must be multiples of 16 bytes");
    if (const dsakit_rc rc =
            detail::check_pool(cache.data, cache.page_stride, cache.row_stride, error);
        rc != DSAKIT_RC_OK)
      return rc;
    constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
    if (cache.pages > kMost / cache.page_size)
      return error.fail(DSAKIT_RC_UNSUPPORTED, "kv has 2^31 slots or more");
    if (view.tokens > kMost / (cache.topk / kBlock + 1))
      return error.fail(DSAKIT_RC_UNSUPPORTED, "q has too many tokens for this topk");
    return DSAKIT_RC_OK;
  }

  dsakit_rc move_rows(const dsakit_kv_args& args, bool append, sdk::Error& error) const {
    sdk::KvRowsView view;
    if (const dsakit_rc rc = check_kv_rows(config_, *config_.layout, args, view, error);
        rc != DSAKIT_RC_OK)
      return rc;
    if (const dsakit_rc rc =
            detail::check_pool(view.data, view.page_stride, view.row_stride, error);
        rc != DSAKIT_RC_OK)
      return rc;
    const detail::DeviceScope scope(config_.device_id);
    if (scope.status() != 0) return detail::failed(error, scope.status(), "cudaSetDevice");
    cuda::KvRows rows;
    rows.pool = view.data;
    rows.pages = view.pages;
    rows.page_size = view.page_size;
    rows.page_stride = view.page_stride;
    rows.row_stride = view.row_stride;
    rows.count = view.count;
    rows.slots = view.slots;
    rows.wide_slots = view.wide_slots;
    rows.slot_stride = view.slot_stride;
    rows.rows = view.rows;
    rows.rows_fp32 = view.rows_fp32;
    rows.row_bytes = view.row_bytes;
    rows.elements = static_cast<std::int32_t>(config_.d_qk);
    rows.pow2_scales = config_.kv_scale != sdk::ScaleKind::any;
    const int status = Kernels::move_kv_rows(rows, append, view.stream);
    return status == 0 ? DSAKIT_RC_OK : detail::failed(error, status, "launching the row kernel");
  }

  sdk::Config config_;
  int ctas_;
};

}  // namespace dsakit::sparse
