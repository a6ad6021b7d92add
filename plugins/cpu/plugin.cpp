// The cpu plugin's instance: checks a configuration, answers workspaces, starts runs. The table's
// contracts are in plugin_abi.h, the manifest says what is served.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "kvcache/codec.hpp"
#include "kvcache/float8.hpp"
#include "plugins/cpu/attention.hpp"
#include "plugins/cpu/key_list.hpp"
#include "plugins/cpu/pool.hpp"
#include "sdk/plugin.hpp"
#include "sdk/run_view.hpp"

namespace dsakit::cpu {
namespace {

constexpr std::int64_t kMaxHeads = 256;
constexpr std::int64_t kMaxTopk = 1 << 20;
constexpr std::array<std::string_view, 8> kFeatures{"attn_sink",   "topk_length",   "second_cache",
                                                    "max_logits",  "deterministic", "hisparse",
                                                    "index_share", "dp_attention"};

bool float_type(DLDataType dtype, Float& type) {
  if (dtype.code == kDLBfloat && dtype.bits == 16)
    type = Float::bf16;
  else if (dtype.code == kDLFloat && dtype.bits == 16)
    type = Float::fp16;
  else if (dtype.code == kDLFloat && dtype.bits == 32)
    type = Float::fp32;
  else
    return false;
  return true;
}

// OK, or why no row of the manifest serves the configuration.
dsakit_rc check_served(const sdk::Config& config, Plan& plan, sdk::Error& error) {
  const auto refuse = [&](const char* what) {
    return error.fail(DSAKIT_RC_UNSUPPORTED, "the cpu plugin does not serve %s", what);
  };
  const KvLayout* layout = config.layout;
  if (layout == nullptr || layout->d_v == 0) return refuse("this kv_layout");
  if (config.d_qk != layout->d_qk() || config.d_v != layout->d_v)
    return refuse("d_qk and d_v that differ from the layout's");
  if (layout->scale == KvScale::group_ue8m0 && config.model_family != "deepseek_v4")
    return refuse("this kv_layout for any model family but deepseek_v4");
  if (config.phase != "prefill" && config.phase != "decode" && config.phase != "mtp")
    return refuse("this phase");
  if (config.heads > kMaxHeads) return refuse("more than 256 heads");
  if (config.topk > kMaxTopk || config.topk2 > kMaxTopk) return refuse("a topk above 1048576");
  if (config.fp8_compute) return refuse("compute = fp8");
  if (!float_type(config.q_dtype, plan.q_type)) return refuse("this q_dtype");
  if (!float_type(config.out_dtype, plan.out_type)) return refuse("this out_dtype");
  for (const std::string& feature : config.features)
    if (std::ranges::find(kFeatures, feature) == kFeatures.end())
      return error.fail(DSAKIT_RC_UNSUPPORTED, "the cpu plugin does not serve feature `%s`",
                        feature.c_str());
  if (!config.dims.empty())
    return error.fail(DSAKIT_RC_UNSUPPORTED, "the cpu plugin does not know dimension `%s`",
                      config.dims.front().first.c_str());
  return DSAKIT_RC_OK;
}

std::int64_t read_slot(const sdk::KvRowsView& view, std::int64_t index) {
  const std::byte* at = view.slots + index * view.slot_stride;
  if (view.wide_slots) {
    std::int64_t slot = 0;
    std::memcpy(&slot, at, sizeof(slot));
    return slot;
  }
  std::int32_t slot = 0;
  std::memcpy(&slot, at, sizeof(slot));
  return slot;
}

class CpuBackend {
 public:
  CpuBackend(sdk::Config config, const Plan& plan) : config_(std::move(config)), plan_(plan) {}

  static dsakit_rc probe(std::int32_t device_type, std::int32_t device_id, sdk::Error& error) {
    if (device_type == kDLCPU && device_id == 0) return DSAKIT_RC_OK;
    return error.fail(DSAKIT_RC_NO_DEVICE, "the cpu plugin runs on device (%d, 0) only",
                      int{kDLCPU});
  }

  static dsakit_rc create(const sdk::Config& config, std::unique_ptr<CpuBackend>& made,
                          sdk::Error& error) {
    if (const dsakit_rc rc = probe(config.device_type, config.device_id, error); rc != DSAKIT_RC_OK)
      return rc;
    Plan plan;
    if (const dsakit_rc rc = check_served(config, plan, error); rc != DSAKIT_RC_OK) return rc;
    plan.layout = config.layout;
    plan.heads = static_cast<int>(config.heads);
    plan.d_qk = static_cast<int>(config.d_qk);
    plan.d_v = static_cast<int>(config.d_v);
    plan.most_keys = config.topk + (config.second_cache ? config.topk2 : 0);
    const int all = Pool::shared().threads();
    plan.threads = config.sm_count > 0 ? std::min(all, config.sm_count) : all;
    plan.lse = config.lse;
    plan.lse_with_sink = config.lse_with_sink;
    plan.lse_empty = config.lse_empty;
    made = std::make_unique<CpuBackend>(config, plan);
    return DSAKIT_RC_OK;
  }

  dsakit_rc workspace(std::int64_t tokens, dsakit_workspace& answer, sdk::Error& error) const {
    if (tokens < 0 || tokens > config_.max_tokens)
      return error.fail(DSAKIT_RC_INVALID, "tokens = %lld is outside 0 ... %lld",
                        static_cast<long long>(tokens), static_cast<long long>(config_.max_tokens));
    answer.alignment = static_cast<std::uint32_t>(kAlignment);
    answer.bytes = workspace_bytes(plan_, tokens);
    answer.zero_bytes = 0;
    return DSAKIT_RC_OK;
  }

  dsakit_rc run(const dsakit_run_args& args, sdk::Error& error) {
    sdk::RunView view;
    if (const dsakit_rc rc = check_run(config_, *plan_.layout, args, view, error);
        rc != DSAKIT_RC_OK)
      return rc;
    for (int c = 0; c < view.caches; ++c)
      if (!ragged_rows_fit(view.cache[c], view.tokens, c == 0 ? config_.topk : config_.topk2))
        return error.fail(DSAKIT_RC_INVALID,
                          "%s falls, leaves its list, or has a row wider than topk",
                          c == 0 ? "indptr" : "indptr2");
    const std::uint64_t bytes = workspace_bytes(plan_, view.tokens);
    if (const dsakit_rc rc = check_workspace(args, bytes, kAlignment, error); rc != DSAKIT_RC_OK)
      return rc;
    run_attention(plan_, view, static_cast<std::byte*>(args.workspace));
    return DSAKIT_RC_OK;
  }

  dsakit_rc kv_append(const dsakit_kv_args& args, sdk::Error& error) {
    return for_each_row(args, error, [](const Rows& rows, std::int64_t index, std::int64_t slot) {
      std::array<float, kWidest> values{};
      const std::span<float> row(values.data(), static_cast<std::size_t>(rows.pool.layout->d_qk()));
      rows.read(index, row);
      kvcache::encode_row(rows.pool, slot, rows.rule, row);
    });
  }

  dsakit_rc kv_dequant(const dsakit_kv_args& args, sdk::Error& error) {
    return for_each_row(args, error, [](const Rows& rows, std::int64_t index, std::int64_t slot) {
      std::array<float, kWidest> values{};
      const std::span<float> row(values.data(), static_cast<std::size_t>(rows.pool.layout->d_qk()));
      kvcache::decode_row(rows.pool, slot, row);
      rows.write(index, row);
    });
  }

 private:
  static constexpr std::size_t kWidest = 1024;
  static constexpr std::int64_t kRowsAtOnce = 16;

  // Shared by the threads of one kv_append or kv_dequant.
  struct Rows {
    sdk::KvRowsView view;
    kvcache::Pool pool;
    kvcache::ScaleRule rule;
    std::atomic<std::int64_t> next{0};

    void read(std::int64_t index, std::span<float> row) const {
      const std::byte* from = view.rows + index * view.row_bytes;
      for (std::size_t i = 0; i < row.size(); ++i) {
        std::uint16_t half = 0;
        if (view.rows_fp32)
          std::memcpy(&row[i], from + 4 * i, 4);
        else
          std::memcpy(&half, from + 2 * i, 2);
        if (!view.rows_fp32) row[i] = kvcache::bf16_decode(half);
      }
    }
    void write(std::int64_t index, std::span<const float> row) const {
      std::byte* to = view.rows + index * view.row_bytes;
      for (std::size_t i = 0; i < row.size(); ++i) {
        const std::uint16_t half = kvcache::bf16_encode(row[i]);
        if (view.rows_fp32)
          std::memcpy(to + 4 * i, &row[i], 4);
        else
          std::memcpy(to + 2 * i, &half, 2);
      }
    }
  };

  // Calls body(rows, index, slot) for each row whose slot exists, spread over the threads.
  template <class Body>
  dsakit_rc for_each_row(const dsakit_kv_args& args, sdk::Error& error, Body) {
    Rows rows;
    if (const dsakit_rc rc = check_kv_rows(config_, *plan_.layout, args, rows.view, error);
        rc != DSAKIT_RC_OK)
      return rc;
    const sdk::KvRowsView& view = rows.view;
    rows.pool = {plan_.layout,
                 view.data,
                 view.pages,
                 view.page_size,
                 view.page_stride,
                 view.row_stride,
                 view.scale == nullptr ? 1.0F : *view.scale};
    rows.rule = config_.kv_scale == sdk::ScaleKind::any ? kvcache::ScaleRule::arbitrary_fp32
                                                        : kvcache::ScaleRule::pow2_fp32;
    const auto work = [](void* context, int) {
      auto& shared = *static_cast<Rows*>(context);
      for (;;) {
        const std::int64_t first = shared.next.fetch_add(kRowsAtOnce, std::memory_order_relaxed);
        if (first >= shared.view.count) return;
        const std::int64_t last = std::min(first + kRowsAtOnce, shared.view.count);
        for (std::int64_t index = first; index < last; ++index) {
          const std::int64_t slot = read_slot(shared.view, index);
          if (shared.pool.contains(slot)) Body()(shared, index, slot);
        }
      }
    };
    const std::int64_t pieces = (view.count + kRowsAtOnce - 1) / kRowsAtOnce;
    Pool::shared().run(static_cast<int>(std::min<std::int64_t>(plan_.threads, pieces)), work,
                       &rows);
    return DSAKIT_RC_OK;
  }

  sdk::Config config_;
  Plan plan_;
};

}  // namespace
}  // namespace dsakit::cpu

DSAKIT_PLUGIN(dsakit::cpu::CpuBackend)
