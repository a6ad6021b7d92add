// A sparse MLA plugin on CUDA, whatever its kernels: checks a configuration, answers workspaces,
// enqueues runs. The table's contracts are in plugin_abi.h, the manifest says what is served.
//
// SparseBackend<Kernels> is the class for DSAKIT_PLUGIN. Kernels has
//   kId                   the plugin's id
//   kLayouts, kFeatures   names that its manifest serves
//   has_code              whether it has kernels for the current device; without it: sm_90 alone
//   fixed_plan            the plan for feature deterministic; without it: whole_tokens()
//   launch_lists, keys_of_lists   for feature second_cache: of a call with a second list
//   kCountedKeys          keys of a block in check_reach(); without it: kBlock
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
#include "common/sparse_host.hpp"
#include "sdk/plugin.hpp"
#include "sdk/run_view.hpp"

namespace dsakit::sparse {

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
    if constexpr (requires { Kernels::has_code(); }) {
      const detail::DeviceScope scope(device_id);
      if (scope.status() != 0) return detail::failed(error, scope.status(), "cudaSetDevice");
      if (Kernels::has_code()) return DSAKIT_RC_OK;
      return error.fail(DSAKIT_RC_UNSUPPORTED,
                        "CUDA device %d is sm_%d%d, for which this file has no kernels", device_id,
                        major, minor);
    }
    if (major == 9 && minor == 0) return DSAKIT_RC_OK;
    return error.fail(DSAKIT_RC_UNSUPPORTED, "CUDA device %d is sm_%d%d, the kernels are for sm_90",
                      device_id, major, minor);
  }

  static dsakit_rc create(const sdk::Config& config, std::unique_ptr<SparseBackend>& made,
                          sdk::Error& error) {
    if (const dsakit_rc rc = host::check_served<Kernels>(config, kMaxHeads, false, error);
        rc != DSAKIT_RC_OK)
      return rc;
    if (const dsakit_rc rc = probe(config.device_type, config.device_id, error); rc != DSAKIT_RC_OK)
      return rc;
    const detail::DeviceScope scope(config.device_id);
    if (scope.status() != 0) return detail::failed(error, scope.status(), "cudaSetDevice");
    if constexpr (requires { Kernels::has_fp8_code; }) {
      if (config.fp8_compute && !Kernels::has_fp8_code())
        return error.fail(DSAKIT_RC_UNSUPPORTED,
                          "%s has no kernels for compute = fp8 on CUDA device %d in this file",
                          Kernels::kId, config.device_id);
    }
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
    for (sdk::CacheView& cache : view.cache) host::place_rows(*config_.layout, cache);
    if (rc = check_reach(view, error); rc != DSAKIT_RC_OK) return rc;
    const detail::DeviceScope scope(config_.device_id);
    if (scope.status() != 0) return detail::failed(error, scope.status(), "cudaSetDevice");
    const int status = enqueue(view, args.workspace);
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

  int enqueue(const sdk::RunView& view, void* workspace) const {
    const Problem problem = host::make_problem(config_, view);
    if constexpr (requires { Kernels::launch_lists; }) {
      if (view.caches == 2) {
        const Problem second = host::make_problem(config_, view, 1);
        const Plan plan = plan_of(problem, Kernels::keys_of_lists(problem.topk, second.topk));
        return Kernels::launch_lists(problem, second, plan, workspace, view.stream);
      }
    }
    return Kernels::launch(problem, plan_of(problem, problem.topk), workspace, view.stream);
  }

  // The plan for `keys` keys a token.
  Plan plan_of(const Problem& problem, int keys) const {
    if constexpr (requires { Kernels::fixed_plan; }) {
      if (config_.deterministic)
        return Kernels::fixed_plan(problem.tokens, problem.heads, keys, ctas_);
    }
    const Plan plan = Kernels::make_plan(problem.tokens, problem.heads, keys, ctas_);
    return config_.deterministic ? whole_tokens(plan, problem.tokens) : plan;
  }

  // Keys of the blocks by which check_reach() counts.
  static constexpr int counted_keys() {
    if constexpr (requires { Kernels::kCountedKeys; }) return Kernels::kCountedKeys;
    return kBlock;
  }

  // What the kernels' copies and counters can reach.
  dsakit_rc check_reach(const sdk::RunView& view, sdk::Error& error) const {
    if (!host::aligned(view.q, {view.q_token.outer, view.q_token.inner, view.q_head}))
      return error.fail(DSAKIT_RC_UNSUPPORTED, "q and its strides must be multiples of 16 bytes");
    std::int64_t topk = 0;
    for (int i = 0; i < view.caches; ++i) {
      const sdk::CacheView& cache = view.cache[i];
      if (const dsakit_rc rc =
              host::check_pool(cache.data, cache.page_stride, cache.row_stride, error);
          rc != DSAKIT_RC_OK)
        return rc;
      topk += cache.topk;
    }
    return host::check_counts(view, topk, counted_keys(), error);
  }

  dsakit_rc move_rows(const dsakit_kv_args& args, bool append, sdk::Error& error) const {
    sdk::KvRowsView view;
    if (const dsakit_rc rc = check_kv_rows(config_, *config_.layout, args, view, error);
        rc != DSAKIT_RC_OK)
      return rc;
    host::place_rows(*config_.layout, view);
    if (const dsakit_rc rc = host::check_pool(view.data, view.page_stride, view.row_stride, error);
        rc != DSAKIT_RC_OK)
      return rc;
    const detail::DeviceScope scope(config_.device_id);
    if (scope.status() != 0) return detail::failed(error, scope.status(), "cudaSetDevice");
    const cuda::KvRows rows = host::make_rows(config_, view);
    const int status = Kernels::move_kv_rows(rows, append, view.stream);
    return status == 0 ? DSAKIT_RC_OK : detail::failed(error, status, "launching the row kernel");
  }

  sdk::Config config_;
  int ctas_;
};

}  // namespace dsakit::sparse
