// The byte layouts of KV caches, as data: the one table from which codecs, checks, plugins and
// documents derive sizes and offsets. A name is a promise about every byte; a changed rule needs a
// new name.
//
// Invariants: constexpr, no allocation, no I/O; usable in a plugin that links nothing of core. Any
// thread.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace dsakit {

// How the latent part of a row is stored.
enum class KvElement : std::uint8_t {
  bf16,
  e4m3fn,    // OCP: max 448, NaN 0x7F and 0xFF
  e4m3fnuz,  // max 240, NaN 0x80, no negative zero
};

// Where the scales of 8-bit elements are.
enum class KvScale : std::uint8_t {
  none,
  group_fp32,   // fp32 per group, inside the row or, if scale_footer, behind the page's rows
  group_ue8m0,  // one byte per group, the exponent of a power of two plus 127
  tensor_fp32,  // one for the whole cache, outside it
};

struct KvLayout {
  std::string_view name;
  KvElement element = KvElement::bf16;
  KvScale scale = KvScale::none;
  std::int32_t token_bytes = 0;   // what a token costs; the last dimension of a cache's shape
  std::int32_t latent = 0;        // leading elements, stored as `element`
  std::int32_t rope = 0;          // elements stored as bf16 behind them, at rope_offset
  std::int32_t group = 0;         // latent elements a scale covers; 0: no groups
  std::int32_t row_bytes = 0;     // bytes between the data of two tokens where the layout fixes it
  std::int32_t scale_offset = 0;  // in the row, or 0 with scale_footer
  std::int32_t rope_offset = 0;
  std::int32_t d_v = 0;  // leading elements that are the value; 0: keys of the indexer
  std::int32_t footer_bytes =
      0;  // bytes a token in the page's footer, behind the data of all its rows
  std::int32_t page_multiple = 1;  // a page is padded to a multiple of this many bytes

  constexpr std::int32_t d_qk() const { return latent + rope; }
  constexpr bool footer() const { return footer_bytes != 0; }
  // Elements of the cache's DLTensor in one token, and the bytes of such an element.
  constexpr std::int32_t row_elements() const { return token_bytes / element_bytes(); }
  constexpr std::int32_t element_bytes() const { return element == KvElement::bf16 ? 2 : 1; }
  constexpr std::int64_t page_bytes(std::int64_t page_size) const {
    const std::int64_t bytes = page_size * token_bytes;
    return (bytes + page_multiple - 1) / page_multiple * page_multiple;
  }
};

inline constexpr std::array<KvLayout, 10> kKvLayouts{{
    {.name = "bf16_1152",
     .token_bytes = 1152,
     .latent = 512,
     .rope = 64,
     .row_bytes = 1152,
     .rope_offset = 1024,
     .d_v = 512},
    {.name = "bf16_1024", .token_bytes = 1024, .latent = 512, .row_bytes = 1024, .d_v = 512},
    {.name = "fp8_656_g128",
     .element = KvElement::e4m3fn,
     .scale = KvScale::group_fp32,
     .token_bytes = 656,
     .latent = 512,
     .rope = 64,
     .group = 128,
     .row_bytes = 656,
     .scale_offset = 512,
     .rope_offset = 528,
     .d_v = 512},
    {.name = "fp8_528_g128",
     .element = KvElement::e4m3fn,
     .scale = KvScale::group_fp32,
     .token_bytes = 528,
     .latent = 512,
     .group = 128,
     .row_bytes = 528,
     .scale_offset = 512,
     .d_v = 512},
    {.name = "fp8_576_pt",
     .element = KvElement::e4m3fn,
     .scale = KvScale::tensor_fp32,
     .token_bytes = 576,
     .latent = 576,
     .row_bytes = 576,
     .d_v = 512},
    {.name = "fp8_512_pt",
     .element = KvElement::e4m3fn,
     .scale = KvScale::tensor_fp32,
     .token_bytes = 512,
     .latent = 512,
     .row_bytes = 512,
     .d_v = 512},
    {.name = "fp8_576_pt_fnuz",
     .element = KvElement::e4m3fnuz,
     .scale = KvScale::tensor_fp32,
     .token_bytes = 576,
     .latent = 576,
     .row_bytes = 576,
     .d_v = 512},
    {.name = "fp8_512_pt_fnuz",
     .element = KvElement::e4m3fnuz,
     .scale = KvScale::tensor_fp32,
     .token_bytes = 512,
     .latent = 512,
     .row_bytes = 512,
     .d_v = 512},
    {.name = "v4_584",
     .element = KvElement::e4m3fn,
     .scale = KvScale::group_ue8m0,
     .token_bytes = 584,
     .latent = 448,
     .rope = 64,
     .group = 64,
     .row_bytes = 576,
     .rope_offset = 448,
     .d_v = 512,
     .footer_bytes = 8,
     .page_multiple = 576},
    {.name = "indexer_132",
     .element = KvElement::e4m3fn,
     .scale = KvScale::group_fp32,
     .token_bytes = 132,
     .latent = 128,
     .group = 128,
     .row_bytes = 128,
     .footer_bytes = 4},
}};

// Null if no layout has that name.
constexpr const KvLayout* find_kv_layout(std::string_view name) {
  for (const KvLayout& layout : kKvLayouts)
    if (layout.name == name) return &layout;
  return nullptr;
}

}  // namespace dsakit
