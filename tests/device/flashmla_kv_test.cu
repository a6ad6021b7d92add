// Device test of the Hopper sparse MLA kernels over fp8 keys against float64 over the same bytes.
//
//   flashmla_kv_device_test [plugin.so] [group ...]
//     groups: tiny basic shapes heads masks lengths layout traps scales graph sweep; tiny is for
//     compute-sanitizer. See sparse_groups.cuh.
#define DSAKIT_TEST_FP8
#include "sparse_groups.cuh"

int main(int argc, char** argv) {
  return dsakit::test::run_groups(argc, argv);
}
