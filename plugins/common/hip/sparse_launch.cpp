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
  whole_ = config.deterministic;
  const int waves = waves_of(heads_);
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
  arguments.plan = make_plan(problem.tokens, problem.heads, problem.topk, compute_units_,
                             call.ragged || problem.tensors.length != nullptr, whole_);
  const Plan& plan = arguments.plan;
  if (plan.cut != Cut::none)
    arguments.partials = make_partials(workspace, problem.heads, compute_units_);
  const int status = enqueue(attention_, std::int64_t{plan.ranges} * plan.head_tiles,
                             plan.waves * kWave, arguments, stream);
  if (status != kSuccess || plan.cut == Cut::none) return status;
  const MergeArguments merge{call, plan, arguments.partials};
  return enqueue(merge_, std::int64_t{problem.tokens} * problem.heads, kWave, merge, stream);
}

int SparseLaunch::move_rows(const KvRows& rows, const float* scale, bool append,
                            void* stream) const {
  const RowArguments arguments{rows, scale};
  return enqueue(append ? append_ : dequant_, rows.count, kWave, arguments, stream);
}

}  // namespace dsakit::hip
