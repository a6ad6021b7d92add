#include "wrong/toy_kernel.hpp"

#include <cuda_bf16.h>

namespace dsakit::gpu_toy {
namespace {

constexpr int kKey = 576, kValue = 512, kThreads = 128;

__device__ std::int64_t at(const Axis& axis, std::int64_t token) {
  return token / axis.inner_count * axis.outer + token % axis.inner_count * axis.inner;
}

__device__ float value(const unsigned char* row, int i) {
  return __bfloat162float(reinterpret_cast<const __nv_bfloat16*>(row)[i]);
}

__device__ std::int64_t slot_of(const Call& c, const unsigned char* list, std::int64_t j) {
  return c.wide ? reinterpret_cast<const std::int64_t*>(list)[j]
                : reinterpret_cast<const std::int32_t*>(list)[j];
}

__device__ const unsigned char* key_of(const Call& c, std::int64_t slot) {
  std::int64_t offset = slot / c.page_size * c.page_stride + slot % c.page_size * c.row_stride;
  if (c.int32_offset) offset = static_cast<std::uint32_t>(offset);
  return c.pool + offset;
}

__device__ std::int64_t keys_of(const Call& c, std::int64_t token) {
  std::int64_t count = c.topk;
  if (c.length != nullptr)
    count = *reinterpret_cast<const std::int32_t*>(c.length +
                                                   token / c.tokens_per_length * c.length_stride);
  count = count < 0 ? 0 : count > c.topk ? c.topk : count;
  if (c.first_lengths == nullptr) return count;
  __shared__ std::int64_t kept;
  if (threadIdx.x == 0) {
    std::int32_t& first = c.first_lengths[blockIdx.x];
    if (first == 0) first = static_cast<std::int32_t>(count + 1);
    kept = first - 1;
  }
  __syncthreads();
  return kept;
}

// Of all threads' values.
__device__ double sum_of(double each, double* shared) {
  __syncthreads();
  shared[threadIdx.x] = each;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (static_cast<int>(threadIdx.x) < half) shared[threadIdx.x] += shared[threadIdx.x + half];
    __syncthreads();
  }
  return shared[0];
}

// A block a token and head; keys one after another, with a running maximum.
__global__ void attend(const Call c) {
  __shared__ double shared[kThreads];
  const std::int64_t token = blockIdx.x / c.heads, head = blockIdx.x % c.heads;
  const unsigned char* query = c.q + at(c.q_token, token) + head * c.q_head;
  const unsigned char* list = c.indices + at(c.index_row, token);
  const std::int64_t count = keys_of(c, token);
  double max = -HUGE_VAL, sum = 0, total[kValue / kThreads] = {};
  bool any = false;
  for (std::int64_t j = 0; j < count; ++j) {
    const std::int64_t slot = slot_of(c, list, j);
    const bool valid = slot >= 0 && slot < c.slots;
    if (!valid && (!c.nan_leaks || c.slots == 0)) continue;
    const unsigned char* key = key_of(c, valid ? slot : 0);
    double part = 0;
    for (int i = static_cast<int>(threadIdx.x); i < kKey; i += kThreads)
      part += static_cast<double>(value(query, i)) * value(key, i);
    const double logit = valid ? c.scale * sum_of(part, shared) : -HUGE_VAL;
    const double above = isnan(logit) || logit > max ? logit : max;
    const double old = any ? exp(max - above) : 0, weight = valid ? exp(logit - above) : 0;
    any = any || valid;
    max = above;
    sum = sum * old + weight;
    for (int i = 0; i < kValue / kThreads; ++i)
      total[i] = total[i] * old + weight * value(key, static_cast<int>(threadIdx.x) + i * kThreads);
  }
  auto* out = reinterpret_cast<__nv_bfloat16*>(c.out + at(c.out_token, token) + head * c.out_head);
  for (int i = 0; i < kValue / kThreads; ++i)
    out[threadIdx.x + i * kThreads] = __double2bfloat16(any ? total[i] / sum : 0.0);
  if (threadIdx.x != 0) return;
  if (c.lse != nullptr)
    *reinterpret_cast<float*>(c.lse + at(c.lse_token, token) + head * c.lse_head) =
        static_cast<float>(any ? max + log(sum) : HUGE_VAL);
  if (c.max_logits != nullptr)
    *reinterpret_cast<float*>(c.max_logits + at(c.max_token, token) + head * c.max_head) =
        static_cast<float>(any ? max : -HUGE_VAL);
}

}  // namespace

int launch(const Call& call, void* stream) {
  attend<<<static_cast<unsigned>(call.tokens * call.heads), kThreads, 0,
           static_cast<cudaStream_t>(stream)>>>(call);
  return cudaGetLastError();
}

}  // namespace dsakit::gpu_toy
