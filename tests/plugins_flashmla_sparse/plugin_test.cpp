// The host half of the flashmla_sparse plugin.
#include "support/sparse_plugin.hpp"

namespace dsakit::flashmla_sparse_test {
namespace {

const test::SparsePlugin& plugin() {
  static const test::SparsePlugin opened(FLASHMLA_SPARSE_PLUGIN, "sm90-bf16", "bf16_1152", "any");
  return opened;
}

TEST(FlashmlaSparsePlugin, LoadsAndOffersKvEntries) {
  plugin().expect_loaded_with_kv_entries("flashmla_sparse");
}

TEST(FlashmlaSparsePlugin, CreateFailsAsProbeDoes) {
  plugin().expect_create_fails_as_probe_does();
}

TEST(FlashmlaSparsePlugin, RefusesWhatItsManifestDoesNotServe) {
  plugin().expect_refusals("fp8_656_g128");
  plugin().expect_refused([](dsakit_config& c) { c.compute = "fp8"; }, "fp8");
  plugin().expect_feature_refused("index_share");
}

}  // namespace
}  // namespace dsakit::flashmla_sparse_test
