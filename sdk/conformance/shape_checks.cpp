// L4, shapes: heads, tokens, batches, pages, strides, pools beyond 4 GiB, and everything at once.
#include <algorithm>
#include <cstring>

#include "sdk/conformance/check.hpp"

namespace dsakit::conformance {
namespace {

std::int64_t pages_for(std::int64_t slots, std::int64_t page_size) {
  return (slots + page_size - 1) / page_size + 1;
}

void heads(Trial& trial) {
  if (!trial.ready()) return;
  std::vector<std::int64_t> counts{1, 8, 24, 48, 64, 128};
  if (trial.full())
    counts = {1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 24, 32, 33, 48, 63, 64, 65, 96, 128, 129, 192, 256};
  for (const std::int64_t count : trial.row().accepted("heads", counts))
    trial.each_phase([&](Description& d) {
      d.heads = count;
      d.batch = count > 32 && !trial.full() ? 1 : 2;
    });
}

void page_sizes(Trial& trial) {
  if (!trial.ready()) return;
  std::vector<std::int64_t> sizes{1, 2, 53, 64, 576};
  if (trial.full()) sizes = {1, 2, 16, 53, 57, 61, 64, 69, 128, 256, 576};
  for (const std::int64_t size : trial.row().accepted("page_size", sizes))
    trial.each_phase([&](Description& d) {
      d.page_size = size;
      d.pages = pages_for(2 * d.topk, size);
      d.unselected_nan = true;
    });
  for (const std::int64_t one : trial.row().accepted("page_size", {1})) {
    if (find_kv_layout(trial.row().layout())->footer()) break;
    trial.each_phase([&](Description& d) {
      d.page_size = one;
      d.pages = 2 * d.topk;
      d.flat_cache = d.odd_strides = true;
    });
  }
}

// Gaps between pages, rows, tokens and heads; tensors that start inside their memory; [b, s, ...].
void strides(Trial& trial) {
  if (!trial.ready()) return;
  for (const bool nested : {false, true})
    trial.each_phase([&](Description& d) {
      d.odd_strides = d.unselected_nan = true;
      d.base_offset = 16;
      d.nested = nested;
      d.s_q = nested ? 2 : 1;
      d.lse = d.lse_base != "none";
    });
}

// Pages so far apart that offsets pass 2^31 elements and 2^32 bytes.
void large_pool(Trial& trial) {
  if (!trial.ready()) return;
  trial.each_phase([&](Description& d) {
    d.batch = 1;
    d.page_gap =
        ((std::int64_t{5} << 30) / std::max<std::int64_t>(d.pages - 1, 1) / 1152 + 1) * 1152;
    d.unselected_nan = true;
  });
}

void tokens(Trial& trial) {
  if (!trial.ready()) return;
  for (const std::int64_t s_q : {2, 3, 4, 8})
    trial.each_phase([&](Description& d) {
      d.s_q = s_q;
      d.batch = 2;
      d.nested = s_q != 3;
      trial.make_small(d);
    });
  for (const bool nested : {false, true}) {
    Description d = trial.row().base(trial.row().phases().front());
    d.batch = nested ? 2 : 0;
    d.s_q = nested ? 0 : 1;
    d.nested = nested;
    if (nested) continue;
    Problem none(d);
    if (trial.run(none)) trial.expect(none.outputs_untouched(), "T = 0: run wrote something");
  }
}

void batches(Trial& trial) {
  if (!trial.ready()) return;
  std::vector<std::int64_t> sizes{7, 33};
  if (trial.full()) sizes = {2, 5, 17, 31, 32, 33, 64, 65, 67, 131, 132, 133, 256, 300};
  const auto edit = [&](Description& d, std::int64_t size) {
    d.batch = size;
    trial.make_small(d);
    d.distinct = false;
    d.pages = pages_for(d.topk, d.page_size);
  };
  for (const std::int64_t size : sizes) trial.each_phase([&](Description& d) { edit(d, size); });
  // Every edge that a division of work may have.
  for (std::int64_t size = 1; trial.large() && size <= 300; size += size < 140 ? 1 : 7) {
    Description d = trial.row().base(trial.row().phases().front());
    edit(d, size);
    trial.exact(d);
  }
}

struct Shape {
  std::int64_t keys, topk;
};

void prefill_shapes(Trial& trial) {
  if (!trial.ready()) return;
  const auto& phases = trial.row().phases();
  if (std::ranges::find(phases, "prefill") == phases.end())
    return trial.skip("the row does not serve prefill");
  std::vector<Shape> shapes{{592, 128}, {95, 128}, {114, 384}, {32, 512}};
  if (trial.full())
    shapes = {{128, 128},  {256, 256},  {512, 512},   {592, 128},  {1840, 256},
              {1592, 384}, {1521, 512}, {95, 128},    {153, 256},  {114, 384},
              {32, 2048},  {64, 8192},  {4321, 4096}, {2048, 2048}};
  std::vector<std::int64_t> counts{9};
  if (trial.full()) counts = {1, 62};
  if (trial.large()) counts.push_back(213);
  for (const auto& [keys, topk] : shapes)
    for (const std::int64_t tokens : counts) {
      Description d = trial.row().base("prefill");
      trial.make_small(d);
      d.batch = tokens;
      d.topk = topk;
      d.pages = std::max<std::int64_t>(keys / d.page_size, 1);
      d.distinct = false;
      d.unselected_nan = true;
      d.invalid = d.invalid_index == "none" ? 0.0
                  : keys < topk ? 1.0 - static_cast<double>(keys) / static_cast<double>(topk)
                                : 0.05;
      d.lse = d.lse_base != "none";
      trial.exact(d);
    }
}

void decode_shape(Trial& trial, const Shape& shape, std::int64_t batch, std::int64_t heads,
                  std::int64_t page_size) {
  for (const std::int64_t s_q : {1, 3}) {
    Description d = trial.row().base("decode");
    d.batch = batch;
    trial.make_small(d);
    if (heads > 0) d.heads = heads;
    if (page_size > 0) d.page_size = page_size;
    d.s_q = s_q;
    d.nested = true;
    d.topk = shape.topk;
    d.pages = pages_for(shape.keys, d.page_size);
    d.distinct = false;
    d.unselected_nan = true;
    d.lse = d.lse_base != "none";
    trial.exact(d);
  }
}

void decode_shapes(Trial& trial) {
  if (!trial.ready()) return;
  const auto& phases = trial.row().phases();
  if (std::ranges::find(phases, "decode") == phases.end())
    return trial.skip("the row does not serve decode");
  std::vector<Shape> shapes{{512, 64}, {1024, 576}};
  if (trial.full()) shapes.push_back({2046, 2048});
  for (const Shape& shape : shapes) {
    decode_shape(trial, shape, trial.full() ? 74 : 1, 0, 0);
    if (!trial.large()) continue;
    for (const std::int64_t heads : trial.row().accepted("heads", {8, 24, 48, 64, 96, 128}))
      decode_shape(trial, shape, 4, heads, 0);
    for (const std::int64_t page_size : trial.row().accepted("page_size", {2, 61, 64, 69, 576}))
      decode_shape(trial, shape, 4, 0, page_size);
    for (const std::int64_t heads : trial.row().accepted("heads", {64, 128}))
      for (const std::int64_t batch : {74, 321}) decode_shape(trial, shape, batch, heads, 0);
  }
}

// All hazards at once, in every phase, drawn at random.
void mixed(Trial& trial) {
  if (!trial.ready()) return;
  const int rounds = trial.full() ? 60 : 3;
  for (const std::string& phase : trial.row().phases())
    for (int round = 0; round < rounds; ++round) {
      Description d = trial.row().base(phase);
      const auto keep = [&](auto edit) {
        Description with = d;
        edit(with);
        if (trial.row().accepts(with)) d = with;
      };
      std::mt19937 random(static_cast<unsigned>(round) * 7919 + 17);
      const auto draw = [&](std::int64_t n) {
        return static_cast<std::int64_t>(random() % static_cast<unsigned>(n));
      };
      d.seed = static_cast<unsigned>(random());
      d.unselected_nan = d.odd_strides = d.decoy_gaps = true;
      d.base_offset = 16 * draw(3);
      d.batch = 1 + draw(trial.full() ? 5 : 2);
      d.s_q = 1 + draw(trial.full() ? 3 : 2);
      d.nested = draw(2) == 0;
      d.wide_indices = draw(2) == 0;
      d.invalid = d.invalid_index == "none" ? 0.0 : 0.2 * static_cast<double>(draw(3));
      d.distinct = false;
      d.lse = d.lse_base != "none";
      keep([&](Description& w) { w.heads = 1 + draw(trial.full() ? 130 : 20); });
      keep([&](Description& w) { w.topk = 1 + draw(trial.full() ? 600 : 150); });
      keep([&](Description& w) { w.page_size = 1 + draw(80); });
      keep([&](Description& w) { w.sink = draw(2) == 0; });
      keep([&](Description& w) { w.max_logits = draw(2) == 0; });
      keep([&](Description& w) { w.lengths = draw(2) == 0; });
      keep([&](Description& w) { w.lse_sink = draw(2) == 0 ? "included" : w.lse_sink; });
      keep([&](Description& w) {
        w.topk2 = w.topk;
        w.page_size2 = w.page_size;
        w.pages2 = pages_for(w.topk, w.page_size);
      });
      d.pages = pages_for(d.topk, d.page_size);
      trial.exact(d);
    }
}

constexpr Check kShapeChecks[] = {{"numerics.heads", 4, Scope::row, heads},
                                  {"numerics.page_sizes", 4, Scope::row, page_sizes},
                                  {"numerics.strides", 4, Scope::row, strides},
                                  {"numerics.large_pool", 4, Scope::row, large_pool},
                                  {"numerics.tokens", 4, Scope::row, tokens},
                                  {"numerics.batches", 4, Scope::row, batches},
                                  {"numerics.decode_shapes", 4, Scope::row, decode_shapes},
                                  {"numerics.prefill_shapes", 4, Scope::row, prefill_shapes},
                                  {"numerics.mixed", 4, Scope::row, mixed}};

}  // namespace

std::span<const Check> shape_checks() {
  return kShapeChecks;
}

}  // namespace dsakit::conformance
