#include "sdk/conformance/problem.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <set>

#include "kvcache/float8.hpp"
#include "sdk/config.hpp"

namespace dsakit::conformance {
namespace {

using Random = std::mt19937;

constexpr DLDataType kFp32{kDLFloat, 32, 1};
constexpr std::size_t kCanaryBytes = 256;
constexpr std::byte kCanary{0xC7};
constexpr std::byte kGarbage{0xFF};

float normal(Random& random, float amplitude) {
  std::normal_distribution<float> distribution(0.0F, 1.0F);
  return std::clamp(distribution(random), -4.0F, 4.0F) * amplitude;
}

std::int64_t between(Random& random, std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(random);
}

std::uint16_t half_bits(float value) {
  // Test values are moderate: normal halves or zero, rounded to nearest by ldexp and rint.
  const double magnitude = std::fabs(static_cast<double>(value));
  const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
  if (magnitude < std::ldexp(1.0, -24)) return sign;
  const int exponent = std::max(std::ilogb(magnitude), -14);
  const double steps = std::rint(std::ldexp(magnitude, 10 - exponent));
  const int bits = (exponent + 14) * 1024 + static_cast<int>(steps);
  return static_cast<std::uint16_t>(sign | std::min(bits, 31744));
}

void write_value(std::byte* to, DLDataType type, float value) {
  if (type.bits == 32) {
    std::memcpy(to, &value, 4);
    return;
  }
  const std::uint16_t bits =
      type.code == kDLBfloat ? kvcache::bf16_encode(value) : half_bits(value);
  std::memcpy(to, &bits, 2);
}

void write_integer(HostTensor& tensor, std::int64_t offset, std::int64_t value) {
  const auto narrow = static_cast<std::int32_t>(value);
  if (tensor.view.dtype.bits == 64)
    std::memcpy(tensor.at(offset), &value, 8);
  else
    std::memcpy(tensor.at(offset), &narrow, 4);
}

std::int64_t invalid_index(Random& random, bool only_minus_one, std::int64_t slots) {
  constexpr std::int64_t kMin = std::numeric_limits<std::int32_t>::min();
  constexpr std::int64_t kMax = std::numeric_limits<std::int32_t>::max();
  const std::array<std::int64_t, 6> bad{-1, slots, kMin, kMax, -123456, slots + 114514};
  return only_minus_one ? -1 : bad[static_cast<std::size_t>(between(random, 0, 5))];
}

}  // namespace

// What the lists select, collected while they are written.
struct Problem::Lists {
  Random random;
  std::set<std::int64_t> selected[2];
};

void HostTensor::make(DLDataType type, std::vector<std::int64_t> extents,
                      std::vector<std::int64_t> element_strides, std::byte fill) {
  shape = std::move(extents);
  strides = std::move(element_strides);
  std::int64_t last = 0;
  std::int64_t compact = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    last += (shape[axis] - 1) * (strides.empty() ? compact : strides[axis]);
    compact *= shape[axis];
  }
  const std::int64_t elements = compact == 0 ? 0 : last + 1;
  memory.assign(static_cast<std::size_t>(elements * type.bits / 8), fill);
  view.data = memory.data();
  view.device = {kDLCPU, 0};
  view.ndim = static_cast<int>(shape.size());
  view.dtype = type;
  view.shape = shape.data();
  view.strides = strides.empty() ? nullptr : strides.data();
  view.byte_offset = 0;
}

std::byte* HostTensor::at(std::int64_t element_offset) {
  return memory.data() + element_offset * view.dtype.bits / 8;
}

Problem::Problem(const Description& description) : text_(description) {
  Lists lists{Random(text_.seed), {}};
  fill_config();
  make_queries();
  make_outputs();
  for (int which = 0; which < (text_.topk2 > 0 ? 2 : 1); ++which) {
    make_indices(which, lists);
    make_cache(which, lists);
  }
  args.size = sizeof(args);
  args.sm_scale =
      text_.sm_scale != 0.0F ? text_.sm_scale : 1.0F / std::sqrt(static_cast<float>(config.d_qk));
  args.q = &q.view;
  args.out = &out.view;
  args.lse = text_.lse ? &lse.view : nullptr;
  args.max_logits = text_.max_logits ? &max_logits.view : nullptr;
  args.attn_sink = text_.sink ? &sink.view : nullptr;
}

void Problem::fill_config() {
  const KvLayout& layout = *find_kv_layout(text_.layout);
  features_ = text_.features;
  const auto imply = [&](bool used, const char* name) {
    if (used) features_.emplace_back(name);
  };
  imply(text_.sink, "attn_sink");
  imply(text_.lengths, "topk_length");
  imply(text_.topk2 > 0, "second_cache");
  imply(text_.max_logits, "max_logits");
  for (const std::string& name : features_) feature_names_.push_back(name.c_str());
  config.size = sizeof(config);
  config.device_type = kDLCPU;
  config.sm_count = text_.threads;
  config.phase = text_.phase.c_str();
  config.model_family = text_.model_family.c_str();
  config.kv_layout = text_.layout.c_str();
  config.kv_scale = text_.kv_scale.c_str();
  config.index_mode = text_.ragged ? "ragged" : "physical";
  config.q_dtype = text_.q_dtype.c_str();
  config.out_dtype = text_.out_dtype.c_str();
  config.lse = text_.lse_base.c_str();
  config.lse_sink = text_.lse_sink.c_str();
  config.lse_empty = text_.lse_empty.c_str();
  config.features = feature_names_.data();
  config.feature_count = feature_names_.size();
  config.heads = text_.heads;
  config.d_qk = layout.d_qk();
  config.d_v = layout.d_v;
  config.topk = text_.topk;
  config.topk2 = text_.topk2;
  config.page_size = text_.page_size;
  config.page_size2 = text_.page_size2;
  config.index_kpool = 1;
  config.max_tokens = tokens();
}

std::vector<std::int64_t> Problem::token_shape(std::vector<std::int64_t> rest) const {
  std::vector<std::int64_t> shape{tokens()};
  if (text_.nested) shape = {text_.batch, text_.s_q};
  shape.insert(shape.end(), rest.begin(), rest.end());
  return shape;
}

// Compact inside `rest`, with gaps between tokens if odd strides are wanted.
std::vector<std::int64_t> Problem::token_strides(const std::vector<std::int64_t>& rest) const {
  if (!text_.odd_strides) return {};
  std::vector<std::int64_t> strides(rest.size());
  std::int64_t next = 1;
  for (std::size_t axis = rest.size(); axis-- > 0;) {
    strides[axis] = next;
    next = next * rest[axis] + (axis == 0 ? 0 : 8);
  }
  const std::int64_t token = next + 24;
  if (!text_.nested) {
    strides.insert(strides.begin(), token);
  } else {
    strides.insert(strides.begin(), token);
    strides.insert(strides.begin(), token * text_.s_q + 40);
  }
  return strides;
}

void Problem::make_queries() {
  Random random(text_.seed + 1000);
  const DLDataType type = sdk::find_dtype(text_.q_dtype);
  const std::vector<std::int64_t> rest{text_.heads, config.d_qk};
  q.make(type, token_shape(rest), token_strides(rest), kGarbage);
  const std::int64_t width = config.d_qk;
  const std::vector<std::int64_t> strides = token_strides(rest);
  for (std::int64_t token = 0; token < tokens(); ++token)
    for (std::int64_t head = 0; head < text_.heads; ++head)
      for (std::int64_t d = 0; d < width; ++d) {
        std::int64_t offset = (token * text_.heads + head) * width + d;
        if (!strides.empty()) {
          offset = head * strides[strides.size() - 2] + d;
          offset += text_.nested ? token / text_.s_q * strides[0] + token % text_.s_q * strides[1]
                                 : token * strides[0];
        }
        write_value(q.at(offset), type, normal(random, text_.q_amplitude));
      }
  sink.make(kFp32, {text_.heads}, {}, kGarbage);
  for (std::int64_t head = 0; head < text_.heads; ++head)
    write_value(sink.at(head), kFp32,
                text_.sink_value != 0.0F ? text_.sink_value : normal(random, 2.0F));
}

void Problem::make_outputs() {
  const std::vector<std::int64_t> rest{text_.heads, config.d_v};
  out.make(sdk::find_dtype(text_.out_dtype), token_shape(rest), token_strides(rest), kGarbage);
  // lse as some engines keep it, heads outside: [b, h, s] seen as [b, s, h].
  std::vector<std::int64_t> transposed;
  if (text_.odd_strides && text_.nested)
    transposed = {text_.heads * text_.s_q, 1, text_.s_q};
  else if (text_.odd_strides)
    transposed = {1, tokens()};
  lse.make(kFp32, token_shape({text_.heads}), transposed, kGarbage);
  max_logits.make(kFp32, token_shape({text_.heads}), {}, kGarbage);
}

// Valid entries of each token's row.
std::vector<std::int64_t> Problem::draw_lengths(std::mt19937& random, std::int64_t topk) const {
  const auto count = static_cast<std::size_t>(tokens());
  std::vector<std::int64_t> lengths(count, topk);
  if (!text_.lengths && !text_.ragged) return lengths;
  for (std::int64_t& each : lengths) each = between(random, 0, topk);
  if (count > 2) {
    lengths[0] = topk;
    lengths[1] = 0;
  }
  const auto group = static_cast<std::size_t>(text_.length_per_batch ? text_.s_q : 1);
  for (std::size_t token = 0; token < count; ++token)
    lengths[token] = lengths[token / group * group];
  return lengths;
}

void Problem::make_indices(int which, Lists& lists) {
  Random& random = lists.random;
  const std::int64_t topk = which == 0 ? text_.topk : text_.topk2;
  const std::int64_t slots =
      (which == 0 ? text_.pages * text_.page_size : text_.pages2 * text_.page_size2);
  const DLDataType type{kDLInt, static_cast<std::uint8_t>(text_.wide_indices ? 64 : 32), 1};
  const std::vector<std::int64_t> lengths = draw_lengths(random, topk);
  const std::vector<std::int64_t> rest =
      text_.head_axis ? std::vector<std::int64_t>{1, topk} : std::vector<std::int64_t>{topk};
  const std::vector<std::int64_t> strides =
      text_.ragged ? std::vector<std::int64_t>{} : token_strides(rest);
  const std::int64_t total = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
  HostTensor& list = indices[which];
  list.make(type, text_.ragged ? std::vector<std::int64_t>{total} : token_shape(rest), strides,
            std::byte{0x7F});
  indptr[which].make(type, {tokens() + 1}, {}, std::byte{0});
  std::int64_t written = 0;
  for (std::int64_t token = 0; token < tokens(); ++token) {
    const std::int64_t used = lengths[static_cast<std::size_t>(token)];
    for (std::int64_t j = 0; j < (text_.ragged ? used : topk); ++j) {
      const bool bad = token == text_.empty_token || slots == 0 ||
                       std::uniform_real_distribution<double>(0, 1)(random) < text_.invalid;
      const std::int64_t slot =
          bad ? invalid_index(random, text_.only_minus_one, slots) : between(random, 0, slots - 1);
      std::int64_t offset = token * topk + j;
      if (text_.ragged)
        offset = written++;
      else if (!strides.empty())
        offset = j + (text_.nested ? token / text_.s_q * strides[0] + token % text_.s_q * strides[1]
                                   : token * strides[0]);
      write_integer(list, offset, slot);
      if (!bad && j < used) lists.selected[which].insert(slot);
    }
    write_integer(indptr[which], token + 1, written);
  }
  const std::int64_t entries = text_.length_per_batch ? text_.batch : tokens();
  length[which].make({kDLInt, 32, 1}, {entries}, {}, kGarbage);
  for (std::int64_t entry = 0; entry < entries; ++entry)
    write_integer(
        length[which], entry,
        lengths[static_cast<std::size_t>(entry * (tokens() / std::max<std::int64_t>(entries, 1)))]);
  (which == 0 ? args.indices : args.indices2) = &list.view;
  (which == 0 ? args.indptr : args.indptr2) = text_.ragged ? &indptr[which].view : nullptr;
  (which == 0 ? args.topk_length : args.topk_length2) =
      text_.lengths && !text_.ragged ? &length[which].view : nullptr;
}

void Problem::make_cache(int which, Lists& lists) {
  const KvLayout& layout = *find_kv_layout(text_.layout);
  const std::int64_t pages = which == 0 ? text_.pages : text_.pages2;
  const std::int64_t page_size = which == 0 ? text_.page_size : text_.page_size2;
  const std::int64_t row = layout.row_elements();
  const std::int64_t multiple =
      layout.page_multiple / (layout.page_multiple > 1 ? 1 : layout.element_bytes());
  const std::int64_t gap = text_.odd_strides ? (layout.footer() ? multiple : 16) : 0;
  const std::int64_t row_stride = text_.odd_strides && !layout.footer() ? row + 16 : row;
  const std::int64_t page_stride =
      (layout.footer() ? layout.page_bytes(page_size) : page_size * row_stride) + gap;
  const DLDataType type =
      layout.element == KvElement::bf16 ? DLDataType{kDLBfloat, 16, 1} : DLDataType{kDLUInt, 8, 1};
  const std::byte nan = layout.element == KvElement::e4m3fnuz ? std::byte{0x80} : std::byte{0xFF};
  HostTensor& tensor = pool[which];
  tensor.make(type, {pages, page_size, row}, {page_stride, row_stride, 1}, nan);
  if (layout.footer()) tensor.memory.resize(static_cast<std::size_t>(pages * page_stride), nan);
  tensor.view.data = tensor.memory.data();
  if (text_.flat_cache) {
    tensor.shape = {pages, row};
    tensor.strides = {page_stride, 1};
    tensor.view.ndim = 2;
    tensor.view.shape = tensor.shape.data();
    tensor.view.strides = tensor.strides.data();
  }
  scale[which].make(kFp32, {1}, {}, kGarbage);
  write_value(scale[which].at(0), kFp32, text_.tensor_scale);
  const kvcache::Pool cache{
      &layout,           tensor.memory.data(),        pages,
      page_size,         page_stride * type.bits / 8, row_stride * type.bits / 8,
      text_.tensor_scale};
  const kvcache::ScaleRule rule =
      text_.kv_scale == "any" ? kvcache::ScaleRule::arbitrary_fp32 : kvcache::ScaleRule::pow2_fp32;
  std::vector<float> values(static_cast<std::size_t>(layout.d_qk()));
  for (const std::int64_t slot : lists.selected[which]) {
    for (float& value : values) value = normal(lists.random, text_.kv_amplitude);
    kvcache::encode_row(cache, slot, rule, values);
  }
  caches[which] = {sizeof(dsakit_kv_cache), 0, &tensor.view,
                   layout.scale == KvScale::tensor_fp32 ? &scale[which].view : nullptr};
  (which == 0 ? args.kv : args.kv2) = &caches[which];
}

void Problem::set_workspace(std::uint64_t bytes, std::uint32_t alignment) {
  workspace_.assign(bytes + alignment + kCanaryBytes, kCanary);
  auto start = reinterpret_cast<std::uintptr_t>(workspace_.data());
  start = (start + alignment - 1) / alignment * alignment;
  args.workspace = reinterpret_cast<void*>(start);
  args.workspace_size = bytes;
  canary_ = reinterpret_cast<std::byte*>(start) + bytes;
}

bool Problem::canary_alive() const {
  return canary_ == nullptr ||
         std::all_of(canary_, canary_ + kCanaryBytes - 1, [](std::byte b) { return b == kCanary; });
}

void Problem::spoil_outputs() {
  for (HostTensor* tensor : {&out, &lse, &max_logits})
    std::fill(tensor->memory.begin(), tensor->memory.end(), kGarbage);
}

std::vector<std::byte> Problem::output_bytes() const {
  std::vector<std::byte> bytes = out.memory;
  bytes.insert(bytes.end(), lse.memory.begin(), lse.memory.end());
  bytes.insert(bytes.end(), max_logits.memory.begin(), max_logits.memory.end());
  return bytes;
}

}  // namespace dsakit::conformance
