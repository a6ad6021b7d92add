// Calls a plugin file through its C table with device pointers, so that the device test can put the
// same cases to the plugin as to the launch functions. Errors end the process. Single threaded.
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <vector>

#include "dsakit/plugin_abi.h"

namespace dsakit::test {

constexpr DLDataType kBf16{kDLBfloat, 16, 1}, kFp32{kDLFloat, 32, 1};
constexpr DLDataType kBytes{kDLUInt, 8, 1};
constexpr DLDataType kInt32{kDLInt, 32, 1}, kInt64{kDLInt, 64, 1};

// A tensor that owns its shape; strides in elements.
struct Tensor {
  std::vector<int64_t> shape, strides;
  DLTensor view{};
  Tensor() = default;
  Tensor(const void* data, DLDataType type, std::initializer_list<int64_t> sizes,
         std::initializer_list<int64_t> steps)
      : shape(sizes), strides(steps) {
    view.data = const_cast<void*>(data);
    view.device = {kDLCUDA, 0};
    view.ndim = static_cast<int32_t>(shape.size());
    view.dtype = type;
  }
  // Null data: an argument that is not given.
  const DLTensor* get() {
    view.shape = shape.data();
    view.strides = strides.data();
    return view.data == nullptr ? nullptr : &view;
  }
};

class Plugin {
 public:
  Plugin() = default;
  explicit Plugin(const char* path) {
    void* handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) stop(dlerror());
    const auto entry =
        reinterpret_cast<dsakit_plugin_entry_fn>(dlsym(handle, DSAKIT_PLUGIN_ENTRY_NAME));
    if (entry == nullptr) stop("no entry function");
    static dsakit_host host{};
    host.size = sizeof(host);
    host.abi_min = host.abi_max = DSAKIT_ABI_VERSION;
    host.name = "device test";
    table_ = entry(&host);
    if (table_ == nullptr) stop("the plugin refused the host");
    error_.size = sizeof(error_);
    check(table_->probe(kDLCUDA, 0, &error_));
  }

  dsakit_instance* create(const dsakit_config& config) {
    dsakit_instance* instance = nullptr;
    check(table_->create(&config, &instance, &error_));
    return instance;
  }
  void destroy(dsakit_instance* instance) { table_->destroy(instance); }

  uint64_t workspace_bytes(dsakit_instance* instance, int64_t tokens) {
    dsakit_workspace answer{};
    answer.size = sizeof(answer);
    check(table_->workspace(instance, tokens, &answer, &error_));
    return answer.bytes;
  }
  void run(dsakit_instance* instance, const dsakit_run_args& args) {
    check(table_->run(instance, &args, &error_));
  }
  void move_rows(dsakit_instance* instance, const dsakit_kv_args& args, bool append) {
    check((append ? table_->kv_append : table_->kv_dequant)(instance, &args, &error_));
  }

 private:
  [[noreturn]] static void stop(const char* why) {
    std::printf("plugin: %s\n", why);
    std::exit(3);
  }
  void check(dsakit_rc rc) {
    if (rc != DSAKIT_RC_OK) stop(error_.text);
  }

  const dsakit_plugin* table_ = nullptr;
  dsakit_error error_{};
};

// A configuration of decode over a pool of bf16 or fp8 rows, with neutral values elsewhere.
inline dsakit_config config_for(bool fp8, int heads, int d_qk, int topk, int64_t page_size,
                                int tokens) {
  dsakit_config config{};
  config.size = sizeof(config);
  config.device_type = kDLCUDA;
  const bool rope = d_qk == 576;
  config.row =
      fp8 ? (rope ? "sm90-fp8" : "sm90-fp8-nope") : (rope ? "sm90-bf16" : "sm90-bf16-nope");
  config.phase = "decode";
  config.kv_layout =
      fp8 ? (rope ? "fp8_656_g128" : "fp8_528_g128") : (rope ? "bf16_1152" : "bf16_1024");
  config.kv_scale = fp8 ? "pow2_fp32" : "any";  // run takes the scales that it finds
  config.index_mode = "physical";
  config.q_dtype = config.out_dtype = "bf16";
  config.heads = heads;
  config.d_qk = d_qk;
  config.d_v = 512;
  config.topk = topk;
  config.page_size = page_size;
  config.index_kpool = 1;
  config.max_tokens = tokens;
  return config;
}

}  // namespace dsakit::test
