// Device test of the Hopper sparse MLA kernels over fp8 keys against float64 over the same bytes.
//
//   flashmla_kv_device_test [plugin.so] [group ...]
//     groups: tiny basic shapes heads masks lengths layout traps scales graph sweep; tiny is for
//     compute-sanitizer. See sparse_groups.cuh.
#define DSAKIT_TEST_FP8
#include "sparse_groups.cuh"

namespace dsakit::test {
namespace {

// Every kind of scales, alone and with each kind of data that makes small errors visible.
void scales(Runner& r) {
  for (int heads : {128, 16}) {
    for (Rows rows :
         {Rows::kFp8, Rows::kFp8Pow2, Rows::kFp8Tiny, Rows::kFp8Huge, Rows::kFp8Mixed}) {
      for (Data data : {Data::kNormal, Data::kPeaked, Data::kEqual}) {
        Case c = make("scales", 3, heads, 1024, 8192);
        c.name += std::to_string(static_cast<int>(rows));
        c.name += " data" + std::to_string(static_cast<int>(data));
        c.rows = rows;
        c.data = data;
        if (rows == Rows::kFp8Huge || rows == Rows::kFp8Mixed) c.scale = 1e-5f;
        r.run(c);
        c.ctas = 1;
        r.run(c);
      }
    }
  }
}

}  // namespace
}  // namespace dsakit::test

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
                     {"scales", scales},
                     {"graph", graph_cases},
                     {"sweep", sweep_cases}});
}
