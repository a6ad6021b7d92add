// The caches of a Problem: what their slots hold.
#include <random>

#include "dsakit/kv_layout.hpp"
#include "sdk/conformance/problem.hpp"

namespace dsakit::conformance {
namespace {

std::byte nan_byte(const KvLayout& layout) {
  return layout.element == KvElement::e4m3fnuz ? std::byte{0x80} : std::byte{0xFF};
}

}  // namespace

void Problem::make_cache(int which, Lists& lists) {
  const KvLayout& layout = *find_kv_layout(text_.layout);
  const std::int64_t pages = which == 0 ? text_.pages : text_.pages2;
  const std::int64_t page_size = which == 0 ? text_.page_size : text_.page_size2;
  const std::int64_t row = layout.row_elements();
  const std::int64_t multiple =
      layout.page_multiple / (layout.page_multiple > 1 ? 1 : layout.element_bytes());
  std::int64_t gap = text_.odd_strides ? (layout.footer() ? multiple : 16) : 0;
  gap += text_.page_gap / layout.element_bytes() / layout.page_multiple * layout.page_multiple;
  const std::int64_t row_stride = text_.odd_strides && !layout.footer() ? row + 16 : row;
  const std::int64_t page_stride =
      (layout.footer() ? layout.page_bytes(page_size) : page_size * row_stride) + gap;
  const DLDataType type =
      layout.element == KvElement::bf16 ? DLDataType{kDLBfloat, 16, 1} : DLDataType{kDLUInt, 8, 1};
  HostTensor& tensor = pool[which];
  // A footer lies behind the rows that the shape speaks of: one more page than that.
  tensor.make(type, {pages + (layout.footer() ? 1 : 0), page_size, row},
              {page_stride, row_stride, 1}, nan_byte(layout), lead());
  tensor.shape[0] = pages;
  if (text_.flat_cache) {
    tensor.shape = {pages, row};
    tensor.strides = {page_stride, 1};
    tensor.view.ndim = 2;
    tensor.view.shape = tensor.shape.data();
    tensor.view.strides = tensor.strides.data();
  }
  scale[which].make(kFp32, {1}, {}, std::byte{0xFF});
  write_value(scale[which].at(0), kFp32, text_.tensor_scale);
  fill_pool(which, lists);
  caches[which] = {sizeof(dsakit_kv_cache), 0, &tensor.view,
                   layout.scale == KvScale::tensor_fp32 ? &scale[which].view : nullptr};
  (which == 0 ? args.kv : args.kv2) = &caches[which];
}

void Problem::fill_pool(int which, Lists& lists) {
  std::vector<float> values(static_cast<std::size_t>(config.d_qk));
  const auto write = [&](std::int64_t slot) {
    for (float& value : values) value = normal(lists.random, text_.kv_amplitude);
    set_key(which, slot, values);
  };
  if (text_.unselected_nan) {
    for (const std::int64_t slot : lists.selected[which]) write(slot);
  } else {
    for (std::int64_t slot = 0; slot < slots(which); ++slot) write(slot);
  }
}

kvcache::Pool Problem::codec_pool(int which) {
  HostTensor& tensor = pool[which];
  const std::int64_t bytes = tensor.view.dtype.bits / 8;
  return {find_kv_layout(text_.layout),
          tensor.at(0),
          tensor.shape[0],
          which == 0 ? text_.page_size : text_.page_size2,
          tensor.strides[0] * bytes,
          text_.flat_cache ? 0 : tensor.strides[1] * bytes,
          text_.tensor_scale};
}

void Problem::set_key(int which, std::int64_t slot, std::span<const float> values) {
  const kvcache::ScaleRule rule =
      text_.kv_scale == "any" ? kvcache::ScaleRule::arbitrary_fp32 : kvcache::ScaleRule::pow2_fp32;
  kvcache::encode_row(codec_pool(which), slot, rule, values);
}

}  // namespace dsakit::conformance
