// A HIP plugin opened as a host opens it, and calls of it whose tensors are host memory: nothing
// runs. One thread.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "dsakit/kv_layout.hpp"
#include "dsakit/plugin_abi.h"

namespace dsakit::test {

struct Answer {
  dsakit_rc rc = DSAKIT_RC_OK;
  std::uint32_t domain = 0;
  std::int32_t code = 0;
  std::string text{};
};

// What the call `made(&error)` answers.
template <class Made>
Answer answer_of(Made made) {
  dsakit_error error{};
  error.size = sizeof(error);
  const dsakit_rc rc = made(&error);
  return {rc, error.domain, error.code, error.text};
}

inline const dsakit_plugin& open_plugin(const char* path) {
  void* const handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(handle, nullptr) << dlerror();
  const auto entry =
      reinterpret_cast<dsakit_plugin_entry_fn>(dlsym(handle, DSAKIT_PLUGIN_ENTRY_NAME));
  dsakit_host host{};
  host.size = sizeof(host);
  host.abi_min = host.abi_max = DSAKIT_ABI_VERSION;
  return *entry(&host);
}

struct Tensor {
  std::vector<std::int64_t> shape;
  DLTensor view{};
  Tensor(DLDataType type, std::vector<std::int64_t> extents, int device, void* data)
      : shape(std::move(extents)) {
    view.data = data;
    view.device = {kDLROCM, device};
    view.ndim = static_cast<int>(shape.size());
    view.dtype = type;
    view.shape = shape.data();
  }
  Tensor(const Tensor&) = delete;
};

// A configuration that the plugin's manifest serves.
struct Setup {
  const char* layout = "bf16_1152";
  std::int64_t heads = 16, topk = 128, page_size = 64, tokens = 2;
  int device = 0;
  bool ragged = false;

  dsakit_config config() const {
    const KvLayout& known = *find_kv_layout(layout);
    dsakit_config c{};
    c.size = sizeof(c);
    c.device_type = kDLROCM;
    c.device_id = device;
    c.row = "row";
    c.phase = "decode";
    c.kv_layout = layout;
    c.index_mode = ragged ? "ragged" : "physical";
    c.invalid_index = ragged ? "none" : "any_out_of_range";
    c.heads = heads;
    c.d_qk = known.d_qk();
    c.d_v = known.d_v;
    c.topk = topk;
    c.page_size = page_size;
    c.index_kpool = 1;
    c.max_tokens = 8;
    return c;
  }
};

// One instance, and the arguments of a run of it.
class PluginCall {
 public:
  PluginCall(const dsakit_plugin& table, const Setup& setup)
      : setup_(setup), table_(table), layout_(*find_kv_layout(setup.layout)) {
    const dsakit_config config = setup.config();
    created = answer_of([&](dsakit_error* e) { return table_.create(&config, &instance, e); });
    if (instance == nullptr) return;
    dsakit_workspace wanted{};
    wanted.size = sizeof(wanted);
    EXPECT_EQ(table_.workspace(instance, setup.tokens, &wanted, nullptr), DSAKIT_RC_OK);
    workspace_bytes = wanted.bytes;
    cache_.size = sizeof(cache_);
    cache_.data = &pool_.view;
    args.size = sizeof(args);
    args.sm_scale = 0.1F;
    args.q = &q_.view;
    args.kv = &cache_;
    args.indices = &indices_.view;
    if (setup.ragged) args.indptr = &indptr_.view;
    args.out = &out_.view;
    args.workspace = memory(0);
    args.workspace_size = workspace_bytes;
    args.stream = this;
  }
  ~PluginCall() { table_.destroy(instance); }
  PluginCall(const PluginCall&) = delete;

  Answer run() const {
    return answer_of([&](dsakit_error* e) { return table_.run(instance, &args, e); });
  }
  Answer append() const {
    return answer_of([&](dsakit_error* e) { return table_.kv_append(instance, &rows_call(), e); });
  }
  Answer dequant() const {
    return answer_of([&](dsakit_error* e) { return table_.kv_dequant(instance, &rows_call(), e); });
  }
  const void* pool_address() const { return pool_.view.data; }

  Answer created;
  dsakit_instance* instance = nullptr;
  std::uint64_t workspace_bytes = 0;
  dsakit_run_args args{};

 private:
  static constexpr DLDataType kBf16{kDLBfloat, 16, 1}, kInt32{kDLInt, 32, 1}, kByte{kDLUInt, 8, 1};

  // Device memory of which nothing exists but the address.
  static void* memory(std::uintptr_t tensor) {
    return reinterpret_cast<void*>((std::uintptr_t{1} << 40) + (tensor << 32));
  }
  const dsakit_kv_args& rows_call() const {
    rows_args_.size = sizeof(rows_args_);
    rows_args_.kv = &cache_;
    rows_args_.slots = &slots_.view;
    rows_args_.rows = &rows_.view;
    return rows_args_;
  }

  Setup setup_;
  const dsakit_plugin& table_;
  const KvLayout& layout_;
  Tensor q_{kBf16, {setup_.tokens, setup_.heads, layout_.d_qk()}, setup_.device, memory(1)};
  Tensor pool_{layout_.element == KvElement::bf16 ? kBf16 : kByte,
               {4, setup_.page_size, layout_.row_elements()},
               setup_.device,
               memory(2)};
  Tensor indices_{kInt32,
                  setup_.ragged ? std::vector<std::int64_t>{setup_.topk}
                                : std::vector<std::int64_t>{setup_.tokens, setup_.topk},
                  setup_.device, memory(3)};
  Tensor indptr_{kInt32, {setup_.tokens + 1}, setup_.device, memory(4)};
  Tensor out_{kBf16, {setup_.tokens, setup_.heads, layout_.d_v}, setup_.device, memory(5)};
  Tensor slots_{kInt32, {3}, setup_.device, memory(6)};
  Tensor rows_{kBf16, {3, layout_.d_qk()}, setup_.device, memory(7)};
  dsakit_kv_cache cache_{};
  mutable dsakit_kv_args rows_args_{};
};

}  // namespace dsakit::test
