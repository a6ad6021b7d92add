// Device test of the kernels of flashinfer_sparse_mla against float64 over the same bytes; built
// for each kind of pool.
//
//   flashinfer_sparse_mla_{bf16,fp8}_device_test [plugin.so] [group ...]
//     groups: tiny basic shapes heads masks lengths layout traps scales (fp8) graph sweep; tiny is
//     for compute-sanitizer. See sparse_groups.cuh.
#define DSAKIT_TEST_MMA
#include "sparse_groups.cuh"

int main(int argc, char** argv) {
  using namespace dsakit::test;
  return run_groups(argc, argv,
                    {{"tiny", tiny_cases},
                     {"basic", basic_cases},
                     {"shapes", shapes_cases},
                     {"heads", heads_cases},
                     {"masks", masks_cases},
                     {"lengths", lengths_cases},
                     {"layout", layout_cases},
                     {"traps", traps_cases},
#ifdef DSAKIT_TEST_FP8
                     {"scales", scales_cases},
#endif
                     {"graph", graph_cases},
                     {"sweep", sweep_cases}});
}
