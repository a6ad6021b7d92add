// Device test of the kernels of flashinfer_sparse_mla against float64 over the same bytes; built
// for each kind of pool.
//
//   flashinfer_sparse_mla_{bf16,fp8,fp8_compute}_device_test [plugin.so] [group ...]
//     groups: tiny basic shapes heads masks lengths layout traps scales (fp8) graph fixed sweep;
//     tiny is for compute-sanitizer. See sparse_groups.cuh.
#define DSAKIT_TEST_MMA
#include "sparse_groups.cuh"

namespace dsakit::test {
namespace {

// A fixed cut: the same bits whatever number of tokens is launched at once, and right ones.
void fixed(Runner& r) {
  for (int heads : {128, 16}) {
    for (int topk : {1200, 300}) {
      Case c = make("fixed", 13, heads, topk, 8192);
      c.lengths = heads == 16 ? 0 : -1;
      c.invalid = 0.01f;
      Runner::Setup s = r.prepare(c, 1);
      Runner::Errors e;
      std::vector<__nv_bfloat16> first;
      for (int ctas : {r.max_ctas, 24}) {
        for (int tokens : {c.tokens, 5, 1}) {
          s.plan = sp::fixed_plan(tokens, heads, topk, ctas);
          s.problem.tokens = tokens;
          r.poison(s, c);
          DSAKIT_CHECK(sp::launch(s.problem, s.plan, r.b.workspace.data, nullptr));
          r.reference(c, s);
          DSAKIT_CHECK(cudaDeviceSynchronize());
          const auto out = Runner::fetch(r.b.out.data, s.out_count);
          if (first.empty()) {
            e = r.compare(c, s);
            first = out;
          }
          const size_t same = static_cast<size_t>(s.out_token * tokens) * 2;
          if (std::memcmp(first.data(), out.data(), same) != 0)
            e.add("bits of so many tokens", tokens, ctas, 0, 0, 0);
        }
      }
      r.report(c, s, e, false);
    }
  }
}

}  // namespace
}  // namespace dsakit::test

int main(int argc, char** argv) {
  return dsakit::test::run_groups(argc, argv, {{"fixed", dsakit::test::fixed}});
}
