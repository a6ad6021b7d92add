// L4, index lists: which keys a token attends to, and which it must not even read.
#include <cmath>
#include <limits>

#include "sdk/conformance/check.hpp"

namespace dsakit::conformance {
namespace {

using Edit = void (*)(Description&);

void one_case(Trial& trial, Edit edit) {
  if (trial.ready()) trial.each_phase(edit);
}

void size_pool(Description& d) {
  d.pages = (2 * d.topk + d.page_size - 1) / d.page_size + 1;
}

// Few slots, many entries.
void duplicates(Trial& trial) {
  one_case(trial, [](Description& d) {
    d.distinct = false;
    d.pages = 8 / d.page_size + 1;
  });
}

// Behind each row lie valid slots: reading on changes the result.
void topk_tail(Trial& trial) {
  if (!trial.ready()) return;
  std::vector<std::int64_t> widths{1, 63, 65, 100, 133};
  if (trial.full()) widths.insert(widths.end(), {2, 31, 127, 129, 576, 1999, 2051});
  for (const std::int64_t topk : trial.row().accepted("topk", widths))
    trial.each_phase([&](Description& d) {
      d.topk = topk;
      d.odd_strides = d.decoy_gaps = true;
      size_pool(d);
    });
}

void invalid_index(Trial& trial) {
  if (!trial.ready()) return;
  for (const double share : {0.3, 0.95})
    trial.each_phase([&](Description& d) {
      d.invalid = d.invalid_index == "none" ? 0.0 : share;
      d.only_minus_one = true;
    });
  trial.each_phase([](Description& d) {
    if (d.invalid_index != "any_out_of_range") return;
    d.invalid = 0.5;
    d.only_minus_one = false;
  });
}

void topk_length(Trial& trial) {
  if (!trial.ready()) return;
  if (!trial.row().accepts_feature("topk_length"))
    return trial.skip("the row does not accept feature topk_length");
  for (const bool per_batch : {false, true})
    trial.each_phase([&](Description& d) {
      d.lengths = true;
      d.length_per_batch = per_batch;
      d.batch = 5;
      d.s_q = per_batch ? 2 : 1;
    });
  // Lengths beyond the row and below 0 count as all and none; what lies behind is garbage.
  trial.each_phase(
      [](Description& d) {
        d.lengths = true;
        d.batch = 4;
      },
      [](Problem& p) {
        const std::int64_t topk = p.description().topk;
        const std::int64_t lengths[] = {topk + 100, -5, 1, topk - 1};
        for (std::int64_t token = 0; token < 4; ++token) {
          write_integer(p.length[0], token, lengths[token]);
          for (std::int64_t j = std::max<std::int64_t>(lengths[token], 0); j < topk; ++j)
            p.set_index(0, token, j, std::numeric_limits<std::int32_t>::max());
        }
      });
}

void nan_unselected(Trial& trial) {
  if (!trial.ready()) return;
  trial.each_phase([](Description& d) {
    d.unselected_nan = d.odd_strides = true;
    d.invalid = d.invalid_index == "none" ? 0.0 : 0.3;
  });
  trial.each_phase([](Description& d) {
    d.unselected_nan = d.odd_strides = d.decoy_gaps = d.lengths = true;
    d.batch = 5;
  });
  for (const std::int64_t topk : trial.row().accepted("topk", {1, 65, 100}))
    trial.each_phase([&](Description& d) {
      d.unselected_nan = d.odd_strides = d.decoy_gaps = true;
      d.topk = topk;
      size_pool(d);
    });
}

// NaN in a key reaches the tokens that selected it and no other.
void nan_selected(Trial& trial) {
  if (!trial.ready()) return;
  trial.each_phase(
      [](Description& d) {
        d.batch = 4;
        d.pages = (5 * d.topk + d.page_size - 1) / d.page_size;
      },
      [](Problem& p) {
        if (p.description().ragged) return;
        const std::int64_t topk = p.description().topk;
        for (std::int64_t token = 0; token < 4; ++token)
          for (std::int64_t j = 0; j < topk; ++j) p.set_index(0, token, j, token * topk + j);
        const std::vector<float> nan(static_cast<std::size_t>(p.config.d_qk), NAN);
        p.set_key(0, 2 * topk + topk / 2, nan);
      });
}

void empty_rows(Trial& trial) {
  if (!trial.ready()) return;
  for (const char* value : {"plus_inf", "minus_large"})
    for (const double share : {0.0, 1.0})
      trial.each_phase([&](Description& d) {
        if (d.invalid_index == "none") return;
        d.lse_empty = value;
        d.lse = d.lse_base != "none";
        d.empty_token = 1;
        d.invalid = share;
        d.only_minus_one = true;
        d.unselected_nan = true;
      });
  trial.each_phase([](Description& d) {
    d.empty_token = 1;
    d.sink = true;
    d.lse = d.lse_base != "none";
    d.only_minus_one = true;
  });
  trial.each_phase([](Description& d) {
    if (d.invalid_index == "none") return;
    d.pages = 0;
    d.distinct = false;
    d.lse = d.lse_base != "none";
  });
}

void ragged(Trial& trial) {
  if (!trial.ready()) return;
  for (const bool wide : {false, true})
    trial.each_phase([&](Description& d) {
      d.ragged = true;
      d.wide_indices = wide;
      d.batch = 6;
      d.unselected_nan = true;
      d.invalid = d.invalid_index == "none" ? 0.0 : 0.1;
    });
}

// int32 or int64 entries, with or without the axis of heads: the same bits.
void index_forms(Trial& trial) {
  if (!trial.ready()) return;
  for (const std::string& phase : trial.phases()) {
    std::vector<std::byte> first;
    for (int form = 0; form < 4 && !trial.failed(); ++form) {
      Description d = trial.row().base(phase);
      d.wide_indices = (form & 1) != 0;
      d.head_axis = (form & 2) != 0 && !d.ragged;
      Problem problem(d);
      if (!trial.run(problem)) return;
      if (form == 0) first = problem.output_bytes();
      trial.expect(problem.output_bytes() == first,
                   describe(d) + ": another form of the same indices gives other bits");
    }
  }
}

void second_cache(Trial& trial) {
  if (!trial.ready()) return;
  if (!trial.row().accepts_feature("second_cache"))
    return trial.skip("the row does not accept feature second_cache");
  std::vector<std::int64_t> widths{64, 128};
  if (trial.full()) widths.insert(widths.end(), {512, 1024, 1664});
  const std::vector<std::int64_t> pages = trial.row().accepted("page_size", {2, 64});
  for (const std::int64_t topk2 : trial.row().accepted("topk", widths))
    for (const std::int64_t page_size : pages)
      for (const bool hazards : {false, true})
        trial.each_phase([&](Description& d) {
          d.topk2 = topk2;
          d.page_size2 = page_size;
          d.pages2 = 2 * topk2 / page_size + 1;
          d.lse = d.lse_base != "none";
          if (!hazards) return;
          d.lengths = trial.row().accepts_feature("topk_length");
          d.unselected_nan = d.odd_strides = true;
          d.batch = 6;
        });
  trial.each_phase([&](Description& d) {
    if (pages.empty() || d.invalid_index == "none") return;
    d.topk2 = d.topk;
    d.page_size2 = pages.front();
    d.pages2 = 2 * d.topk2 / d.page_size2 + 1;
    d.invalid = 1.0;
    d.only_minus_one = d.unselected_nan = true;
    d.lse = d.lse_base != "none";
  });
}

constexpr Check kListChecks[] = {{"numerics.duplicates", 4, Scope::row, duplicates},
                                 {"numerics.topk_tail", 4, Scope::row, topk_tail},
                                 {"numerics.invalid_index", 4, Scope::row, invalid_index},
                                 {"numerics.topk_length", 4, Scope::row, topk_length},
                                 {"numerics.nan_unselected", 4, Scope::row, nan_unselected},
                                 {"numerics.nan_selected", 4, Scope::row, nan_selected},
                                 {"numerics.empty_rows", 4, Scope::row, empty_rows},
                                 {"numerics.ragged", 4, Scope::row, ragged},
                                 {"numerics.index_forms", 4, Scope::row, index_forms},
                                 {"numerics.second_cache", 4, Scope::row, second_cache}};

}  // namespace

std::span<const Check> list_checks() {
  return kListChecks;
}

}  // namespace dsakit::conformance
