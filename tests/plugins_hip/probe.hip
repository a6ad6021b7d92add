// Kernels whose metadata and launches the tests know.
#include "tests/plugins_hip/probe.hpp"

extern "C" __attribute__((global, amdgpu_flat_work_group_size(256, 256))) void probe_static_lds(
    dsakit::test::ProbeArguments arguments) {
  static __attribute__((shared)) int shared[512];
  const unsigned lane = __builtin_amdgcn_workitem_id_x();
  shared[lane] = arguments.count;
  __builtin_amdgcn_s_barrier();
  arguments.out[lane] = shared[lane ^ 1U] + static_cast<int>(arguments.wide);
}

extern "C" __attribute__((global, amdgpu_flat_work_group_size(64, 64))) void probe_plain(
    dsakit::test::ProbeArguments arguments) {
  arguments.out[__builtin_amdgcn_workgroup_id_x()] = arguments.count;
}
