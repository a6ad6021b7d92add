#include "host/run_case.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "dsakit/kv_layout.hpp"

namespace dsakit::test {
namespace {

constexpr DLDataType kBf16{kDLBfloat, 16, 1}, kFp32{kDLFloat, 32, 1}, kInt32{kDLInt, 32, 1},
    kInt64{kDLInt, 64, 1}, kUint8{kDLUInt, 8, 1};

// Multiples of 1/8 in -1 ... 1: exact in bf16.
std::uint16_t small_bf16(std::uint32_t& state) {
  state = state * 1664525U + 1013904223U;
  const float value = static_cast<float>(static_cast<int>(state >> 24 & 15U) - 8) / 8.0F;
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16);
}

double value_of(std::uint16_t bits) {
  return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16));
}

}  // namespace

std::string run_request(const std::string& backend, const std::string& kv_dtype,
                        const std::string& more) {
  return R"({"platform":"cpu","arch":"cpu","model_family":"deepseek_v32","kv_dtype":")" + kv_dtype +
         R"(","page_size":16,"heads":8,"topk":12,"d_qk":576,"d_v":512,"prefill":")" + backend +
         R"(","decode":")" + backend + "\"" + more + "}";
}

void RunCase::describe(Tensor& tensor, void* data, DLDataType type,
                       std::vector<std::int64_t> shape) {
  tensor.shape = std::move(shape);
  tensor.view.data = data;
  tensor.view.device = {kDLCPU, 0};
  tensor.view.dtype = type;
  tensor.view.ndim = static_cast<int>(tensor.shape.size());
  tensor.view.shape = tensor.shape.data();
}

RunCase::RunCase(const api::Session& session, const std::string& phase)
    : attention([&] {
        api::AttentionOptions options;
        options.max_tokens = kTokens;
        return session.create(phase, options, &error);
      }()),
      rows(kPages * kPageSize * kKey),
      q_(kTokens * kHeads * kKey),
      out_(kTokens * kHeads * kValue),
      lse_(kTokens * kHeads),
      indices_(kTokens * kTopk),
      slots_(kPages * kPageSize) {
  if (!attention) return;
  std::uint32_t state = 1;
  for (std::uint16_t& bits : rows) bits = small_bf16(state);
  for (std::uint16_t& bits : q_) bits = small_bf16(state);
  std::iota(slots_.begin(), slots_.end(), 0);
  for (std::size_t i = 0; i < indices_.size(); ++i)
    indices_[i] = i % 5 == 4 ? -1 : static_cast<std::int32_t>(i * 7 % slots_.size());
  const KvLayout& layout = *find_kv_layout(attention.config().kv_layout);
  pool_.resize(static_cast<std::size_t>(kPages * layout.page_bytes(kPageSize)));
  describe(q_view_, q_.data(), kBf16, {kTokens, kHeads, kKey});
  describe(out_view_, out_.data(), kBf16, {kTokens, kHeads, kValue});
  describe(lse_view_, lse_.data(), kFp32, {kTokens, kHeads});
  describe(indices_view_, indices_.data(), kInt32, {kTokens, kTopk});
  describe(pool_view_, pool_.data(), layout.element == KvElement::bf16 ? kBf16 : kUint8,
           {kPages, kPageSize, layout.row_elements()});
  describe(rows_view_, rows.data(), kBf16, {kPages * kPageSize, kKey});
  describe(slots_view_, slots_.data(), kInt64, {kPages * kPageSize});
  dsakit_workspace need{};
  attention.workspace(kTokens, need);
  workspace_.resize(need.bytes + need.alignment);
  auto start = reinterpret_cast<std::uintptr_t>(workspace_.data());
  start = (start + need.alignment - 1) / need.alignment * need.alignment;
  cache_.data = &pool_view_.view;
  kv_args_.kv = args_.kv = &cache_;
  kv_args_.rows = &rows_view_.view;
  kv_args_.slots = &slots_view_.view;
  args_.sm_scale = 1.0F / 24.0F;
  args_.q = &q_view_.view;
  args_.indices = &indices_view_.view;
  args_.out = &out_view_.view;
  args_.lse = &lse_view_.view;
  args_.workspace = reinterpret_cast<void*>(start);
  args_.workspace_size = need.bytes;
}

double RunCase::error_of(std::int64_t token, std::int64_t head) const {
  const std::uint16_t* q = q_.data() + (token * kHeads + head) * kKey;
  std::vector<double> out(kValue, 0.0);
  double sum = 0;
  for (std::int64_t j = 0; j < kTopk; ++j) {
    const std::int32_t slot = indices_[static_cast<std::size_t>(token * kTopk + j)];
    if (slot < 0) continue;
    const std::uint16_t* key = rows.data() + std::int64_t{slot} * kKey;
    double logit = 0;
    for (std::int64_t d = 0; d < kKey; ++d) logit += value_of(q[d]) * value_of(key[d]);
    const double weight = std::exp(logit / 24.0);
    sum += weight;
    for (std::int64_t d = 0; d < kValue; ++d)
      out[static_cast<std::size_t>(d)] += weight * value_of(key[d]);
  }
  const auto row = static_cast<std::size_t>(token * kHeads + head);
  double worst = std::fabs(static_cast<double>(lse_[row]) - std::log(sum));
  for (std::size_t d = 0; d < out.size(); ++d)
    worst = std::max(worst, std::fabs(value_of(out_[row * kValue + d]) - out[d] / sum));
  return worst;
}

double RunCase::worst_error() const {
  double worst = 0;
  for (std::int64_t token = 0; token < kTokens; ++token)
    for (std::int64_t head = 0; head < kHeads; ++head)
      worst = std::max(worst, error_of(token, head));
  return worst;
}

}  // namespace dsakit::test
