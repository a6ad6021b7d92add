// Sparse MLA attention as plainly as it can be written: two layouts, one of them this backend's
// own. A real kernel replaces attend(); everything around it stays.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include <sdk/plugin.hpp>
#include <sdk/run_view.hpp>

namespace {

using dsakit::KvLayout;
using namespace dsakit::sdk;

// Not in dsakit's table: a plugin may bring its own layout, and tells the SDK its sizes.
constexpr KvLayout kInt8{.name = "acme_int8_580",
                         .element = dsakit::KvElement::e4m3fn,  // any 8-bit element
                         .token_bytes = 580,
                         .latent = 576,
                         .row_bytes = 580,
                         .d_v = 512};

float from_bf16(const std::byte* at) {
  std::uint16_t half = 0;
  std::memcpy(&half, at, sizeof(half));
  const std::uint32_t bits = std::uint32_t{half} << 16;
  float value = 0;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

// To nearest even, as the contract asks.
std::uint16_t to_bf16(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  if (std::isnan(value)) return 0x7FC0;
  return static_cast<std::uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

class Toy {
 public:
  Toy(const Config& config, const KvLayout& layout) : config_(config), layout_(layout) {}

  static dsakit_rc probe(std::int32_t type, std::int32_t id, Error& error) {
    if (type == kDLCPU && id == 0) return DSAKIT_RC_OK;
    return error.fail(DSAKIT_RC_NO_DEVICE, "acme.toy runs on the cpu");
  }

  // Takes what the manifest says and nothing else: the solver asks only for that, but a host may
  // call create without asking the solver.
  static dsakit_rc create(const Config& c, std::unique_ptr<Toy>& made, Error& error) {
    if (const dsakit_rc rc = probe(c.device_type, c.device_id, error); rc != DSAKIT_RC_OK)
      return rc;
    const bool int8 = c.kv_layout == kInt8.name;
    bool served = int8 || c.kv_layout == "bf16_1152";
    served = served && c.d_qk == 576 && c.d_v == 512 && c.heads <= 128 && c.topk <= 8192;
    served = served && (c.phase == "prefill" || c.phase == "decode") && c.index_kpool == 1;
    served = served && !c.ragged && !c.fp8_compute && c.dims.empty();
    served = served && c.kv_scale == ScaleKind::any && c.invalid_index == "any_out_of_range";
    served = served && c.q_dtype.code == kDLBfloat && c.out_dtype.code == kDLBfloat;
    served = served && c.lse == LseBase::natural && !c.lse_with_sink && std::isinf(c.lse_empty);
    served = served && std::ranges::all_of(c.features, [](const std::string& name) {
               return name == "attn_sink" || name == "topk_length";
             });
    if (!served) return error.fail(DSAKIT_RC_UNSUPPORTED, "no row of acme.toy serves this");
    made = std::make_unique<Toy>(c, int8 ? kInt8 : *c.layout);
    return DSAKIT_RC_OK;
  }

  // The logits of one token and head: run may not allocate.
  dsakit_rc workspace(std::int64_t tokens, dsakit_workspace& answer, Error& error) const {
    if (tokens < 0 || tokens > config_.max_tokens)
      return error.fail(DSAKIT_RC_INVALID, "tokens is outside 0 ... max_tokens");
    answer.bytes = static_cast<std::uint64_t>(config_.topk) * sizeof(float);
    answer.alignment = alignof(float);
    answer.zero_bytes = 0;
    return DSAKIT_RC_OK;
  }

  // check_run() refuses every call that the contract does not allow, so attend() may trust the
  // view.
  dsakit_rc run(const dsakit_run_args& args, Error& error) {
    RunView view;
    if (const dsakit_rc rc = check_run(config_, layout_, args, view, error); rc != DSAKIT_RC_OK)
      return rc;
    const std::uint64_t bytes = static_cast<std::uint64_t>(config_.topk) * sizeof(float);
    if (const dsakit_rc rc = check_workspace(args, bytes, alignof(float), error);
        rc != DSAKIT_RC_OK)
      return rc;
    auto* logits = static_cast<float*>(args.workspace);
    for (std::int64_t token = 0; token < view.tokens; ++token)
      for (std::int64_t head = 0; head < view.heads; ++head) attend(view, token, head, logits);
    return DSAKIT_RC_OK;
  }

 private:
  // Element d of the key in a slot.
  float key(const CacheView& cache, std::int64_t slot, int d) const {
    const std::byte* row = cache.data + slot / cache.page_size * cache.page_stride +
                           slot % cache.page_size * cache.row_stride;
    if (layout_.name != kInt8.name) return from_bf16(row + 2 * d);
    float scale = 0;
    std::memcpy(&scale, row + 576, sizeof(scale));
    return static_cast<float>(static_cast<std::int8_t>(row[d])) * scale;
  }

  static std::int64_t integer(const std::byte* at, bool wide) {
    std::int64_t number = 0;
    std::int32_t narrow = 0;
    if (wide) {
      std::memcpy(&number, at, sizeof(number));
      return number;
    }
    std::memcpy(&narrow, at, sizeof(narrow));
    return narrow;
  }

  // Slot of entry j; -1 if it is no key.
  static std::int64_t slot_of(const CacheView& cache, std::int64_t token, std::int64_t j) {
    const std::byte* row = cache.indices + cache.index_row(token);
    const std::int64_t slot = integer(row + j * (cache.wide_indices ? 8 : 4), cache.wide_indices);
    return slot >= 0 && slot < cache.slots() ? slot : -1;
  }

  void attend(const RunView& view, std::int64_t token, std::int64_t head, float* logits) const {
    constexpr float kInf = std::numeric_limits<float>::infinity();
    const CacheView& cache = view.cache[0];
    std::int64_t count = cache.topk;
    if (cache.length != nullptr)
      count = std::clamp<std::int64_t>(
          integer(cache.length + token / cache.tokens_per_length * cache.length_stride, false), 0,
          cache.topk);
    const std::byte* q = view.q + view.q_token(token) + head * view.q_head;
    float max = -kInf;
    bool any = false;
    for (std::int64_t j = 0; j < count; ++j) {
      const std::int64_t slot = slot_of(cache, token, j);
      if (slot < 0) continue;
      float dot = 0;
      for (int d = 0; d < 576; ++d) dot += from_bf16(q + 2 * d) * key(cache, slot, d);
      logits[j] = dot * view.sm_scale;
      max = std::max(max, logits[j]);
      any = true;
    }
    float sums[512] = {};
    float total = 0;
    for (std::int64_t j = 0; j < count; ++j) {
      const std::int64_t slot = slot_of(cache, token, j);
      if (slot < 0) continue;  // its row is never read: it may hold NaN
      const float weight = std::exp(logits[j] - max);
      total += weight;
      for (int d = 0; d < 512; ++d) sums[d] += weight * key(cache, slot, d);
    }
    write(view, token, head, any, max, total, sums);
  }

  void write(const RunView& view, std::int64_t token, std::int64_t head, bool any, float max,
             float total, const float* sums) const {
    float sink = 0;
    if (view.sink != nullptr) {
      std::memcpy(&sink, view.sink + head * view.sink_stride, sizeof(sink));
      sink = std::exp(sink - max);
    }
    std::byte* out = view.out + view.out_token(token) + head * view.out_head;
    for (int d = 0; d < 512; ++d) {
      const std::uint16_t half = to_bf16(any ? sums[d] / (total + sink) : 0.0F);
      std::memcpy(out + 2 * d, &half, sizeof(half));
    }
    if (view.lse == nullptr) return;
    const float lse = any ? max + std::log(total) : config_.lse_empty;
    std::memcpy(view.lse + view.lse_token(token) + head * view.lse_head, &lse, sizeof(lse));
  }

  Config config_;
  KvLayout layout_;
};

}  // namespace

DSAKIT_PLUGIN(Toy)
