// Attention in float64, as naive as the formulas of plugin_abi.h: a block computes one head of one
// token, key after key. Shares no code with any plugin, nor with the reference of the host.
#include "sdk/conformance/cuda_reference_call.hpp"

namespace dsakit::conformance {
namespace {

__device__ double bits_to_double(unsigned bits) {
  return static_cast<double>(__uint_as_float(bits));
}

__device__ unsigned read16(const unsigned char* at) {
  return at[0] | static_cast<unsigned>(at[1]) << 8;
}

__device__ float read_float(const unsigned char* at) {
  return __uint_as_float(read16(at) | read16(at + 2) << 16);
}

__device__ double read_bf16(const unsigned char* at) {
  return bits_to_double(static_cast<unsigned>(*reinterpret_cast<const unsigned short*>(at)) << 16);
}

__device__ double read_fp16(const unsigned char* at) {
  const unsigned bits = read16(at), fraction = bits & 1023;
  const int exponent = static_cast<int>(bits >> 10 & 31);
  double value = exponent == 0 ? ldexp(static_cast<double>(fraction), -24)
                               : ldexp(static_cast<double>(1024 + fraction), exponent - 25);
  if (exponent == 31) value = fraction == 0 ? HUGE_VAL : nan("");
  return bits & 0x8000 ? -value : value;
}

// Codes of e4m3: exponents biased by 7, NaN is S.1111.111; fnuz: by 8, NaN is 0x80.
__device__ float read_e4m3(unsigned char code, bool fnuz) {
  if (fnuz ? code == 0x80 : (code & 0x7F) == 0x7F) return __uint_as_float(0x7FC00000U);
  const int exponent = code >> 3 & 15, fraction = code & 7, bias = fnuz ? 8 : 7;
  const float value = exponent == 0 ? ldexpf(static_cast<float>(fraction), -2 - bias)
                                    : ldexpf(static_cast<float>(8 + fraction), exponent - bias - 3);
  return code & 128 ? -value : value;
}

__device__ std::int64_t read_integer(const unsigned char* at, int bytes) {
  return bytes == 8 ? *reinterpret_cast<const std::int64_t*>(at)
                    : *reinterpret_cast<const std::int32_t*>(at);
}

__device__ const unsigned char* token_at(const ReferenceTokens& tensor, std::int64_t token) {
  return tensor.data + token / tensor.inner_count * tensor.outer +
         token % tensor.inner_count * tensor.inner;
}

// Element c of the key in a slot; code times scale is rounded to fp32.
__device__ double key_element(ReferenceLayout layout, const ReferenceList& list, std::int64_t slot,
                              int c) {
  const unsigned char* page = list.pool + slot / list.page_size * list.page_stride;
  const std::int64_t in_page = slot % list.page_size;
  const unsigned char* row = page + in_page * list.row_stride;
  switch (layout) {
    case ReferenceLayout::bf16:
      return read_bf16(row + 2 * c);
    case ReferenceLayout::grouped:
      if (c >= 512) return read_bf16(row + 528 + 2 * (c - 512));
      return __fmul_rn(read_e4m3(row[c], false), read_float(row + 512 + 4 * (c / 128)));
    case ReferenceLayout::per_tensor:
    case ReferenceLayout::per_tensor_fnuz:
      return __fmul_rn(read_e4m3(row[c], layout == ReferenceLayout::per_tensor_fnuz),
                       list.scale == nullptr ? 1.0F : read_float(list.scale));
    case ReferenceLayout::v4: {
      row = page + in_page * 576;
      if (c >= 448) return read_bf16(row + 448 + 2 * (c - 448));
      const unsigned char code = page[list.page_size * 576 + in_page * 8 + c / 64];
      const float scale = code == 255 ? __uint_as_float(0x7FC00000U) : exp2f(code - 127.0F);
      return __fmul_rn(read_e4m3(row[c], false), scale);
    }
  }
  return 0;
}

// Entry j of a token's list, and how many there are.
struct Entries {
  const unsigned char* first;
  std::int64_t step, count;
  int bytes;
};

__device__ Entries entries_of(const ReferenceList& list, std::int64_t token) {
  if (list.pool == nullptr && list.pages == 0 && list.entries.data == nullptr) return {};
  if (list.indptr != nullptr) {
    const std::int64_t from =
        read_integer(list.indptr + token * list.indptr_step, list.indptr_bytes);
    const std::int64_t to =
        read_integer(list.indptr + (token + 1) * list.indptr_step, list.indptr_bytes);
    return {list.entries.data + from * list.entry_step, list.entry_step, to - from,
            list.entry_bytes};
  }
  std::int64_t count = list.width;
  if (list.length != nullptr) {
    const std::int64_t length =
        read_integer(list.length + token / list.tokens_per_length * list.length_step, 4);
    count = length < 0 ? 0 : length < count ? length : count;
  }
  return {token_at(list.entries, token), list.entry_step, count, list.entry_bytes};
}

__device__ bool greater_or_nan(double a, double b) {
  return isnan(a) || (!isnan(b) && a > b);
}

// Of all threads' values; every thread gets the result.
template <bool kMaximum>
__device__ double block_reduce(double value, double* shared) {
  __syncthreads();
  shared[threadIdx.x] = value;
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) {
      const double other = shared[threadIdx.x + half];
      if (!kMaximum)
        shared[threadIdx.x] += other;
      else if (greater_or_nan(other, shared[threadIdx.x]))
        shared[threadIdx.x] = other;
    }
    __syncthreads();
  }
  return shared[0];
}

// Slots, or -1, of both lists' entries; then a logit for each valid one.
__device__ void find_logits(const ReferenceCall& call, const Entries* lists, const double* q,
                            double* logits, std::int64_t* slots) {
  const std::int64_t count = lists[0].count + lists[1].count;
  for (std::int64_t k = threadIdx.x; k < count; k += blockDim.x) {
    const int which = k < lists[0].count ? 0 : 1;
    const Entries& list = lists[which];
    const std::int64_t j = which == 0 ? k : k - lists[0].count;
    const std::int64_t slot = read_integer(list.first + j * list.step, list.bytes);
    const std::int64_t all = call.list[which].pages * call.list[which].page_size;
    slots[k] = slot >= 0 && slot < all ? slot : -1;
  }
  __syncthreads();
  for (std::int64_t k = threadIdx.x / 32; k < count; k += blockDim.x / 32) {
    if (slots[k] < 0) continue;
    const ReferenceList& list = call.list[k < lists[0].count ? 0 : 1];
    double sum = 0;
    for (int c = static_cast<int>(threadIdx.x % 32); c < call.d_qk; c += 32)
      sum += q[c] * key_element(call.layout, list, slots[k], c);
    for (int lane = 16; lane > 0; lane /= 2) sum += __shfl_xor_sync(0xFFFFFFFFU, sum, lane);
    if (threadIdx.x % 32 == 0) logits[k] = call.sm_scale * sum;
  }
  __syncthreads();
}

__device__ void attend(const ReferenceCall& call, std::int64_t row, double* q, double* shared) {
  const std::int64_t token = row / call.heads, head = row % call.heads;
  double* logits = call.logits + blockIdx.x * call.most_keys;
  std::int64_t* slots = call.slots + blockIdx.x * call.most_keys;
  const Entries lists[2] = {entries_of(call.list[0], token), entries_of(call.list[1], token)};
  const std::int64_t count = lists[0].count + lists[1].count;
  const unsigned char* query = token_at(call.q, token) + head * call.q.head;
  __syncthreads();
  for (int c = static_cast<int>(threadIdx.x); c < call.d_qk; c += static_cast<int>(blockDim.x))
    q[c] = call.q_type == ReferenceType::fp32   ? static_cast<double>(read_float(query + 4 * c))
           : call.q_type == ReferenceType::fp16 ? read_fp16(query + 2 * c)
                                                : read_bf16(query + 2 * c);
  find_logits(call, lists, q, logits, slots);
  double max = -HUGE_VAL, valid = 0, sum = 0;
  for (std::int64_t k = threadIdx.x; k < count; k += blockDim.x)
    if (slots[k] >= 0) {
      valid += 1;
      if (greater_or_nan(logits[k], max)) max = logits[k];
    }
  max = block_reduce<true>(max, shared);
  valid = block_reduce<false>(valid, shared);
  const double base = max == -HUGE_VAL ? 0.0 : max;
  for (std::int64_t k = threadIdx.x; k < count; k += blockDim.x)
    if (slots[k] >= 0) sum += logits[k] = exp(logits[k] - base);
  sum = block_reduce<false>(sum, shared);
  const double sink =
      call.sink == nullptr
          ? 0.0
          : exp(static_cast<double>(read_float(call.sink + head * call.sink_step)) - base);
  for (int c = static_cast<int>(threadIdx.x); c < call.d_v; c += static_cast<int>(blockDim.x)) {
    double total = 0;
    for (std::int64_t k = 0; k < count; ++k)
      if (slots[k] >= 0)
        total += logits[k] *
                 key_element(call.layout, call.list[k < lists[0].count ? 0 : 1], slots[k], c);
    call.out[row * call.d_v + c] = valid == 0 ? 0.0 : total / (sum + sink);
  }
  if (threadIdx.x != 0) return;
  const double lse = base + log(call.sink_in_lse ? sum + sink : sum);
  call.lse[row] = valid == 0 ? call.empty_lse : call.log2 ? lse / 0.69314718055994530942 : lse;
  call.max_logits[row] = valid == 0 ? -HUGE_VAL : max;
}

}  // namespace

extern "C" __global__ void dsakit_reference_attention(const ReferenceCall call) {
  __shared__ double q[kReferenceMostQuery];
  __shared__ double shared[kReferenceThreads];
  for (std::int64_t row = blockIdx.x; row < call.tokens * call.heads; row += gridDim.x)
    attend(call, row, q, shared);
}

}  // namespace dsakit::conformance
