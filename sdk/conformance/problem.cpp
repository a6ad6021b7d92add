#include "sdk/conformance/problem.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>

#include "sdk/config.hpp"

namespace dsakit::conformance {
namespace {

using Random = std::mt19937;

constexpr std::byte kGarbage{0xFF};
constexpr std::uint64_t kGuard = 64;

std::int64_t between(Random& random, std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(random);
}

std::int64_t draw_invalid(Random& random, bool only_minus_one, std::int64_t slots) {
  constexpr std::int64_t kMin = std::numeric_limits<std::int32_t>::min();
  constexpr std::int64_t kMax = std::numeric_limits<std::int32_t>::max();
  const std::array<std::int64_t, 6> bad{-1, slots, kMin, kMax, -123456, slots + 114514};
  return only_minus_one ? -1 : bad[static_cast<std::size_t>(between(random, 0, 5))];
}

}  // namespace

Problem::Problem(const Description& description)
    : text_(description), owned_(description), config(owned_.config) {
  Lists lists{Random(text_.seed), {}};
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

std::int64_t Problem::token_offset(const HostTensor& tensor, std::int64_t token,
                                   std::initializer_list<std::int64_t> rest) const {
  std::vector<std::int64_t> index{token};
  if (text_.nested) index = {token / text_.s_q, token % text_.s_q};
  index.insert(index.end(), rest);
  return tensor.offset(index);
}

std::int64_t Problem::row_offset(const HostTensor& list, std::int64_t token, std::int64_t j) const {
  return text_.head_axis ? token_offset(list, token, {0, j}) : token_offset(list, token, {j});
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
  q.make(type, token_shape(rest), token_strides(rest), kGarbage, lead());
  fill_queries(random);
  sink.make(kFp32, {text_.heads}, {}, kGarbage);
  for (std::int64_t head = 0; head < text_.heads; ++head)
    write_value(sink.at(head), kFp32,
                text_.sink_value != 0.0F ? text_.sink_value : normal(random, 2.0F));
}

// Large problems draw from a table: a normal value costs more than all else that they do.
void Problem::fill_queries(std::mt19937& random) {
  constexpr std::int64_t kMany = 1 << 22;
  constexpr std::size_t kTable = 1 << 16;
  std::vector<float> table;
  if (tokens() * text_.heads * config.d_qk > kMany)
    for (std::size_t i = 0; i < kTable; ++i) table.push_back(normal(random, text_.q_amplitude));
  const auto draw = [&] {
    return table.empty() ? normal(random, text_.q_amplitude) : table[random() % kTable];
  };
  const std::int64_t bytes = q.view.dtype.bits / 8;
  for (std::int64_t token = 0; token < tokens(); ++token)
    for (std::int64_t head = 0; head < text_.heads; ++head) {
      std::byte* row = q.at(token_offset(q, token, {head, 0}));
      for (std::int64_t d = 0; d < config.d_qk; ++d)
        write_value(row + d * bytes, q.view.dtype, draw());
    }
}

void Problem::make_outputs() {
  const std::vector<std::int64_t> rest{text_.heads, config.d_v};
  out.make(sdk::find_dtype(text_.out_dtype), token_shape(rest), token_strides(rest), kGarbage,
           kGuard);
  // lse as some engines keep it, heads outside: [b, h, s] seen as [b, s, h].
  std::vector<std::int64_t> transposed;
  if (text_.odd_strides && text_.nested)
    transposed = {text_.heads * text_.s_q, 1, text_.s_q};
  else if (text_.odd_strides)
    transposed = {1, tokens()};
  lse.make(kFp32, token_shape({text_.heads}), transposed, kGarbage, kGuard);
  max_logits.make(kFp32, token_shape({text_.heads}), {}, kGarbage, kGuard);
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

std::int64_t Problem::slots(int which) const {
  return which == 0 ? text_.pages * text_.page_size : text_.pages2 * text_.page_size2;
}

// The entries of a token's row, invalid ones included.
std::vector<std::int64_t> Problem::draw_row(int which, std::int64_t token, std::int64_t count,
                                            std::mt19937& random) const {
  const std::int64_t all = slots(which);
  std::vector<std::int64_t> deck;
  if (text_.distinct) {
    deck.resize(static_cast<std::size_t>(all));
    std::iota(deck.begin(), deck.end(), 0);
  }
  std::vector<std::int64_t> row;
  for (std::int64_t j = 0; j < count; ++j) {
    const bool bad = token == text_.empty_token || all == 0 ||
                     std::uniform_real_distribution<double>(0, 1)(random) < text_.invalid;
    if (bad) {
      row.push_back(draw_invalid(random, text_.only_minus_one, all));
    } else if (text_.distinct) {
      std::swap(deck[static_cast<std::size_t>(j)],
                deck[static_cast<std::size_t>(between(random, j, all - 1))]);
      row.push_back(deck[static_cast<std::size_t>(j)]);
    } else {
      row.push_back(between(random, 0, all - 1));
    }
  }
  return row;
}

void Problem::make_indices(int which, Lists& lists) {
  Random& random = lists.random;
  const std::int64_t topk = which == 0 ? text_.topk : text_.topk2;
  const DLDataType type{kDLInt, static_cast<std::uint8_t>(text_.wide_indices ? 64 : 32), 1};
  const std::vector<std::int64_t> lengths = draw_lengths(random, topk);
  const std::vector<std::int64_t> rest =
      text_.head_axis ? std::vector<std::int64_t>{1, topk} : std::vector<std::int64_t>{topk};
  const std::int64_t total = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
  HostTensor& list = indices[which];
  list.make(type, text_.ragged ? std::vector<std::int64_t>{total} : token_shape(rest),
            text_.ragged ? std::vector<std::int64_t>{} : token_strides(rest), std::byte{0x7F},
            lead());
  const auto elements =
      static_cast<std::int64_t>(list.memory.size() - 2 * lead()) / (type.bits / 8);
  for (std::int64_t i = 0; text_.decoy_gaps && i < elements; ++i)
    write_integer(list, i, i % std::max<std::int64_t>(slots(which), 1));
  indptr[which].make(type, {tokens() + 1}, {}, std::byte{0});
  std::int64_t written = 0;
  for (std::int64_t token = 0; token < tokens(); ++token) {
    const std::int64_t used = lengths[static_cast<std::size_t>(token)];
    const std::vector<std::int64_t> row =
        draw_row(which, token, text_.ragged ? used : topk, random);
    for (std::int64_t j = 0; j < static_cast<std::int64_t>(row.size()); ++j) {
      const std::int64_t slot = row[static_cast<std::size_t>(j)];
      if (text_.ragged)
        write_integer(list, written++, slot);
      else
        set_index(which, token, j, slot);
      if (j < used && slot >= 0 && slot < slots(which)) lists.selected[which].insert(slot);
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

std::int64_t Problem::index(int which, std::int64_t token, std::int64_t j) {
  HostTensor& list = indices[which];
  const std::byte* from = list.at(row_offset(list, token, j));
  std::int64_t wide = 0;
  std::int32_t narrow = 0;
  if (list.view.dtype.bits == 64) {
    std::memcpy(&wide, from, 8);
    return wide;
  }
  std::memcpy(&narrow, from, 4);
  return narrow;
}

void Problem::set_index(int which, std::int64_t token, std::int64_t j, std::int64_t slot) {
  HostTensor& list = indices[which];
  write_integer(list, row_offset(list, token, j), slot);
}

void Problem::set_query(std::int64_t token, std::int64_t head, std::int64_t d, float value) {
  write_value(q.at(token_offset(q, token, {head, d})), q.view.dtype, value);
}

void Problem::set_workspace(std::uint64_t bytes, std::uint32_t alignment,
                            std::uint64_t zero_bytes) {
  workspace_memory_ = map_untouched(bytes + alignment + kCanaryBytes);
  auto start = reinterpret_cast<std::uintptr_t>(workspace_memory_.get());
  start = (start + alignment - 1) / alignment * alignment;
  workspace_ = {reinterpret_cast<std::byte*>(start), bytes, zero_bytes, alignment};
  std::fill_n(workspace_.start + bytes, kCanaryBytes, kCanary);
  if (config.device_type == kDLCPU)
    std::fill(workspace_.start + zero_bytes, workspace_.start + bytes, kCanary);
  args.workspace = workspace_.start;
  args.workspace_size = bytes;
}

bool Problem::canary_alive() const {
  const std::byte* canary = workspace_.start + workspace_.bytes;
  return workspace_.start == nullptr ||
         std::all_of(canary, canary + kCanaryBytes, [](std::byte b) { return b == kCanary; });
}

void Problem::spoil_outputs() {
  for (HostTensor* tensor : {&out, &lse, &max_logits})
    std::fill(tensor->memory.begin(), tensor->memory.end(), kGarbage);
}

bool Problem::outputs_untouched() const {
  const auto garbage = [](const HostTensor& tensor) {
    return std::ranges::all_of(tensor.memory, [](std::byte b) { return b == kGarbage; });
  };
  return garbage(out) && garbage(lse) && garbage(max_logits);
}

bool Problem::gaps_untouched() const {
  const auto kept = [&](const HostTensor& tensor, bool wide) {
    const std::int64_t element = tensor.view.dtype.bits / 8;
    std::vector<std::byte> bytes = tensor.memory;
    for (std::int64_t token = 0; token < tokens(); ++token)
      for (std::int64_t head = 0; head < text_.heads; ++head) {
        const std::int64_t offset =
            wide ? token_offset(tensor, token, {head, 0}) : token_offset(tensor, token, {head});
        std::fill_n(
            bytes.begin() + offset * element + static_cast<std::int64_t>(tensor.view.byte_offset),
            (wide ? config.d_v : 1) * element, kGarbage);
      }
    return std::ranges::all_of(bytes, [](std::byte byte) { return byte == kGarbage; });
  };
  return kept(out, true) && kept(lse, false) && kept(max_logits, false);
}

std::vector<HostTensor*> Problem::tensors() {
  return {&q,          &out,       &lse,       &max_logits, &sink,
          &pool[0],    &pool[1],   &scale[0],  &scale[1],   &indices[0],
          &indices[1], &indptr[0], &indptr[1], &length[0],  &length[1]};
}

std::vector<std::byte> Problem::output_bytes() const {
  std::vector<std::byte> bytes;
  for (const HostTensor* tensor : {&out, &lse, &max_logits})
    bytes.insert(bytes.end(), tensor->memory.begin(), tensor->memory.end());
  return bytes;
}

}  // namespace dsakit::conformance
