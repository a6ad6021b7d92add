// A sparse MLA plugin on HIP: checks a configuration, answers workspaces, enqueues runs. The
// table's contracts are in plugin_abi.h, the manifest says what is served.
//
// SparseBackend<Kernels> is the class for DSAKIT_PLUGIN. Kernels has
//   kId                   the plugin's id
//   kLayouts, kFeatures   names that its manifest serves
//   kRagged               whether it serves ragged lists, too
// The manifest's limits of heads and topk are here. An instance is immutable; threads as
// plugin_abi.h says.
#pragma once

#include <memory>
#include <utility>

#include "common/hip/lists_host.hpp"
#include "common/hip/runtime.hpp"
#include "common/hip/sparse_launch.hpp"
#include "common/sparse_host.hpp"
#include "sdk/plugin.hpp"
#include "sdk/run_view.hpp"

namespace dsakit::hip {

template <class Kernels>
class SparseBackend {
 public:
  SparseBackend(sdk::Config config, const SparseLaunch& kernels)
      : config_(std::move(config)), kernels_(kernels) {}

  static dsakit_rc probe(std::int32_t device_type, std::int32_t device_id, sdk::Error& error) {
    return hip::probe(Kernels::kId, sparse_bundle(), device_type, device_id, error);
  }

  static dsakit_rc create(const sdk::Config& config, std::unique_ptr<SparseBackend>& made,
                          sdk::Error& error) {
    dsakit_rc rc = sparse::host::check_served<Kernels>(config, kMaxHeads, Kernels::kRagged, error);
    if (rc == DSAKIT_RC_OK) rc = probe(config.device_type, config.device_id, error);
    if (rc != DSAKIT_RC_OK) return rc;
    const DeviceScope scope(config.device_id);
    if (scope.status() != kSuccess) return failed(error, scope.status(), "hipSetDevice");
    SparseLaunch kernels;
    // A GPU's code has kernels for the layouts of its rows alone.
    const int status = kernels.load(config);
    if (status == kNotFound)
      return error.fail(DSAKIT_RC_UNSUPPORTED, "%s has no kernels for kv_layout = %s on this GPU",
                        Kernels::kId, config.kv_layout.c_str());
    if (status != kSuccess) return failed(error, status, "loading the kernels");
    made = std::make_unique<SparseBackend>(config, kernels);
    return DSAKIT_RC_OK;
  }

  static const void* extension(const char* id) { return lists_extension(id); }

  dsakit_rc workspace(std::int64_t tokens, dsakit_workspace& answer, sdk::Error& error) const {
    if (tokens < 0 || tokens > config_.max_tokens)
      return error.fail(DSAKIT_RC_INVALID, "tokens = %lld is outside 0 ... %lld",
                        static_cast<long long>(tokens), static_cast<long long>(config_.max_tokens));
    answer.alignment = kAlignment;
    answer.bytes = kernels_.workspace_bytes();
    answer.zero_bytes = 0;
    return DSAKIT_RC_OK;
  }

  dsakit_rc run(const dsakit_run_args& args, sdk::Error& error) {
    sdk::RunView view;
    dsakit_rc rc = check_run(config_, *config_.layout, args, view, error);
    if (rc == DSAKIT_RC_OK)
      rc = check_workspace(args, kernels_.workspace_bytes(), kAlignment, error);
    if (rc != DSAKIT_RC_OK) return rc;
    if (view.tokens == 0) return DSAKIT_RC_OK;
    if (rc = check_reach(view, error); rc != DSAKIT_RC_OK) return rc;
    const DeviceScope scope(config_.device_id);
    if (scope.status() != kSuccess) return failed(error, scope.status(), "hipSetDevice");
    const int status = kernels_.run(make_call(config_, view), args.workspace, args.stream);
    return status == kSuccess ? DSAKIT_RC_OK : failed(error, status, "launching the kernels");
  }

  dsakit_rc kv_append(const dsakit_kv_args& args, sdk::Error& error) {
    return move_rows(args, true, error);
  }
  dsakit_rc kv_dequant(const dsakit_kv_args& args, sdk::Error& error) {
    return move_rows(args, false, error);
  }

 private:
  static constexpr std::uint32_t kAlignment = 256;  // of the workspace

  // What the kernels' loads and counters can reach.
  dsakit_rc check_reach(const sdk::RunView& view, sdk::Error& error) const {
    const sdk::CacheView& cache = view.cache[0];
    if (!sparse::host::aligned(view.q, {view.q_token.outer, view.q_token.inner, view.q_head}))
      return error.fail(DSAKIT_RC_UNSUPPORTED, "q and its strides must be multiples of 16 bytes");
    if (const dsakit_rc rc =
            sparse::host::check_pool(cache.data, cache.page_stride, cache.row_stride, error);
        rc != DSAKIT_RC_OK)
      return rc;
    constexpr std::int64_t kMost = most_workgroups(kMaxWaves * kWave) / tiles_of(kMaxHeads);
    if (view.tokens > kMost) return refuse_count("q", "tokens", kMost, error);
    return sparse::host::check_counts(view, config_.topk, kBlock, error);
  }

  static dsakit_rc refuse_count(const char* tensor, const char* of, std::int64_t most,
                                sdk::Error& error) {
    return error.fail(DSAKIT_RC_UNSUPPORTED, "%s has more than %lld %s", tensor,
                      static_cast<long long>(most), of);
  }

  dsakit_rc move_rows(const dsakit_kv_args& args, bool append, sdk::Error& error) const {
    sdk::KvRowsView view;
    dsakit_rc rc = check_kv_rows(config_, *config_.layout, args, view, error);
    if (rc == DSAKIT_RC_OK)
      rc = sparse::host::check_pool(view.data, view.page_stride, view.row_stride, error);
    if (rc != DSAKIT_RC_OK) return rc;
    if (view.count == 0) return DSAKIT_RC_OK;
    constexpr std::int64_t kMost = most_workgroups(kWave);
    if (view.count > kMost) return refuse_count("slots", "rows", kMost, error);
    const DeviceScope scope(config_.device_id);
    if (scope.status() != kSuccess) return failed(error, scope.status(), "hipSetDevice");
    const int status =
        kernels_.move_rows(sparse::host::make_rows(config_, view), view.scale, append, view.stream);
    return status == kSuccess ? DSAKIT_RC_OK : failed(error, status, "launching the row kernel");
  }

  sdk::Config config_;
  SparseLaunch kernels_;
};

}  // namespace dsakit::hip
