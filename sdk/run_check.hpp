// Implementation of check_run() and check_kv_rows(); included by run_view.hpp, which has their
// contract.
#pragma once

#include <cmath>
#include <cstdarg>
#include <limits>

#include "sdk/run_view.hpp"

namespace dsakit::sdk::detail {

// Checks tensors one after the other; the first mistake is reported and makes `good` false.
class TensorReader {
 public:
  TensorReader(std::int32_t device_type, std::int32_t device_id, Error& error)
      : device_type_(device_type), device_id_(device_id), error_(error) {}

  bool good() const { return good_; }

  __attribute__((format(printf, 3, 4))) bool require(bool condition, const char* format, ...) {
    if (!condition && good_) {
      std::va_list arguments;
      va_start(arguments, format);
      error_.vfail(DSAKIT_RC_INVALID, format, arguments);
      va_end(arguments);
    }
    good_ = good_ && condition;
    return condition;
  }

  // A tensor of `ndim` axes at the instance's device. `elements_exist` says whether its data may be
  // null.
  bool tensor(const char* name, const DLTensor* tensor, int min_ndim, int max_ndim) {
    if (!require(tensor != nullptr, "%s is null", name)) return false;
    if (!require(tensor->ndim >= min_ndim && tensor->ndim <= max_ndim,
                 "%s has %d axes, it must have %d to %d", name, tensor->ndim, min_ndim, max_ndim))
      return false;
    if (!require(tensor->shape != nullptr, "%s has no shape", name)) return false;
    if (!require(
            tensor->device.device_type == device_type_ && tensor->device.device_id == device_id_,
            "%s is on device (%d, %d), the instance on (%d, %d)", name,
            static_cast<int>(tensor->device.device_type), tensor->device.device_id, device_type_,
            device_id_))
      return false;
    std::int64_t elements = 1;
    for (int axis = 0; axis < tensor->ndim; ++axis) {
      const std::int64_t extent = tensor->shape[axis];
      if (!require(extent >= 0 && (extent == 0 || elements <= kMaxElements / extent),
                   "%s has %lld elements on axis %d, which is impossible", name,
                   static_cast<long long>(extent), axis))
        return false;
      elements *= extent;
    }
    return require(elements == 0 || tensor->data != nullptr, "%s has no data", name);
  }

  bool dtype(const char* name, const DLTensor* tensor, DLDataType wanted) {
    const DLDataType found = tensor->dtype;
    return require(found.code == wanted.code && found.bits == wanted.bits && found.lanes == 1,
                   "%s has dtype (%d, %d, %d), it must be (%d, %d, 1)", name, int{found.code},
                   int{found.bits}, int{found.lanes}, int{wanted.code}, int{wanted.bits}) &&
           require(address(tensor) % (wanted.bits / 8U) == 0, "%s is not aligned to its elements",
                   name);
  }

  // int32 or int64.
  bool integers(const char* name, const DLTensor* tensor, bool& wide) {
    wide = tensor->dtype.bits == 64;
    return dtype(name, tensor, {kDLInt, static_cast<std::uint8_t>(wide ? 64 : 32), 1});
  }

  bool extent(const char* name, const DLTensor* tensor, int axis, std::int64_t wanted) {
    return require(
        tensor->shape[axis] == wanted, "%s has %lld elements on axis %d, it must have %lld", name,
        static_cast<long long>(tensor->shape[axis]), axis, static_cast<long long>(wanted));
  }

  // Stride of an axis in bytes.
  std::int64_t stride(const char* name, const DLTensor* tensor, int axis) {
    if (tensor->shape[axis] <= 1) return 0;
    std::int64_t elements = 1;
    if (tensor->strides != nullptr) {
      elements = tensor->strides[axis];
    } else {
      for (int inner = axis + 1; inner < tensor->ndim; ++inner)
        if (__builtin_mul_overflow(elements, tensor->shape[inner], &elements)) elements = -1;
    }
    require(elements >= 0 && elements <= kMaxElements / tensor->shape[axis],
            "%s has stride %lld on axis %d, which is impossible", name,
            static_cast<long long>(elements), axis);
    return good_ ? elements * ((tensor->dtype.bits + 7) / 8) : 0;
  }

  bool contiguous_last(const char* name, const DLTensor* tensor) {
    const int last = tensor->ndim - 1;
    return require(
        tensor->strides == nullptr || tensor->shape[last] <= 1 || tensor->strides[last] == 1,
        "the last axis of %s is not contiguous", name);
  }

  static std::uintptr_t address(const DLTensor* tensor) {
    return reinterpret_cast<std::uintptr_t>(tensor->data) + tensor->byte_offset;
  }
  static std::byte* data(const DLTensor* tensor) {
    return static_cast<std::byte*>(tensor->data) + tensor->byte_offset;
  }

 private:
  static constexpr std::int64_t kMaxElements = std::numeric_limits<std::int64_t>::max() / 16;
  std::int32_t device_type_, device_id_;
  Error& error_;
  bool good_ = true;
};

// How the tokens of a call are arranged: flat (batch = T, inner = 1) or [b, s].
struct TokenShape {
  bool nested = false;
  std::int64_t outer = 0, inner = 1;
  std::int64_t tokens() const { return outer * inner; }
  int axes() const { return nested ? 2 : 1; }
};

inline TokenStride token_stride(TensorReader& read, const char* name, const DLTensor* tensor,
                                const TokenShape& shape) {
  read.extent(name, tensor, 0, shape.outer);
  if (shape.nested) read.extent(name, tensor, 1, shape.inner);
  if (!read.good()) return {};
  if (!shape.nested) return {read.stride(name, tensor, 0), 0, 1};
  return {read.stride(name, tensor, 0), read.stride(name, tensor, 1),
          shape.inner > 0 ? shape.inner : 1};
}

// A [T, h, width] tensor or, with width 0, a [T, h] one.
inline const std::byte* head_tensor(TensorReader& read, const char* name, const DLTensor* tensor,
                                    const TokenShape& shape, std::int64_t heads, std::int64_t width,
                                    DLDataType type, TokenStride& token, std::int64_t& head) {
  const int axes = shape.axes() + (width == 0 ? 1 : 2);
  if (!read.tensor(name, tensor, axes, axes) || !read.dtype(name, tensor, type)) return nullptr;
  token = token_stride(read, name, tensor, shape);
  if (!read.good() || !read.extent(name, tensor, shape.axes(), heads)) return nullptr;
  if (width != 0 &&
      !(read.extent(name, tensor, axes - 1, width) && read.contiguous_last(name, tensor)))
    return nullptr;
  head = read.stride(name, tensor, shape.axes());
  return TensorReader::data(tensor);
}

// An output may not write one element twice.
inline void distinct(TensorReader& read, const char* name, const TokenShape& shape,
                     const TokenStride& token, std::int64_t heads, std::int64_t head) {
  const bool outer = shape.outer <= 1 || token.outer != 0;
  const bool inner = !shape.nested || shape.inner <= 1 || token.inner != 0;
  read.require(shape.tokens() == 0 || (outer && inner && (heads <= 1 || head != 0)),
               "%s overlaps itself", name);
}

inline void read_scalar(TensorReader& read, const char* name, const DLTensor* tensor,
                        const float*& value) {
  value = nullptr;
  if (tensor == nullptr || !read.tensor(name, tensor, 0, 1) ||
      !read.dtype(name, tensor, {kDLFloat, 32, 1}))
    return;
  if (tensor->ndim == 1 && !read.extent(name, tensor, 0, 1)) return;
  value = reinterpret_cast<const float*>(TensorReader::data(tensor));
}

// The pool itself; both RunView and KvRowsView have these fields.
template <class View>
void read_pool(TensorReader& read, const char* name, const dsakit_kv_cache* cache,
               const KvLayout& layout, std::int64_t page_size, View& view) {
  if (!read.require(cache != nullptr, "%s is null", name)) return;
  const DLTensor* data = cache->data;
  if (!read.tensor(name, data, 2, 4)) return;
  const bool halves = layout.element == KvElement::bf16;
  if (!read.require(data->dtype.lanes == 1 &&
                        (halves ? data->dtype.code == kDLBfloat && data->dtype.bits == 16
                                : data->dtype.bits == 8),
                    "%s has dtype (%d, %d, %d), layout %s needs %s", name, int{data->dtype.code},
                    int{data->dtype.bits}, int{data->dtype.lanes}, layout.name.data(),
                    halves ? "bf16" : "an 8-bit type"))
    return;
  const int last = data->ndim - 1;
  if (!read.extent(name, data, last, layout.row_elements()) || !read.contiguous_last(name, data))
    return;
  if (data->ndim == 4 && !read.extent(name, data, 2, 1)) return;
  const std::int64_t rows = data->ndim == 2 ? 1 : data->shape[1];
  if (!read.require(rows == page_size, "%s has %lld tokens a page, the instance %lld", name,
                    static_cast<long long>(rows), static_cast<long long>(page_size)))
    return;
  view.data = TensorReader::data(data);
  view.pages = data->shape[0];
  view.page_size = rows;
  view.page_stride = read.stride(name, data, 0);
  view.row_stride = data->ndim == 2 ? 0 : read.stride(name, data, 1);
  if (layout.footer()) {
    read.require(data->ndim > 2, "%s is flat, layout %s is paged", name, layout.name.data());
    read.require(view.pages <= 1 || (view.page_stride % layout.page_multiple == 0 &&
                                     view.page_stride >= layout.page_bytes(rows)),
                 "%s has pages %lld bytes apart; layout %s needs a multiple of %d, at least %lld",
                 name, static_cast<long long>(view.page_stride), layout.name.data(),
                 layout.page_multiple, static_cast<long long>(layout.page_bytes(rows)));
  }
  read.require(TensorReader::address(data) % (halves || layout.rope != 0 ? 2U : 1U) == 0,
               "%s is not aligned", name);
  if (layout.scale == KvScale::tensor_fp32) read_scalar(read, "scale", cache->scale, view.scale);
}

inline void read_lengths(TensorReader& read, const char* name, const DLTensor* length, bool allowed,
                         std::int64_t tokens, CacheView& view) {
  if (length == nullptr ||
      !read.require(allowed, "%s needs feature topk_length and index_mode physical", name))
    return;
  if (!read.tensor(name, length, 1, 1) || !read.dtype(name, length, {kDLInt, 32, 1})) return;
  const std::int64_t count = length->shape[0];
  if (!read.require(count > 0 ? tokens % count == 0 : tokens == 0,
                    "%s has %lld entries, which do not divide %lld tokens", name,
                    static_cast<long long>(count), static_cast<long long>(tokens)))
    return;
  view.length = TensorReader::data(length);
  view.length_stride = read.stride(name, length, 0);
  view.tokens_per_length = count > 0 && tokens > 0 ? tokens / count : 1;
}

struct ListNames {
  const char *cache, *indices, *indptr, *length;
};

inline void read_indices(TensorReader& read, const ListNames& names, const DLTensor* indices,
                         const DLTensor* indptr, bool ragged, const TokenShape& shape,
                         std::int64_t topk, CacheView& view) {
  if (ragged) {
    if (!read.tensor(names.indices, indices, 1, 1) ||
        !read.integers(names.indices, indices, view.wide_indices) ||
        !read.contiguous_last(names.indices, indices) || !read.tensor(names.indptr, indptr, 1, 1) ||
        !read.integers(names.indptr, indptr, view.wide_indptr) ||
        !read.extent(names.indptr, indptr, 0, shape.tokens() + 1))
      return;
    view.indices = TensorReader::data(indices);
    view.topk = indices->shape[0];
    view.indptr = TensorReader::data(indptr);
    view.indptr_stride = read.stride(names.indptr, indptr, 0);
    return;
  }
  if (!read.require(indptr == nullptr, "%s needs index_mode ragged", names.indptr)) return;
  const int axes = shape.axes();
  if (!read.tensor(names.indices, indices, axes + 1, axes + 2) ||
      !read.integers(names.indices, indices, view.wide_indices))
    return;
  if (indices->ndim == axes + 2 && !read.extent(names.indices, indices, axes, 1)) return;
  if (!read.extent(names.indices, indices, indices->ndim - 1, topk) ||
      !read.contiguous_last(names.indices, indices))
    return;
  view.index_row = token_stride(read, names.indices, indices, shape);
  view.indices = TensorReader::data(indices);
  view.topk = topk;
}

inline bool read_shape_of_q(TensorReader& read, const DLTensor* q, TokenShape& shape) {
  if (!read.tensor("q", q, 3, 4)) return false;
  shape.nested = q->ndim == 4;
  shape.outer = q->shape[0];
  shape.inner = shape.nested ? q->shape[1] : 1;
  return true;
}

inline void read_caches(TensorReader& read, const Config& config, const KvLayout& layout,
                        const dsakit_run_args& args, const TokenShape& shape, RunView& view) {
  constexpr ListNames kFirst{"kv", "indices", "indptr", "topk_length"};
  constexpr ListNames kSecond{"kv2", "indices2", "indptr2", "topk_length2"};
  const bool lengths = config.topk_length && !config.ragged;
  read_pool(read, kFirst.cache, args.kv, layout, config.page_size, view.cache[0]);
  if (!read.good()) return;
  read_indices(read, kFirst, args.indices, args.indptr, config.ragged, shape, config.topk,
               view.cache[0]);
  read_lengths(read, kFirst.length, args.topk_length, lengths, shape.tokens(), view.cache[0]);
  view.caches = args.kv2 == nullptr ? 1 : 2;
  if (args.kv2 == nullptr) {
    read.require(
        args.indices2 == nullptr && args.indptr2 == nullptr && args.topk_length2 == nullptr,
        "indices2, indptr2 and topk_length2 need kv2");
    return;
  }
  if (!read.require(config.second_cache, "kv2 needs feature second_cache")) return;
  read_pool(read, kSecond.cache, args.kv2, layout, config.page_size2, view.cache[1]);
  if (!read.good()) return;
  read_indices(read, kSecond, args.indices2, args.indptr2, config.ragged, shape, config.topk2,
               view.cache[1]);
  read_lengths(read, kSecond.length, args.topk_length2, lengths, shape.tokens(), view.cache[1]);
}

inline void read_outputs(TensorReader& read, const Config& config, const dsakit_run_args& args,
                         const TokenShape& shape, RunView& view) {
  const DLDataType fp32{kDLFloat, 32, 1};
  view.out =
      const_cast<std::byte*>(head_tensor(read, "out", args.out, shape, config.heads, config.d_v,
                                         config.out_dtype, view.out_token, view.out_head));
  distinct(read, "out", shape, view.out_token, config.heads, view.out_head);
  if (args.lse != nullptr && read.require(config.lse != LseBase::none,
                                          "lse is not null, but the instance has lse = none")) {
    view.lse = const_cast<std::byte*>(head_tensor(read, "lse", args.lse, shape, config.heads, 0,
                                                  fp32, view.lse_token, view.lse_head));
    distinct(read, "lse", shape, view.lse_token, config.heads, view.lse_head);
  }
  if (args.max_logits != nullptr &&
      read.require(config.max_logits, "max_logits needs feature max_logits")) {
    view.max_logits =
        const_cast<std::byte*>(head_tensor(read, "max_logits", args.max_logits, shape, config.heads,
                                           0, fp32, view.max_token, view.max_head));
    distinct(read, "max_logits", shape, view.max_token, config.heads, view.max_head);
  }
  const bool apart = view.out == nullptr || (view.out != view.q && view.out != view.cache[0].data &&
                                             view.out != view.lse && view.out != view.max_logits);
  read.require(apart && (view.lse == nullptr || view.lse != view.max_logits),
               "an output is where another argument is");
}

}  // namespace dsakit::sdk::detail

namespace dsakit::sdk {

inline dsakit_rc check_run(const Config& config, const KvLayout& layout,
                           const dsakit_run_args& args, RunView& view, Error& error) noexcept {
  detail::TensorReader read(config.device_type, config.device_id, error);
  detail::TokenShape shape;
  view = RunView{};
  read.require(std::isfinite(args.sm_scale), "sm_scale is not finite");
  if (!read.good() || !detail::read_shape_of_q(read, args.q, shape)) return DSAKIT_RC_INVALID;
  view.tokens = shape.tokens();
  view.heads = config.heads;
  view.sm_scale = args.sm_scale;
  view.stream = args.stream;
  read.require(view.tokens <= config.max_tokens, "q has %lld tokens, the instance allows %lld",
               static_cast<long long>(view.tokens), static_cast<long long>(config.max_tokens));
  view.q = detail::head_tensor(read, "q", args.q, shape, config.heads, config.d_qk, config.q_dtype,
                               view.q_token, view.q_head);
  if (read.require(args.q_scale == nullptr || config.q_dtype.bits == 8, "q_scale needs an 8-bit q"))
    detail::read_scalar(read, "q_scale", args.q_scale, view.q_scale);
  if (read.good()) detail::read_caches(read, config, layout, args, shape, view);
  if (args.attn_sink != nullptr && read.good() &&
      read.require(config.attn_sink, "attn_sink needs feature attn_sink") &&
      read.tensor("attn_sink", args.attn_sink, 1, 1) &&
      read.dtype("attn_sink", args.attn_sink, {kDLFloat, 32, 1}) &&
      read.extent("attn_sink", args.attn_sink, 0, config.heads)) {
    view.sink = detail::TensorReader::data(args.attn_sink);
    view.sink_stride = read.stride("attn_sink", args.attn_sink, 0);
  }
  if (read.good()) detail::read_outputs(read, config, args, shape, view);
  return read.good() ? DSAKIT_RC_OK : DSAKIT_RC_INVALID;
}

inline dsakit_rc check_kv_rows(const Config& config, const KvLayout& layout,
                               const dsakit_kv_args& args, KvRowsView& view,
                               Error& error) noexcept {
  detail::TensorReader read(config.device_type, config.device_id, error);
  view = KvRowsView{};
  view.stream = args.stream;
  detail::read_pool(read, "kv", args.kv, layout, config.page_size, view);
  if (!read.good() || !read.tensor("slots", args.slots, 1, 1) ||
      !read.integers("slots", args.slots, view.wide_slots) || !read.tensor("rows", args.rows, 2, 2))
    return DSAKIT_RC_INVALID;
  view.count = args.slots->shape[0];
  view.slots = detail::TensorReader::data(args.slots);
  view.slot_stride = read.stride("slots", args.slots, 0);
  view.rows_fp32 = args.rows->dtype.bits == 32;
  const DLDataType wanted =
      view.rows_fp32 ? DLDataType{kDLFloat, 32, 1} : DLDataType{kDLBfloat, 16, 1};
  read.dtype("rows", args.rows, wanted);
  read.extent("rows", args.rows, 0, view.count);
  read.extent("rows", args.rows, 1, layout.d_qk());
  read.contiguous_last("rows", args.rows);
  view.rows = detail::TensorReader::data(args.rows);
  view.row_bytes = read.stride("rows", args.rows, 0);
  return read.good() ? DSAKIT_RC_OK : DSAKIT_RC_INVALID;
}

}  // namespace dsakit::sdk
