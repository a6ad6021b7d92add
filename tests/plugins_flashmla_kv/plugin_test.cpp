// The host half of the flashmla_kv plugin.
#include "support/sparse_plugin.hpp"

namespace dsakit::flashmla_kv_test {
namespace {

const test::SparsePlugin& plugin() {
  static const test::SparsePlugin opened(FLASHMLA_KV_PLUGIN, "sm90-fp8", "fp8_656_g128", "any");
  return opened;
}

TEST(FlashmlaKvPlugin, LoadsAndOffersKvEntries) {
  plugin().expect_loaded_with_kv_entries("flashmla_kv");
}

TEST(FlashmlaKvPlugin, CreateFailsAsProbeDoes) {
  plugin().expect_create_fails_as_probe_does();
}

TEST(FlashmlaKvPlugin, RefusesWhatItsManifestDoesNotServe) {
  plugin().expect_refusals("bf16_1152");
  plugin().expect_refused([](dsakit_config& c) { c.compute = "fp8"; }, "fp8");
  plugin().expect_feature_refused("deterministic");
  plugin().expect_refused([](dsakit_config& c) { c.kv_scale = "ue8m0"; }, "kv_scale");
}

}  // namespace
}  // namespace dsakit::flashmla_kv_test
