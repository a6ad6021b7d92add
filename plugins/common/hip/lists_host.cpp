#include "common/hip/lists_host.hpp"

#include <cstring>
#include <initializer_list>
#include <limits>

#include "common/hip/sparse_launch.hpp"
#include "sdk/plugin.hpp"

namespace dsakit::hip {
namespace {

static_assert(sizeof(dsakit_hip_lists_args) == DSAKIT_HIP_LISTS_ARGS_SIZE_V1);
static_assert(sizeof(dsakit_hip_lists) == DSAKIT_HIP_LISTS_SIZE_V1);

constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();

dsakit_rc check_lists(const dsakit_hip_lists_args& args, bool to_ragged, sdk::Error& error) {
  constexpr std::int64_t kTokens = most_workgroups(kWave);
  if (args.tokens < 0 || args.width < 0 || args.slots < 0 || args.slots > kMost + 1)
    return error.fail(DSAKIT_RC_INVALID, "tokens, width or slots is out of range");
  if (args.tokens > kTokens)
    return error.fail(DSAKIT_RC_INVALID, "tokens is above %lld", static_cast<long long>(kTokens));
  if (args.width > 0 && args.tokens > kMost / args.width)
    return error.fail(DSAKIT_RC_INVALID, "tokens * width is above 2147483647");
  if (args.row_stride < args.width)
    return error.fail(DSAKIT_RC_INVALID, "row_stride is less than width");
  const bool entries = args.tokens > 0 && args.width > 0;
  if (((to_ragged || entries) && args.indptr == nullptr) ||
      (entries && (args.rows == nullptr || args.indices == nullptr)))
    return error.fail(DSAKIT_RC_INVALID, "rows, indptr or indices is null");
  for (const std::int32_t* pointer : std::initializer_list<const std::int32_t*>{
           args.rows, args.lengths, args.indptr, args.indices})
    if (reinterpret_cast<std::uintptr_t>(pointer) % alignof(std::int32_t) != 0)
      return error.fail(DSAKIT_RC_INVALID,
                        "rows, lengths, indptr and indices must be multiples of 4 bytes");
  return DSAKIT_RC_OK;
}

struct Step {
  const char* kernel;
  bool by_token;  // a workgroup each; else one
};

dsakit_rc enqueue_steps(const dsakit_hip_lists_args* from, bool to_ragged,
                        std::initializer_list<Step> steps, sdk::Error& error) {
  dsakit_hip_lists_args args;
  if (!sdk::read_struct(from, DSAKIT_HIP_LISTS_ARGS_SIZE_V1, args))
    return error.fail(DSAKIT_RC_ABI, "args is null or too small");
  dsakit_rc rc = check_lists(args, to_ragged, error);
  if (rc == DSAKIT_RC_OK) rc = probe("hip_lists", sparse_bundle(), kDLROCM, args.device_id, error);
  if (rc != DSAKIT_RC_OK) return rc;
  const DeviceScope scope(args.device_id);
  if (scope.status() != kSuccess) return failed(error, scope.status(), "hipSetDevice");
  ListArguments arguments;
  arguments.tokens = args.tokens;
  arguments.row_stride = args.row_stride;
  arguments.width = static_cast<std::int32_t>(args.width);
  arguments.last_slot = static_cast<std::int32_t>(args.slots - 1);
  arguments.rows = args.rows;
  arguments.lengths = args.lengths;
  arguments.indptr = args.indptr;
  arguments.indices = args.indices;
  for (const Step& step : steps) {
    const std::int64_t workgroups = step.by_token ? args.tokens : 1;
    if (workgroups == 0) continue;
    Function kernel = nullptr;
    int status = find_function(sparse_bundle(), args.device_id, step.kernel, kernel);
    if (status == kSuccess) status = enqueue(kernel, workgroups, kWave, arguments, args.stream);
    if (status != kSuccess) return failed(error, status, step.kernel);
  }
  return DSAKIT_RC_OK;
}

dsakit_rc to_ragged(const dsakit_hip_lists_args* args, dsakit_error* error) {
  return sdk::guarded(error, [&](sdk::Error& e) {
    return enqueue_steps(
        args, true, {{kListCountsName, true}, {kListBoundsName, false}, {kListRaggedName, true}},
        e);
  });
}

dsakit_rc to_rows(const dsakit_hip_lists_args* args, dsakit_error* error) {
  return sdk::guarded(error, [&](sdk::Error& e) {
    return enqueue_steps(args, false, {{kListRowsName, true}}, e);
  });
}

}  // namespace

const void* lists_extension(const char* id) {
  static constexpr dsakit_hip_lists kTable{sizeof(dsakit_hip_lists), 0, to_ragged, to_rows};
  return std::strcmp(id, DSAKIT_HIP_LISTS) == 0 ? &kTable : nullptr;
}

}  // namespace dsakit::hip
