#include "common/hip/sparse_launch.hpp"

#include <array>
#include <string>
#include <utility>

#include "common/sparse_host.hpp"

extern "C" {
extern const unsigned char dsakit_sparse_hip[];
extern const char dsakit_sparse_hip_targets[];
}

namespace dsakit::hip {
namespace {

// How the kernels of a layout are called. Layouts that differ in their rope part alone share a
// kind.
const char* kind_of(const KvLayout& layout) {
  if (layout.element == KvElement::bf16) return "bf16";
  if (layout.scale == KvScale::group_fp32) return "fp8_g128";
  return layout.element == KvElement::e4m3fnuz ? "fp8_pt_fnuz" : "fp8_pt";
}

}  // namespace

const Bundle& sparse_bundle() {
  static constexpr Bundle kBundle{dsakit_sparse_hip, dsakit_sparse_hip_targets};
  return kBundle;
}

Call make_call(const sdk::Config& config, const sdk::RunView& view) {
  const sdk::CacheView& cache = view.cache[0];
  Call call;
  call.problem = sparse::host::make_problem(config, view);
  call.kv_scale = cache.scale;
  if (!config.ragged) return call;
  call.problem.topk = static_cast<std::int32_t>(config.topk);
  call.ragged = true;
  call.indptr = cache.indptr;
  call.indptr64 = cache.wide_indptr;
  call.indptr_stride = cache.indptr_stride / (cache.wide_indptr ? 8 : 4);
  return call;
}

int SparseLaunch::load(const sdk::Config& config) {
  if (const int status = multiprocessors(config.device_id, compute_units_); status != kSuccess)
    return status;
  if (config.sm_count > 0 && config.sm_count < compute_units_) compute_units_ = config.sm_count;
  heads_ = static_cast<int>(config.heads);
  const std::string kind = kind_of(*config.layout);
  const int waves = make_plan(1, heads_, static_cast<int>(config.topk), compute_units_).waves;
  const std::string attention = kAttentionPrefix + kind +
                                (config.d_qk > config.d_v ? "_rope_w" : "_nope_w") +
                                std::to_string(waves);
  const std::string append = kAppendPrefix + kind, dequant = kDequantPrefix + kind;
  const std::array<std::pair<const char*, Function*>, 4> wanted{{{attention.c_str(), &attention_},
                                                                 {kMergeName, &merge_},
                                                                 {append.c_str(), &append_},
                                                                 {dequant.c_str(), &dequant_}}};
  for (const auto& [name, function] : wanted) {
    if (const int status = find_function(sparse_bundle(), config.device_id, name, *function);
        status != kSuccess)
      return status;
  }
  return kSuccess;
}

std::uint64_t SparseLaunch::workspace_bytes() const {
  return hip::workspace_bytes(heads_, compute_units_);
}

int SparseLaunch::run(const Call& call, void* workspace, void* stream) const {
  const Problem& problem = call.problem;
  AttentionArguments arguments;
  arguments.call = call;
  arguments.plan = make_plan(problem.tokens, problem.heads, problem.topk, compute_units_);
  const std::int64_t parts = std::int64_t{problem.tokens} * arguments.plan.splits;
  if (arguments.plan.splits > 1) {
    arguments.partial_out = static_cast<float*>(workspace);
    arguments.partial_lse = arguments.partial_out + parts * problem.heads * kLatent;
    arguments.partial_max = arguments.partial_lse + parts * problem.heads;
  }
  const int status = enqueue(attention_, parts * arguments.plan.head_tiles,
                             arguments.plan.waves * kWave, arguments, stream);
  if (status != kSuccess || arguments.plan.splits == 1) return status;
  const MergeArguments merge{call, arguments.plan, arguments.partial_out, arguments.partial_lse,
                             arguments.partial_max};
  return enqueue(merge_, std::int64_t{problem.tokens} * problem.heads, kWave, merge, stream);
}

int SparseLaunch::move_rows(const KvRows& rows, const float* scale, bool append,
                            void* stream) const {
  const RowArguments arguments{rows, scale};
  return enqueue(append ? append_ : dequant_, rows.count, kWave, arguments, stream);
}

}  // namespace dsakit::hip
