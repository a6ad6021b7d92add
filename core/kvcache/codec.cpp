#include "kvcache/codec.hpp"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstring>

#include "kvcache/float8.hpp"

namespace dsakit::kvcache {
namespace {

constexpr float kPow2Floor = 1e-4F;

template <class T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

template <class T>
void store(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof(value));
}

std::uint8_t encode_element(KvElement element, float value) {
  return element == KvElement::e4m3fnuz ? e4m3fnuz_encode(value) : e4m3fn_encode(value);
}

float decode_element(KvElement element, std::uint8_t code) {
  return element == KvElement::e4m3fnuz ? e4m3fnuz_decode(code) : e4m3fn_decode(code);
}

void encode_bf16(std::span<const float> values, std::byte* to) {
  for (std::size_t i = 0; i < values.size(); ++i) store(to + 2 * i, bf16_encode(values[i]));
}

void decode_bf16(const std::byte* from, std::span<float> values) {
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = bf16_decode(load<std::uint16_t>(from + 2 * i));
}

float largest_magnitude(std::span<const float> values) {
  float amax = 0.0F;
  for (const float value : values)
    if (!std::isnan(value)) amax = std::max(amax, std::fabs(value));
  return std::min(amax, FLT_MAX);
}

void encode_elements(KvElement element, float scale, std::span<const float> values, std::byte* to) {
  for (std::size_t i = 0; i < values.size(); ++i)
    to[i] = std::byte{encode_element(element, values[i] / scale)};
}

void decode_elements(KvElement element, float scale, const std::byte* from,
                     std::span<float> values) {
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = decode_element(element, std::to_integer<std::uint8_t>(from[i])) * scale;
}

// Calls body(first element, elements, scale index) for each group of the latent part.
template <class Body>
void for_each_group(const KvLayout& layout, Body body) {
  const auto group = static_cast<std::size_t>(layout.group);
  const auto latent = static_cast<std::size_t>(layout.latent);
  for (std::size_t first = 0; first < latent; first += group) body(first, group, first / group);
}

}  // namespace

float group_scale(ScaleRule rule, float amax) {
  const float scale = amax / kE4m3fnMax;
  if (rule == ScaleRule::pow2_fp32) return ceil_pow2(std::max(scale, kPow2Floor));
  return std::max(scale, FLT_MIN);
}

Pool compact_pool(const KvLayout& layout, std::byte* data, std::int64_t pages,
                  std::int64_t page_size) {
  return {.layout = &layout,
          .data = data,
          .pages = pages,
          .page_size = page_size,
          .page_stride = layout.page_bytes(page_size),
          .row_stride = layout.row_bytes};
}

RowAddress row_address(const Pool& pool, std::int64_t slot) {
  const KvLayout& layout = *pool.layout;
  const std::int64_t page = slot / pool.page_size;
  const std::int64_t row = slot % pool.page_size;
  std::byte* page_data = pool.data + page * pool.page_stride;
  if (!layout.footer()) {
    std::byte* data = page_data + row * pool.row_stride;
    return {data, layout.group != 0 ? data + layout.scale_offset : nullptr};
  }
  std::byte* footer = page_data + pool.page_size * layout.row_bytes;
  return {page_data + row * layout.row_bytes, footer + row * layout.footer_bytes};
}

void encode_row(const Pool& pool, std::int64_t slot, ScaleRule rule,
                std::span<const float> values) {
  const KvLayout& layout = *pool.layout;
  const RowAddress at = row_address(pool, slot);
  const std::span<const float> latent = values.first(static_cast<std::size_t>(layout.latent));
  if (layout.scale == KvScale::none) {
    encode_bf16(latent, at.data);
  } else if (layout.scale == KvScale::tensor_fp32) {
    encode_elements(layout.element, pool.tensor_scale, latent, at.data);
  } else {
    const bool ue8m0 = layout.scale == KvScale::group_ue8m0;
    if (layout.footer()) std::memset(at.scale, 0, static_cast<std::size_t>(layout.footer_bytes));
    for_each_group(layout, [&](std::size_t first, std::size_t count, std::size_t index) {
      const std::span<const float> group = latent.subspan(first, count);
      const float amax = largest_magnitude(group);
      const float scale = group_scale(ue8m0 ? ScaleRule::pow2_fp32 : rule, amax);
      if (ue8m0)
        at.scale[index] = std::byte{e8m0_encode(scale)};
      else
        store(at.scale + 4 * index, scale);
      encode_elements(layout.element, scale, group, at.data + first);
    });
  }
  encode_bf16(values.subspan(latent.size(), static_cast<std::size_t>(layout.rope)),
              at.data + layout.rope_offset);
}

void decode_row(const Pool& pool, std::int64_t slot, std::span<float> values) {
  const KvLayout& layout = *pool.layout;
  const RowAddress at = row_address(pool, slot);
  const std::span<float> latent = values.first(static_cast<std::size_t>(layout.latent));
  if (layout.scale == KvScale::none) {
    decode_bf16(at.data, latent);
  } else if (layout.scale == KvScale::tensor_fp32) {
    decode_elements(layout.element, pool.tensor_scale, at.data, latent);
  } else {
    for_each_group(layout, [&](std::size_t first, std::size_t count, std::size_t index) {
      const float scale = layout.scale == KvScale::group_ue8m0
                              ? e8m0_decode(std::to_integer<std::uint8_t>(at.scale[index]))
                              : load<float>(at.scale + 4 * index);
      decode_elements(layout.element, scale, at.data + first, latent.subspan(first, count));
    });
  }
  decode_bf16(at.data + layout.rope_offset,
              values.subspan(latent.size(), static_cast<std::size_t>(layout.rope)));
}

}  // namespace dsakit::kvcache
