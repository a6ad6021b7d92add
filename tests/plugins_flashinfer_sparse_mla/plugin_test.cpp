// The host half of the flashinfer_sparse_mla plugin.
#include "support/sparse_plugin.hpp"

namespace dsakit::flashinfer_sparse_mla_test {
namespace {

const test::SparsePlugin& plugin() {
  static const test::SparsePlugin opened(FLASHINFER_SPARSE_MLA_PLUGIN, "mma-fp8", "fp8_656_g128",
                                         "any");
  return opened;
}

TEST(FlashinferSparseMlaPlugin, LoadsAndOffersKvEntries) {
  plugin().expect_loaded_with_kv_entries("flashinfer_sparse_mla");
}

TEST(FlashinferSparseMlaPlugin, CreateFailsAsProbeDoes) {
  plugin().expect_create_fails_as_probe_does();
}

TEST(FlashinferSparseMlaPlugin, RefusesWhatItsManifestDoesNotServe) {
  plugin().expect_refusals("fp8_576_pt");
  const auto codes_of_bf16 = [](dsakit_config& c) {
    c.compute = "fp8";
    c.kv_layout = "bf16_1152";
  };
  plugin().expect_refused(codes_of_bf16, "compute = fp8 with this kv_layout");
  plugin().expect_feature_refused("index_share");
}

}  // namespace
}  // namespace dsakit::flashinfer_sparse_mla_test
