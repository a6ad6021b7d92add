// L4, values: what keys, scales and logits may be. Outputs only; LSE conventions come later.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "dsakit/kv_layout.hpp"
#include "sdk/conformance/check.hpp"

namespace dsakit::conformance {
namespace {

const KvLayout& layout_of(const Trial& trial) {
  return *find_kv_layout(trial.row().layout());
}

void basic(Trial& trial) {
  if (!trial.ready()) return;
  // Flat logits, which forgive an imprecise key: numerics.scales does not.
  for (const std::int64_t batch : {1, 3})
    trial.each_phase([&](Description& d) {
      d.batch = batch;
      d.q_amplitude *= 0.5F;
    });
}

// Keys whose groups differ by many powers of ten, within a row and from row to row.
void mix_scales(Problem& p) {
  const KvLayout& layout = *p.codec_pool(0).layout;
  const auto group = static_cast<std::size_t>(layout.group > 0 ? layout.group : 128);
  const std::int64_t slots = p.codec_pool(0).slots();
  std::mt19937 random(29);
  std::vector<float> key(static_cast<std::size_t>(p.config.d_qk));
  for (std::int64_t slot = 0; slot < slots; ++slot) {
    for (std::size_t i = 0; i < key.size(); ++i) {
      const auto power = (static_cast<std::size_t>(slot) * 5 + i / group * 3) % 11;
      key[i] = normal(random, std::pow(10.0F, static_cast<float>(power) - 6));
    }
    p.set_key(0, slot, key);
  }
}

// Peaked logits make a small error of a scale visible; 1e5 is beyond fp16.
void scales(Trial& trial) {
  if (!trial.ready()) return;
  if (layout_of(trial).scale == KvScale::none) return trial.skip("the layout has no scales");
  for (const char* rule : {"any", "pow2_fp32"})
    for (const float amplitude : {1.0F, 37.0F, 1e-5F, 1000.0F, 1e5F})
      trial.each_phase([&](Description& d) {
        d.kv_scale = rule;
        d.kv_amplitude = amplitude;
        d.q_amplitude = 12.0F / amplitude;
        trial.make_small(d);
        d.seed = static_cast<unsigned>(amplitude) + 5;
      });
  for (const float scale : {1e-4F / 448, 0.0371F, 1.0F, 3.0F})
    trial.each_phase([&](Description& d) {
      d.tensor_scale = scale;
      d.kv_amplitude = std::max(d.kv_amplitude, 100 * scale);
      d.q_amplitude = 12.0F / d.kv_amplitude;
      trial.make_small(d);
    });
  trial.each_phase(
      [&](Description& d) {
        d.kv_amplitude = 1e4F;
        d.q_amplitude = 12.0F / d.kv_amplitude;
        d.tensor_scale = 32.0F;
        trial.make_small(d);
      },
      mix_scales);
  // A group of zeros has a scale, too.
  trial.each_phase([](Description&) {},
                   [&](Problem& p) {
                     std::vector<float> key(static_cast<std::size_t>(p.config.d_qk), 0.5F);
                     std::fill_n(key.begin(), 128, 0.0F);
                     for (std::int64_t j = 0; j < p.description().topk; j += 3)
                       if (!p.description().ragged) p.set_key(0, p.index(0, 0, j), key);
                   });
}

// Every code in every lane; NaN codes are left out.
void write_codes(Problem& p) {
  const kvcache::Pool pool = p.codec_pool(0);
  const KvLayout& layout = *pool.layout;
  for (std::int64_t slot = 0; slot < pool.slots(); ++slot) {
    const kvcache::RowAddress row = kvcache::row_address(pool, slot);
    for (std::int64_t i = 0; i < layout.latent; ++i) {
      const auto code = static_cast<int>((slot * 61 + i) & 255);
      const bool nan = layout.element == KvElement::e4m3fnuz ? code == 128 : (code & 127) == 127;
      row.data[i] = static_cast<std::byte>(nan ? 8 : code);
    }
    if (layout.rope > 0)
      std::memset(row.data + layout.rope_offset, 0, 2U * static_cast<unsigned>(layout.rope));
    for (std::int64_t g = 0; layout.group > 0 && g < layout.latent / layout.group; ++g) {
      const float scale = std::ldexp(1.0F, static_cast<int>(slot + g) % 5 - 6);
      if (layout.scale == KvScale::group_fp32) std::memcpy(row.scale + 4 * g, &scale, 4);
      if (layout.scale == KvScale::group_ue8m0)
        row.scale[g] = static_cast<std::byte>(121 + (slot + g) % 5);
    }
  }
}

void fp8_codes(Trial& trial) {
  if (!trial.ready()) return;
  if (layout_of(trial).element == KvElement::bf16) return trial.skip("the layout is bf16");
  trial.each_phase(
      [](Description& d) {
        d.q_amplitude = 0.01F;
        d.kv_amplitude = 16.0F;
        d.tensor_scale = 0.03125F;
      },
      write_codes);
}

// Rope of 1000 and a latent of 100: beyond what fp16 arithmetic holds.
void magnitudes(Trial& trial) {
  if (!trial.ready()) return;
  const auto edit = [](Description& d) {
    d.q_amplitude = 0.003F;
    d.kv_amplitude = 100.0F;
    d.tensor_scale = 2.0F;
  };
  trial.each_phase(edit, [](Problem& p) {
    std::mt19937 random(3);
    std::vector<float> key(static_cast<std::size_t>(p.config.d_qk));
    const auto latent = static_cast<std::size_t>(p.codec_pool(0).layout->latent);
    const std::int64_t slots = p.codec_pool(0).slots();
    for (std::int64_t slot = 0; slot < slots; ++slot) {
      for (std::size_t i = 0; i < key.size(); ++i) key[i] = normal(random, i < latent ? 100 : 1000);
      p.set_key(0, slot, key);
    }
  });
  trial.each_phase([](Description& d) { d.q_amplitude = d.kv_amplitude = 1e-3F; });
}

// Keys whose logits are `logit(j)` for entry j, for every token and head.
void shape_logits(Problem& p, float (*logit)(std::int64_t j, std::int64_t count)) {
  const Description& d = p.description();
  std::mt19937 random(11);
  std::vector<float> key(static_cast<std::size_t>(p.config.d_qk));
  for (std::int64_t token = 0; token < p.tokens(); ++token)
    for (std::int64_t head = 0; head < d.heads; ++head)
      for (std::int64_t c = 0; c < p.config.d_qk; ++c)
        p.set_query(token, head, c, c < 2 ? 1.0F : 0.0F);
  p.args.sm_scale = 1.0F;
  for (std::int64_t token = 0; token < p.tokens(); ++token)
    for (std::int64_t j = 0; j < d.topk; ++j) {
      for (float& value : key) value = normal(random, 1.0F);
      // Two elements that every layout stores with little error add up to the logit.
      key[0] = logit(j, d.topk);
      key[1] = 0.0F;
      p.set_key(0, p.index(0, token, j), key);
    }
}

void logits(Trial& trial, float (*logit)(std::int64_t, std::int64_t)) {
  if (!trial.ready()) return;
  std::vector<std::int64_t> widths{640};
  if (trial.full()) widths = {64, 640, 2048};
  for (const std::int64_t topk : trial.row().accepted("topk", widths))
    trial.each_phase(
        [&](Description& d) {
          if (d.ragged) return;
          d.topk = topk;
          d.batch = 1;
          d.kv_amplitude = 1.0F;
          trial.make_small(d);
          d.pages = 2 * topk / d.page_size + 1;
          d.tensor_scale = 0.25F;
        },
        [&](Problem& p) {
          if (!p.description().ragged) shape_logits(p, logit);
        });
}

void rising(Trial& trial) {
  logits(trial, [](std::int64_t j, std::int64_t count) {
    return 100.0F * static_cast<float>(j) / static_cast<float>(count);
  });
}
void last_key(Trial& trial) {
  logits(trial, [](std::int64_t j, std::int64_t count) { return j + 1 == count ? 20.0F : -10.0F; });
}
void equal_keys(Trial& trial) {
  logits(trial, [](std::int64_t, std::int64_t) { return 1.0F; });
}
// One key 2^-17 of the rest is not dropped: 12 = 17 ln 2.
void small_key(Trial& trial) {
  logits(trial, [](std::int64_t j, std::int64_t) { return j == 3 ? -12.0F : 0.0F; });
}
void negative(Trial& trial) {
  logits(trial, [](std::int64_t j, std::int64_t) { return -200.0F - static_cast<float>(j % 7); });
}

void peaked(Trial& trial) {
  if (!trial.ready()) return;
  trial.each_phase([](Description& d) { d.q_amplitude = 80.0F; });
  trial.each_phase([](Description& d) { d.q_amplitude = 1e-4F; });
}

constexpr Check kValueChecks[] = {{"numerics.basic", 4, Scope::row, basic},
                                  {"numerics.scales", 4, Scope::row, scales},
                                  {"numerics.fp8_codes", 4, Scope::row, fp8_codes},
                                  {"numerics.magnitudes", 4, Scope::row, magnitudes},
                                  {"numerics.peaked", 4, Scope::row, peaked},
                                  {"numerics.rising_logits", 4, Scope::row, rising},
                                  {"numerics.last_key", 4, Scope::row, last_key},
                                  {"numerics.equal_keys", 4, Scope::row, equal_keys},
                                  {"numerics.small_key", 4, Scope::row, small_key},
                                  {"numerics.negative_logits", 4, Scope::row, negative}};

}  // namespace

std::span<const Check> value_checks() {
  return kValueChecks;
}

}  // namespace dsakit::conformance
