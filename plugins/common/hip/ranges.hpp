// Which parts of which tokens a workgroup has (plan.hpp), and where a token's list is. Every wave
// finds them for itself, all lanes together, and all waves of a workgroup find the same.
#pragma once

#include "common/hip/results.hpp"

namespace dsakit::hip {

// A token's entries: those that count, and the first one's place in the list.
struct KeyList {
  std::int64_t first = 0;
  std::int32_t count = 0;
};

DSAKIT_DEVICE KeyList key_list(const Call& call, std::uint32_t token) {
  const Tensors& t = call.problem.tensors;
  const auto bound = [&](std::uint32_t i) -> std::int64_t {
    const std::int64_t at = i * call.indptr_stride;
    return call.indptr64 ? static_cast<const std::int64_t*>(call.indptr)[at]
                         : static_cast<const std::int32_t*>(call.indptr)[at];
  };
  KeyList list;
  std::int64_t count = call.problem.topk;
  if (call.ragged) {
    list.first = bound(token);
    count = bound(token + 1) - list.first;
  } else {
    list.first = offset_of(t, t.index_token, token);
    if (t.length != nullptr)
      count = t.length[token / static_cast<std::uint32_t>(t.tokens_per_length) * t.length_stride];
  }
  if (count > call.problem.topk) count = call.problem.topk;
  list.count = count > 0 ? static_cast<std::int32_t>(count) : 0;
  return list;
}

// Blocks [first, last) of a token; `slot` is that of its partial, -1 for all of a token.
struct Part {
  std::uint32_t token = 0;
  std::int32_t first = 0, last = 0, slot = -1;
};

class Range {
 public:
  DSAKIT_DEVICE Range(const AttentionArguments& arguments, std::int32_t range, bool records)
      : range_(range), records_(records) {
    const Plan& plan = arguments.plan;
    if (plan.cut == Cut::none) {
      token_ = range;
      end_ = blocks(arguments.call, token_);
    } else if (plan.cut == Cut::even) {
      open(Ranges(plan, even_length(plan, arguments.call.problem.tokens)));
      token_ = begin_ / even_line(plan, 1);
      at_ = even_line(plan, token_);
    } else {
      find(arguments);
    }
  }

  // The next part, if there is one more.
  DSAKIT_DEVICE bool next(const AttentionArguments& arguments, Part& part) {
    while (at_ < end_) {
      const std::int32_t all = blocks(arguments.call, token_);
      part.token = static_cast<std::uint32_t>(token_);
      part.first = begin_ > at_ ? begin_ - at_ : 0;
      part.last = end_ - at_ < all ? end_ - at_ : all;
      part.slot = range_ * kRangeSlots + (part.first == 0 ? 1 : 0);
      if (part.first == 0 && part.last == all) part.slot = -1;
      if (part.first == 0 && records_ && arguments.plan.cut == Cut::by_length)
        arguments.partials.lines[token_] = at_;
      ++token_;
      at_ += all + kTurn;
      if (part.first < part.last) return true;
    }
    return false;
  }

 private:
  DSAKIT_DEVICE static std::int32_t blocks(const Call& call, std::int32_t token) {
    return blocks_of(key_list(call, static_cast<std::uint32_t>(token)).count);
  }

  DSAKIT_DEVICE void open(const Ranges& ranges) {
    if (range_ >= ranges.count) return;
    begin_ = ranges.start(range_);
    end_ = ranges.start(range_ + 1);
  }

  // The range on a line as the lengths are: each lane adds up neighbouring tokens, and the one that
  // has the first of the range says which it is.
  DSAKIT_DEVICE void find(const AttentionArguments& arguments) {
    const Call& call = arguments.call;
    const std::int32_t tokens = call.problem.tokens, each = (tokens + kWave - 1) / kWave;
    std::int32_t token = thread_id() % kWave * each;
    const std::int32_t last = token + each < tokens ? token + each : tokens;
    std::int32_t mine = 0;
    for (std::int32_t i = token; i < last; ++i) mine += blocks(call, i) + kTurn;
    const WaveSum sum = wave_sum(mine);
    const std::int32_t length = wave_first(sum.all) - kTurn;
    if (records_ && range_ == 0) arguments.partials.lines[tokens] = length;
    open(Ranges(arguments.plan, length));
    std::int32_t at = sum.before;
    const bool owns = at <= begin_ && begin_ < at + mine;
    while (owns && at + blocks(call, token) + kTurn <= begin_) at += blocks(call, token++) + kTurn;
    token_ = wave_first(wave_sum(owns ? token : 0).all);
    at_ = wave_first(wave_sum(owns ? at : 0).all);
  }

  const std::int32_t range_;
  const bool records_;
  // Places on the line: the range, and where `token_` begins.
  std::int32_t begin_ = 0, end_ = 0, at_ = 0, token_ = 0;
};

}  // namespace dsakit::hip
