// Device test of the Hopper sparse MLA kernels over fp8 keys against float64 over the same bytes.
//
//   flashmla_kv_device_test [plugin.so] [group ...]
//     groups: tiny basic shapes heads masks lengths layout traps scales graph sweep; tiny is for
//     compute-sanitizer. See sparse_groups.cuh.
#define DSAKIT_TEST_FP8
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
                     {"scales", scales_cases},
                     {"graph", graph_cases},
                     {"sweep", sweep_cases}});
}
