#include "sdk/conformance/reference.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>
#include <string_view>

namespace dsakit::conformance {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

std::string_view token_or(const char* text, std::string_view neutral) {
  return text == nullptr ? neutral : std::string_view(text);
}

// Address of element (token, rest...) of a tensor whose leading axes are the tokens: [T, ...] or
// [b, s, ...].
class TokenTensor {
 public:
  TokenTensor(const DLTensor& tensor, bool nested) : tensor_(tensor), nested_(nested) {}

  const unsigned char* at(std::int64_t token, std::int64_t i, std::int64_t j) const {
    const int first = nested_ ? 2 : 1;
    std::int64_t offset = 0;
    if (nested_)
      offset = token / tensor_.shape[1] * step(0) + token % tensor_.shape[1] * step(1);
    else
      offset = token * step(0);
    if (tensor_.ndim > first) offset += i * step(first);
    if (tensor_.ndim > first + 1) offset += j * step(first + 1);
    return static_cast<const unsigned char*>(tensor_.data) + tensor_.byte_offset + offset;
  }

 private:
  std::int64_t step(int axis) const {
    std::int64_t elements = 1;
    for (int inner = axis + 1; inner < tensor_.ndim; ++inner) elements *= tensor_.shape[inner];
    return (tensor_.strides != nullptr ? tensor_.strides[axis] : elements) * tensor_.dtype.bits / 8;
  }
  const DLTensor& tensor_;
  bool nested_;
};

std::int64_t integer_at(const unsigned char* at, int bits) {
  std::int64_t wide = 0;
  std::int32_t narrow = 0;
  if (bits == 64) {
    std::memcpy(&wide, at, 8);
    return wide;
  }
  std::memcpy(&narrow, at, 4);
  return narrow;
}

double half_value(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const double mantissa = bits & 1023;
  double magnitude = std::ldexp(1024 + mantissa, exponent - 25);
  if (exponent == 0) magnitude = std::ldexp(mantissa, -24);
  if (exponent == 31) magnitude = mantissa == 0 ? kInf : std::numeric_limits<double>::quiet_NaN();
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

double float_at(const unsigned char* at, DLDataType type) {
  float value = 0;
  if (type.bits == 32) {
    std::memcpy(&value, at, 4);
    return static_cast<double>(value);
  }
  std::uint16_t bits = 0;
  std::memcpy(&bits, at, 2);
  if (type.code == kDLFloat) return half_value(bits);
  const std::uint32_t wide = static_cast<std::uint32_t>(bits) << 16;
  std::memcpy(&value, &wide, 4);
  return static_cast<double>(value);
}

struct Selection {
  const dsakit_kv_cache* cache;
  const DLTensor *indices, *indptr, *length;
};

std::int64_t element(const DLTensor& tensor, std::int64_t index) {
  const std::int64_t stride = tensor.strides != nullptr ? tensor.strides[0] : 1;
  const auto* data = static_cast<const unsigned char*>(tensor.data) + tensor.byte_offset;
  return integer_at(data + index * stride * tensor.dtype.bits / 8, tensor.dtype.bits);
}

// The valid slots that one list selects for a token, in order.
std::vector<std::int64_t> selected(const Selection& list, std::int64_t token, std::int64_t tokens,
                                   bool nested) {
  const DLTensor& data = *list.cache->data;
  const std::int64_t slots = data.shape[0] * (data.ndim == 2 ? 1 : data.shape[1]);
  std::vector<std::int64_t> found;
  const auto take = [&](std::int64_t slot) {
    if (slot >= 0 && slot < slots) found.push_back(slot);
  };
  if (list.indptr != nullptr) {
    for (std::int64_t j = element(*list.indptr, token); j < element(*list.indptr, token + 1); ++j)
      take(element(*list.indices, j));
    return found;
  }
  const DLTensor& indices = *list.indices;
  const std::int64_t topk = indices.shape[indices.ndim - 1];
  std::int64_t length = topk;
  if (list.length != nullptr)
    length = std::clamp<std::int64_t>(
        element(*list.length, token / (tokens / list.length->shape[0])), 0, topk);
  const TokenTensor row(indices, nested);
  const bool head_axis = indices.ndim == (nested ? 4 : 3);
  for (std::int64_t j = 0; j < length; ++j)
    take(integer_at(head_axis ? row.at(token, 0, j) : row.at(token, j, 0), indices.dtype.bits));
  return found;
}

std::vector<std::vector<double>> keys_of(const dsakit_config& config, const dsakit_run_args& args,
                                         std::int64_t token, std::int64_t tokens, bool nested) {
  const std::array<Selection, 2> lists{
      {{args.kv, args.indices, args.indptr, args.topk_length},
       {args.kv2, args.indices2, args.indptr2, args.topk_length2}}};
  std::vector<std::vector<double>> keys;
  for (const Selection& list : lists) {
    if (list.cache == nullptr) continue;
    for (const std::int64_t slot : selected(list, token, tokens, nested))
      keys.push_back(reference_key(config, *list.cache, slot));
  }
  return keys;
}

double dot(const double* a, const double* b, std::size_t count) {
  std::array<double, 8> sum{};
  for (std::size_t i = 0; i < count; i += 8)
    for (std::size_t lane = 0; lane < 8; ++lane) sum[lane] += a[i + lane] * b[i + lane];
  double total = 0;
  for (const double each : sum) total += each;
  return total;
}

struct Head {
  double lse, max;
};

// One head of one token: fills out[0 ... d_v) and answers lse and max_logits.
Head attend(const dsakit_config& config, const std::vector<double>& q, double sm_scale,
            const std::vector<std::vector<double>>& keys, const double* sink, double* out) {
  const double empty = token_or(config.lse_empty, "plus_inf") == "plus_inf" ? kInf : -1e30;
  const auto d_v = static_cast<std::size_t>(config.d_v);
  std::fill(out, out + d_v, 0.0);
  if (keys.empty()) return {empty, -kInf};
  std::vector<double> logits;
  double max = -kInf;
  for (const std::vector<double>& key : keys) {
    logits.push_back(sm_scale * dot(q.data(), key.data(), q.size()));
    max = std::isnan(max) || std::isnan(logits.back()) ? std::numeric_limits<double>::quiet_NaN()
                                                       : std::max(max, logits.back());
  }
  const double reference = max == -kInf ? 0.0 : max;
  double sum = 0;
  for (std::size_t k = 0; k < keys.size(); ++k) {
    const double p = std::exp(logits[k] - reference);
    sum += p;
    for (std::size_t c = 0; c < d_v; ++c) out[c] += p * keys[k][c];
  }
  const double with_sink = sink == nullptr ? sum : sum + std::exp(*sink - reference);
  for (std::size_t c = 0; c < d_v; ++c) out[c] /= with_sink;
  const bool included = token_or(config.lse_sink, "excluded") == "included";
  double lse = reference + std::log(included ? with_sink : sum);
  if (token_or(config.lse, "natural") == "log2") lse /= std::numbers::ln2;
  return {lse, max};
}

}  // namespace

Expected reference_attention(const dsakit_config& config, const dsakit_run_args& args,
                             std::int64_t first, std::int64_t last) {
  const DLTensor& q = *args.q;
  const bool nested = q.ndim == 4;
  const std::int64_t tokens = q.shape[0] * (nested ? q.shape[1] : 1);
  const TokenTensor queries(q, nested);
  Expected expected{first, last - first, config.heads, config.d_v, {}, {}, {}};
  const auto rows = static_cast<std::size_t>(expected.tokens * expected.heads);
  expected.out.resize(rows * static_cast<std::size_t>(config.d_v));
  expected.lse.resize(rows);
  expected.max_logits.resize(rows);
  std::size_t row = 0;
  for (std::int64_t token = first; token < last; ++token) {
    const std::vector<std::vector<double>> keys = keys_of(config, args, token, tokens, nested);
    for (std::int64_t head = 0; head < config.heads; ++head, ++row) {
      std::vector<double> query;
      for (std::int64_t d = 0; d < config.d_qk; ++d)
        query.push_back(float_at(queries.at(token, head, d), q.dtype));
      double sink = 0;
      if (args.attn_sink != nullptr) {
        const DLTensor& sinks = *args.attn_sink;
        const std::int64_t stride = sinks.strides != nullptr ? sinks.strides[0] : 1;
        sink = float_at(
            static_cast<const unsigned char*>(sinks.data) + sinks.byte_offset + head * stride * 4,
            sinks.dtype);
      }
      const Head result = attend(config, query, static_cast<double>(args.sm_scale), keys,
                                 args.attn_sink != nullptr ? &sink : nullptr,
                                 expected.out.data() + row * static_cast<std::size_t>(config.d_v));
      expected.lse[row] = result.lse;
      expected.max_logits[row] = result.max;
    }
  }
  return expected;
}

}  // namespace dsakit::conformance
