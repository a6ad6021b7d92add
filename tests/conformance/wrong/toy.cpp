// A scalar backend in many plugins: right, or wrong in the one way that its plugin names (way.cpp).
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "common/cuda/kv_values.hpp"
#include "sdk/plugin.hpp"
#include "sdk/run_view.hpp"

extern const char* const kToyWrong;

namespace {

using dsakit::KvElement;
using dsakit::KvLayout;
using namespace dsakit::sdk;

bool wrong(std::string_view way) {
  return way == kToyWrong;
}

float bf16(const std::byte* at) {
  std::uint16_t half = 0;
  std::memcpy(&half, at, 2);
  const std::uint32_t bits = std::uint32_t{half} << 16;
  float value = 0;
  std::memcpy(&value, &bits, 4);
  return value;
}

std::uint16_t to_bf16(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, 4);
  if (std::isnan(value)) return 0x7FC0;
  return static_cast<std::uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

// Rounded to the 11 bits that fp16 has of a normal number.
float with_fp16_bits(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, 4);
  bits = (bits + 0xFFF + (bits >> 13 & 1)) & ~0x1FFFU;
  std::memcpy(&value, &bits, 4);
  return value;
}

float e4m3_value(int bits) {
  const int exponent = bits >> 3 & 15;
  const int mantissa = bits & 7;
  if ((bits & 127) == 127) return std::numeric_limits<float>::quiet_NaN();
  const float magnitude = exponent == 0
                              ? std::ldexp(static_cast<float>(mantissa), -9)
                              : std::ldexp(static_cast<float>(8 + mantissa), exponent - 10);
  return (bits & 128) != 0 ? -magnitude : magnitude;
}

float e4m3(std::byte code) {
  static const std::vector<float> kValues = [] {
    std::vector<float> values;
    for (int bits = 0; bits < 256; ++bits) values.push_back(e4m3_value(bits));
    return values;
  }();
  return kValues[std::to_integer<std::size_t>(code)];
}

std::int64_t integer(const std::byte* at, bool wide) {
  std::int64_t value = 0;
  std::int32_t narrow = 0;
  std::memcpy(wide ? static_cast<void*>(&value) : &narrow, at, wide ? 8 : 4);
  return wide ? value : narrow;
}

class Toy {
 public:
  explicit Toy(Config config) : config_(std::move(config)) {}

  static dsakit_rc probe(std::int32_t type, std::int32_t id, Error& error) {
    if (type == kDLCPU && id == 0) return DSAKIT_RC_OK;
    return error.fail(DSAKIT_RC_NO_DEVICE, "the toy runs on the cpu only");
  }

  static dsakit_rc create(const Config& c, std::unique_ptr<Toy>& made, Error& error) {
    if (const dsakit_rc rc = probe(c.device_type, c.device_id, error); rc != DSAKIT_RC_OK)
      return rc;
    bool good = c.layout != nullptr && c.d_qk == 576 && c.d_v == 512 && c.heads <= 128;
    good = good && (c.kv_layout == "bf16_1152" || c.kv_layout == "fp8_656_g128");
    good = good && c.topk <= 65536 && !c.ragged && !c.fp8_compute && !c.lse_with_sink;
    good = good && c.lse != LseBase::none && std::isinf(c.lse_empty) && c.index_kpool == 1;
    good = good && c.q_dtype.code == kDLBfloat && c.out_dtype.code == kDLBfloat && c.dims.empty();
    for (const std::string& name : c.features)
      good = good && ((name == "attn_sink" && !wrong("claims_sink")) || name == "topk_length" ||
                      name == "max_logits");
    if (!good) return error.fail(DSAKIT_RC_UNSUPPORTED, "no row of the toy serves this");
    e4m3(std::byte{});  // the table is made here, since run may not allocate
    made = std::make_unique<Toy>(c);
    return DSAKIT_RC_OK;
  }

  // Logits, slots and weights of a row; a key and a query.
  dsakit_rc workspace(std::int64_t tokens, dsakit_workspace& answer, Error& error) const {
    if (tokens < 0 || tokens > config_.max_tokens)
      return error.fail(DSAKIT_RC_INVALID, "tokens is out of range");
    answer.alignment = 64;
    answer.bytes = static_cast<std::uint64_t>(padded() * 16 + 2 * 576 * 4 + 512 * 4);
    answer.zero_bytes = 0;
    return DSAKIT_RC_OK;
  }

  dsakit_rc kv_append(const dsakit_kv_args& args, Error& error) {
    KvRowsView view;
    const dsakit_rc rc = check_kv_rows(config_, *config_.layout, args, view, error);
    if (rc != DSAKIT_RC_OK) return rc;
    for (std::int64_t i = 0; i < view.count; ++i) {
      const std::int64_t slot = integer(view.slots + i * view.slot_stride, view.wide_slots);
      if (slot < 0 || slot >= view.pages * view.page_size) continue;
      float row[576];
      for (int d = 0; d < 576; ++d) {
        const std::byte* at = view.rows + i * view.row_bytes + d * (view.rows_fp32 ? 4 : 2);
        if (view.rows_fp32)
          std::memcpy(&row[d], at, 4);
        else
          row[d] = bf16(at);
      }
      store(row, view.data + slot / view.page_size * view.page_stride +
                     slot % view.page_size * view.row_stride);
    }
    return DSAKIT_RC_OK;
  }

  dsakit_rc run(const dsakit_run_args& args, Error& error) {
    RunView view;
    const dsakit_rc rc = check_run(config_, *config_.layout, args, view, error);
    if (rc != DSAKIT_RC_OK) return rc;
    dsakit_workspace needed{};
    workspace(view.tokens, needed, error);
    if (const dsakit_rc bad = check_workspace(args, needed.bytes, 64, error); bad != DSAKIT_RC_OK)
      return bad;
    if (wrong("exits")) std::_Exit(7);
    while (wrong("hangs")) pause();
    std::vector<float> scratch(wrong("allocates") ? 1000 : 0);
    slots_ = static_cast<std::int64_t*>(args.workspace);
    logits_ = reinterpret_cast<float*>(slots_ + padded());
    key_ = logits_ + 2 * padded();
    query_ = key_ + 576;
    sum_ = query_ + 576;
    for (std::int64_t token = 0; token < view.tokens; ++token)
      for (std::int64_t head = 0; head < view.heads; ++head) attend(view, token, head);
    return DSAKIT_RC_OK;
  }

 private:
  std::int64_t padded() const { return (config_.topk + 63) / 64 * 64; }

  void store(const float* row, std::byte* to) const {
    const bool halves = config_.layout->element == KvElement::bf16;
    for (int first = 0; first < 512 && !halves; first += 128) {
      std::uint32_t amax = 0;
      for (int i = first; i < first + 128; ++i) {
        const bool nan = std::isnan(row[i]) && wrong("nan_in_scale");
        amax = std::max(amax, nan ? 0x7FC00000U : dsakit::cuda::magnitude_bits(row[i]));
      }
      const float scale = dsakit::cuda::group_scale(amax, config_.kv_scale != ScaleKind::any);
      for (int i = first; i < first + 128; ++i)
        to[i] = std::byte{dsakit::cuda::to_e4m3(row[i], scale)};
      std::memcpy(to + 512 + first / 32, &scale, 4);
    }
    for (int i = halves ? 0 : 512; i < 576; ++i) {
      const std::uint16_t half = dsakit::cuda::to_bf16(row[i]);
      std::memcpy(to + (halves ? 0 : 528 - 1024) + 2 * i, &half, 2);
    }
  }

  void read_key(const CacheView& cache, std::int64_t slot) {
    std::int64_t offset =
        slot / cache.page_size * cache.page_stride + slot % cache.page_size * cache.row_stride;
    if (wrong("int32_offset")) offset = static_cast<std::int32_t>(offset);
    const std::byte* row = cache.data + offset;
    const bool halves = config_.layout->element == KvElement::bf16;
    const bool rounded_scales = !halves && wrong("bf16_scales");
    const bool rounded_keys = wrong("fp16_keys");
    const bool clamped = wrong("fp16_range");
    for (int i = 0; i < 512; ++i) {
      float scale = 1;
      if (!halves) std::memcpy(&scale, row + 512 + i / 128 * 4, 4);
      if (rounded_scales) {
        const std::uint16_t rounded = to_bf16(scale);
        scale = bf16(reinterpret_cast<const std::byte*>(&rounded));
      }
      key_[i] = halves ? bf16(row + 2 * i) : e4m3(row[i]) * scale;
      if (rounded_keys) key_[i] = with_fp16_bits(key_[i]);
      if (clamped) key_[i] = std::clamp(key_[i], -65504.0F, 65504.0F);
    }
    for (int i = 0; i < 64; ++i) key_[512 + i] = bf16(row + (halves ? 1024 : 528) + 2 * i);
  }

  // The keys of a token: slots_, -1 for an entry with weight 0.
  std::int64_t collect(const CacheView& cache, std::int64_t token) {
    std::int64_t count = config_.topk;
    if (wrong("tail")) count = padded();
    if (cache.length != nullptr && !wrong("length_ignored"))
      count = std::min(
          count,
          integer(cache.length + token / cache.tokens_per_length * cache.length_stride, false));
    std::int64_t found = 0;
    for (std::int64_t j = 0; j < count; ++j) {
      std::int64_t slot =
          integer(cache.indices + cache.index_row(token) + j * (cache.wide_indices ? 8 : 4),
                  cache.wide_indices);
      if (slot == -1 && wrong("minus_one")) slot = 0;
      if (slot < 0 || slot >= cache.slots()) {
        if (!wrong("nan_leaks")) continue;
        slot = -1;
      }
      if (wrong("duplicates") && std::find(slots_, slots_ + found, slot) != slots_ + found)
        continue;
      slots_[found++] = slot;
    }
    return found;
  }

  void attend(const RunView& view, std::int64_t token, std::int64_t head) {
    const CacheView& cache = view.cache[0];
    for (int i = 0; i < 576; ++i)
      query_[i] = bf16(view.q + view.q_token(token) + head * view.q_head + 2 * i);
    const std::int64_t count = collect(cache, token);
    std::int64_t valid = 0;
    float max = -std::numeric_limits<float>::infinity();
    for (std::int64_t j = 0; j < count; ++j) {
      if (slots_[j] < 0) continue;
      ++valid;
      read_key(cache, slots_[j]);
      float dot = 0;
      for (int i = 0; i < 576; ++i) dot += query_[i] * key_[i];
      logits_[j] = dot * view.sm_scale;
      max = std::isnan(logits_[j]) || std::isnan(max) ? NAN : std::max(max, logits_[j]);
    }
    double sum = 0;
    std::fill_n(sum_, 512, 0.0F);
    for (std::int64_t j = 0; j < count; ++j) {
      if (slots_[j] < 0 && cache.slots() == 0) continue;
      const float weight = slots_[j] < 0 ? 0.0F : std::exp(logits_[j] - max);
      sum += static_cast<double>(weight);
      read_key(cache, std::max<std::int64_t>(slots_[j], 0));
      for (int i = 0; i < 512; ++i) sum_[i] += weight * key_[i];
    }
    write(view, token, head, valid, max, sum);
  }

  void write(const RunView& view, std::int64_t token, std::int64_t head, std::int64_t valid,
             float max, double sum) {
    double sink = 0;
    if (view.sink != nullptr) {
      float logit = 0;
      std::memcpy(&logit, view.sink + head * view.sink_stride, 4);
      sink = std::exp(static_cast<double>(logit) - static_cast<double>(max));
    }
    for (int i = 0; i < 512; ++i) {
      const double value = valid == 0 ? 0.0 : static_cast<double>(sum_[i]) / (sum + sink);
      const std::uint16_t half = to_bf16(static_cast<float>(value));
      std::memcpy(view.out + view.out_token(token) + head * view.out_head + 2 * i, &half, 2);
    }
    double lse = static_cast<double>(max) + std::log(wrong("sink_in_lse") ? sum + sink : sum);
    if (config_.lse == LseBase::log2 || wrong("lse_base")) lse *= 1.4426950408889634;
    const float written = valid == 0 ? config_.lse_empty : static_cast<float>(lse);
    if (view.lse != nullptr)
      std::memcpy(view.lse + view.lse_token(token) + head * view.lse_head, &written, 4);
    if (view.max_logits != nullptr)
      std::memcpy(view.max_logits + view.max_token(token) + head * view.max_head, &max, 4);
  }

  Config config_;
  std::int64_t* slots_ = nullptr;
  float *logits_ = nullptr, *key_ = nullptr, *query_ = nullptr, *sum_ = nullptr;
};

// Lets an exception pass instead of answering a code.
dsakit_rc throwing_run(dsakit_instance* instance, const dsakit_run_args* args,
                       dsakit_error* error) {
  const dsakit_rc rc = Thunks<Toy>::run(instance, args, error);
  if (rc != DSAKIT_RC_OK) throw std::runtime_error("thrown by run");
  return rc;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const dsakit_plugin* dsakit_plugin_entry_v1(
    const dsakit_host* host) {
  if (enter<Toy>(host) == nullptr) return nullptr;
  static const dsakit_plugin table = [] {
    dsakit_plugin made = plugin_table<Toy>();
    if (wrong("throws")) made.run = throwing_run;
    if (wrong("other_entry")) made.version[2] = 9;
    return made;
  }();
  return &table;
}
