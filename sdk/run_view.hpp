// The arguments of `run` as kernels want them: plain pointers, strides in bytes, sizes; and the
// check that makes them safe to use. check_run() enforces every rule of plugin_abi.h that can be
// seen on the host, so a plugin whose kernels trust a RunView cannot be driven outside its
// contract.
//
// Invariants: no allocation, no throw, reads no tensor data. A RunView borrows from the arguments.
// Any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dsakit/kv_layout.hpp"
#include "dsakit/plugin_abi.h"
#include "sdk/config.hpp"
#include "sdk/error.hpp"

namespace dsakit::sdk {

// Where token t is: t / inner_count * outer + t % inner_count * inner bytes; flat tensors have
// inner_count 1.
struct TokenStride {
  std::int64_t outer = 0, inner = 0, inner_count = 1;
  std::int64_t operator()(std::int64_t token) const {
    return token / inner_count * outer + token % inner_count * inner;
  }
};

// One pool with the list that selects from it.
struct CacheView {
  const std::byte* data = nullptr;
  std::int64_t pages = 0, page_size = 1;
  std::int64_t page_stride = 0, row_stride = 0;  // bytes
  const float* scale = nullptr;                  // on the device; null: 1
  const std::byte* indices = nullptr;
  bool wide_indices = false;  // int64
  TokenStride index_row;      // physical only
  std::int64_t topk = 0;      // physical: width of a row; ragged: length of the whole list
  const std::byte* indptr = nullptr;
  bool wide_indptr = false;
  std::int64_t indptr_stride = 0;
  const std::byte* length = nullptr;  // int32; null: topk
  std::int64_t length_stride = 0, tokens_per_length = 1;

  std::int64_t slots() const { return pages * page_size; }
};

struct RunView {
  std::int64_t tokens = 0, heads = 0;
  float sm_scale = 1.0F;
  void* stream = nullptr;
  const std::byte* q = nullptr;
  TokenStride q_token;
  std::int64_t q_head = 0;  // bytes
  const float* q_scale = nullptr;
  CacheView cache[2];
  int caches = 1;
  const std::byte* sink = nullptr;
  std::int64_t sink_stride = 0;
  std::byte* out = nullptr;
  TokenStride out_token;
  std::int64_t out_head = 0;
  std::byte* lse = nullptr;  // null: not wanted
  TokenStride lse_token;
  std::int64_t lse_head = 0;
  std::byte* max_logits = nullptr;
  TokenStride max_token;
  std::int64_t max_head = 0;
};

// What kv_append and kv_dequant work on.
struct KvRowsView {
  std::byte* data = nullptr;  // the pool
  std::int64_t pages = 0, page_size = 1, page_stride = 0, row_stride = 0;
  const float* scale = nullptr;
  std::int64_t count = 0;
  const std::byte* slots = nullptr;
  bool wide_slots = false;
  std::int64_t slot_stride = 0;
  std::byte* rows = nullptr;
  bool rows_fp32 = false;
  std::int64_t row_bytes = 0;  // stride of `rows`
  void* stream = nullptr;
};

// Fills `view` or answers INVALID with a text that names the argument, what it is and what it must
// be. `layout` is the instance's (config.layout, or a plugin's own).
inline dsakit_rc check_run(const Config& config, const KvLayout& layout,
                           const dsakit_run_args& args, RunView& view, Error& error) noexcept;

inline dsakit_rc check_kv_rows(const Config& config, const KvLayout& layout,
                               const dsakit_kv_args& args, KvRowsView& view, Error& error) noexcept;

// WORKSPACE unless args has `bytes` bytes at an address that is a multiple of `alignment`.
inline dsakit_rc check_workspace(const dsakit_run_args& args, std::uint64_t bytes,
                                 std::uint64_t alignment, Error& error) noexcept {
  if (bytes == 0) return DSAKIT_RC_OK;
  if (args.workspace == nullptr || args.workspace_size < bytes)
    return error.fail(
        DSAKIT_RC_WORKSPACE, "the workspace has %llu bytes, %llu are needed",
        static_cast<unsigned long long>(args.workspace == nullptr ? 0 : args.workspace_size),
        static_cast<unsigned long long>(bytes));
  if (reinterpret_cast<std::uintptr_t>(args.workspace) % alignment != 0)
    return error.fail(DSAKIT_RC_WORKSPACE, "the workspace is not aligned to %llu bytes",
                      static_cast<unsigned long long>(alignment));
  return DSAKIT_RC_OK;
}

}  // namespace dsakit::sdk

#include "sdk/run_check.hpp"
