// What every sparse MLA plugin for Hopper must do in its host half, on machines with and without a
// CUDA driver: load, say where it can run, and refuse what its manifest does not serve.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <string>

#include "dsakit/plugin_abi.h"

namespace dsakit::test {

struct Answer {
  dsakit_rc rc;
  std::string text;
};

class SparsePlugin {
 public:
  SparsePlugin(const char* path, const char* row, const char* layout, const char* kv_scale)
      : row_(row), layout_(layout), kv_scale_(kv_scale) {
    void* handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) return;
    const auto entry =
        reinterpret_cast<dsakit_plugin_entry_fn>(dlsym(handle, DSAKIT_PLUGIN_ENTRY_NAME));
    static dsakit_host host{};
    host.size = sizeof(host);
    host.abi_min = host.abi_max = DSAKIT_ABI_VERSION;
    if (entry != nullptr) table_ = entry(&host);
  }

  bool loaded() const { return table_ != nullptr; }

  // A call of 128 heads with rope that the plugin's manifest serves.
  dsakit_config served_config() const {
    dsakit_config config{};
    config.size = sizeof(config);
    config.device_type = kDLCUDA;
    config.row = row_;
    config.phase = "decode";
    config.kv_layout = layout_;
    config.kv_scale = kv_scale_;
    config.index_mode = "physical";
    config.q_dtype = config.out_dtype = "bf16";
    config.heads = 128;
    config.d_qk = 576;
    config.d_v = 512;
    config.topk = 2048;
    config.page_size = 64;
    config.index_kpool = 1;
    config.max_tokens = 8;
    return config;
  }

  Answer create(const dsakit_config& config) const {
    dsakit_error error{};
    error.size = sizeof(error);
    dsakit_instance* instance = nullptr;
    const dsakit_rc rc = table_->create(&config, &instance, &error);
    EXPECT_EQ(instance != nullptr, rc == DSAKIT_RC_OK);
    table_->destroy(instance);
    return {rc, error.text};
  }

  Answer probe(std::int32_t type, std::int32_t id) const {
    dsakit_error error{};
    error.size = sizeof(error);
    const dsakit_rc rc = table_->probe(type, id, &error);
    return {rc, error.text};
  }

  void expect_loaded_with_kv_entries(const char* id) const {
    ASSERT_TRUE(loaded()) << dlerror();
    EXPECT_STREQ(table_->id, id);
    EXPECT_NE(table_->kv_append, nullptr);
    EXPECT_NE(table_->kv_dequant, nullptr);
  }

  void expect_create_fails_as_probe_does() const {
    ASSERT_TRUE(loaded());
    EXPECT_EQ(probe(kDLCPU, 0).rc, DSAKIT_RC_NO_DEVICE);
    EXPECT_EQ(probe(kDLCUDA, 9999).rc, DSAKIT_RC_NO_DEVICE);
    const Answer found = probe(kDLCUDA, 0), made = create(served_config());
    EXPECT_EQ(made.rc, found.rc);
    if (found.rc == DSAKIT_RC_OK) return;
    EXPECT_EQ(made.text, found.text);
    EXPECT_NE(made.text, "");
  }

  // create() refuses the served configuration after `change`, and says `named`.
  template <class Change>
  void expect_refused(Change change, const char* named) const {
    ASSERT_TRUE(loaded());
    dsakit_config config = served_config();
    change(config);
    const Answer answer = create(config);
    EXPECT_EQ(answer.rc, DSAKIT_RC_UNSUPPORTED) << named;
    EXPECT_NE(answer.text.find(named), std::string::npos) << answer.text;
  }

  void expect_feature_refused(const char* feature) const {
    const auto with_feature = [&](dsakit_config& c) {
      c.features = &feature;
      c.feature_count = 1;
      c.topk2 = c.page_size2 = 64;
    };
    expect_refused(with_feature, feature);
  }

  // What no such plugin serves.
  void expect_refusals(const char* other_layout) const {
    const auto with_layout = [&](dsakit_config& c) { c.kv_layout = other_layout; };
    expect_refused(with_layout, "kv_layout");
    expect_refused([](dsakit_config& c) { c.d_qk = 512; }, "d_qk");
    expect_refused([](dsakit_config& c) { c.phase = "draft"; }, "phase");
    expect_refused([](dsakit_config& c) { c.heads = 129; }, "128 heads");
    expect_refused([](dsakit_config& c) { c.topk = 1048577; }, "topk above 1048576");
    expect_refused([](dsakit_config& c) { c.topk2 = 1048577; }, "topk above 1048576");
    expect_refused([](dsakit_config& c) { c.index_mode = "ragged"; }, "ragged");
    expect_refused([](dsakit_config& c) { c.q_dtype = "fp16"; }, "q_dtype");
    expect_refused([](dsakit_config& c) { c.out_dtype = "fp32"; }, "out_dtype");
    expect_feature_refused("second_cache");
  }

 private:
  const char *row_, *layout_, *kv_scale_;
  const dsakit_plugin* table_ = nullptr;
};

}  // namespace dsakit::test
