// Random problems for device tests and timing programs, and a naive float64 reference.
//
// A pool holds random values only in the rows that some token selects; every other byte of it, the
// gaps between rows and pages included, is NaN. Outputs are poisoned before each run. The reference
// shares no code with any plugin. Single threaded; one device; errors end the process.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#define DSAKIT_CHECK(call)                                                         \
  do {                                                                             \
    const cudaError_t status_ = static_cast<cudaError_t>(call);                    \
    if (status_ != cudaSuccess) {                                                  \
      std::printf("%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status_)); \
      std::exit(3);                                                                \
    }                                                                              \
  } while (0)

namespace dsakit::test {

__host__ __device__ inline uint32_t mix(uint64_t x) {
  x ^= x >> 33;
  x *= 0xFF51AFD7ED558CCDULL;
  x ^= x >> 33;
  x *= 0xC4CEB9FE1A85EC53ULL;
  return static_cast<uint32_t>(x ^ (x >> 33));
}

// A normal value that depends on `seed` and `at` alone.
__device__ inline float normal(uint64_t seed, uint64_t at) {
  const uint64_t key = (seed << 40) ^ (at * 2);
  const float u = (static_cast<float>(mix(key) >> 8) + 1.0f) * 0x1p-24f;
  const float v = static_cast<float>(mix(key + 1) >> 8) * 0x1p-24f;
  return sqrtf(-2.0f * logf(u)) * cospif(2.0f * v);
}

// Element j of a random permutation of [0, n): a Feistel network over 2*bits bits, walked until it
// falls inside.
__device__ inline uint32_t permuted(uint32_t j, uint32_t n, uint64_t seed) {
  int bits = 1;
  while ((1ull << (2 * bits)) < n) ++bits;
  const uint32_t low = (1u << bits) - 1;
  do {
    for (int round = 0; round < 4; ++round) {
      const uint32_t left = j >> bits, right = j & low;
      j = (right << bits) | (left ^ (mix(seed * 4 + round + (uint64_t{right} << 44)) & low));
    }
  } while (j >= n);
  return j;
}

enum class Data : int { kNormal, kRising, kPeaked, kEqual, kLastMaximum };

// Rows of the pool: bf16, or the fp8 rows of flashmla_kv with scales of a kind: amax / 448, that
// rounded up to a power of two, for values around 1e-6 or 1e5 in place of 0.1, or for groups whose
// values differ by powers of ten, some of them zero.
enum class Rows : int { kBf16, kFp8, kFp8Pow2, kFp8Tiny, kFp8Huge, kFp8Mixed };

struct Layout {
  int tokens = 1, heads = 128, topk = 2048, d_qk = 576;
  uint32_t page_size = 1, slots = 131072;
  int64_t kv_page = 0, kv_row = 0;   // bytes
  uint32_t pool_rows_per_token = 0;  // 0: one pool for all; else token t has its own rows
  float overlap = 0;                 // share of a token's list that it has in common with the next
  Rows rows = Rows::kBf16;
  __host__ __device__ int row_bytes() const {
    return rows == Rows::kBf16 ? d_qk * 2 : 528 + 2 * (d_qk - 512);
  }
};

// indices[t, j] = a slot, distinct within a token.
template <class Index>
__global__ void fill_indices(Index* indices, Layout layout, uint64_t seed, int64_t stride,
                             float invalid, bool duplicates) {
  const int64_t at = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const int t = static_cast<int>(at / layout.topk), j = static_cast<int>(at % layout.topk);
  if (t >= layout.tokens) return;
  uint32_t pool = layout.slots, base = 0;
  if (layout.pool_rows_per_token) {
    pool = layout.pool_rows_per_token;
    base = static_cast<uint32_t>(t) * pool;
  }
  uint32_t position = static_cast<uint32_t>(j);
  uint64_t list = seed * 1000003 + static_cast<uint64_t>(t);
  if (layout.overlap > 0) {
    // A window that slides over one permutation.
    list = seed * 1000003;
    const uint32_t shift = static_cast<uint32_t>((1.0f - layout.overlap) * layout.topk);
    position = static_cast<uint32_t>((static_cast<uint64_t>(t) * shift + j) % pool);
  }
  if (duplicates) position = position / 2 % pool;
  int64_t slot = position < pool ? int64_t{base} + permuted(position, pool, list) : -1;
  const uint32_t draw = mix(seed * 77 + static_cast<uint64_t>(at) * 13 + 5);
  if (static_cast<float>(draw >> 8) * 0x1p-24f < invalid) {
    const int64_t near = int64_t{(draw >> 1) & 1023} * (draw & 4 ? 1 : 123456);
    slot = draw & 1 ? -2147483648LL + near : draw & 2 ? -1 - near : layout.slots + near;
    slot = min(max(slot, int64_t{-2147483648LL}), int64_t{2147483647});
    if (static_cast<uint64_t>(slot) < layout.slots) slot = -1;
  }
  indices[t * stride + j] = static_cast<Index>(slot);
}

// Sizes of the value that `data` puts at dimension d of pool row `slot`.
__device__ inline float key_value(uint64_t seed, uint64_t slot, int d, Data data) {
  if (data == Data::kEqual) return normal(seed, d) * 0.1f;
  return normal(seed, slot * 1024 + d) * 0.1f;
}

// Factor of all values of a row's group of 128.
__device__ inline float group_size(Rows rows, uint64_t slot, int group) {
  switch (rows) {
    case Rows::kFp8Tiny:
      return 1e-5f;
    case Rows::kFp8Huge:
      return 1e6f;
    case Rows::kFp8Mixed: {
      const uint32_t draw = mix(slot * 4 + group) % 9;
      return draw == 8 ? 0.0f : exp10f(static_cast<float>(draw) - 5.0f);
    }
    default:
      return 1.0f;
  }
}

// Stores one row; 128 threads, thread i has dimensions i, i + 128 and so on. `leading` replaces
// dimension 0 unless it is NaN.
__device__ inline void store_row(uint8_t* row, const Layout& layout, uint64_t seed, uint64_t slot,
                                 Data data, float leading) {
  __shared__ float largest[4][4];
  const int i = threadIdx.x;
  for (int group = 0; group * 128 + i < layout.d_qk; ++group) {
    const int d = group * 128 + i;
    float x = key_value(seed, slot, d, data);
    if (d == 0 && !isnan(leading)) x = leading;
    if (layout.rows == Rows::kBf16 || group == 4) {
      uint8_t* values = layout.rows == Rows::kBf16 ? row : row + 528 - 1024;
      reinterpret_cast<__nv_bfloat16*>(values)[d] = __float2bfloat16(x);
      continue;
    }
    x *= group_size(layout.rows, slot, group);
    float most = fabsf(x);
    for (int k = 16; k > 0; k /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, k));
    largest[group][i / 32] = most;
    __syncthreads();
    for (int k = 0; k < 4; ++k) most = fmaxf(most, largest[group][k]);
    float scale = fmaxf(most / 448.0f, 0x1p-126f);
    if (layout.rows == Rows::kFp8Pow2) scale = exp2f(ceilf(log2f(fmaxf(scale, 1e-4f))));
    row[d] = __nv_fp8_e4m3(x / scale).__x;
    if (i == 0) reinterpret_cast<float*>(row + 512)[group] = scale;
  }
}

// Writes the selected rows of the pool: thread block per (token, entry).
template <class Index>
__global__ void __launch_bounds__(128)
    fill_rows(uint8_t* kv, const Index* indices, const int* length, int per_length, Layout layout,
              int64_t stride, uint64_t seed, Data data) {
  const int64_t entry = blockIdx.x;
  const int t = static_cast<int>(entry / layout.topk), j = static_cast<int>(entry % layout.topk);
  if (length && j >= length[t / per_length]) return;
  const int64_t slot = static_cast<int64_t>(indices[t * stride + j]);
  if (slot < 0 || slot >= layout.slots) return;
  // Rising: dimension 0 grows along the list, so that each block has a new maximum.
  float leading = NAN;
  if (data == Data::kRising) leading = 100.0f * static_cast<float>(j) / layout.topk;
  if (data == Data::kLastMaximum) leading = j == layout.topk - 1 ? 60.0f : 0.0f;
  store_row(kv + slot / layout.page_size * layout.kv_page + slot % layout.page_size * layout.kv_row,
            layout, seed, static_cast<uint64_t>(slot), data, leading);
}

static __global__ void __launch_bounds__(128)
    fill_all_rows(uint8_t* kv, Layout layout, uint64_t seed) {
  const int64_t slot = blockIdx.x;
  store_row(kv + slot / layout.page_size * layout.kv_page + slot % layout.page_size * layout.kv_row,
            layout, seed, static_cast<uint64_t>(slot), Data::kNormal, NAN);
}

// q[t, h, d]; token and head strides in elements.
static __global__ void fill_q(__nv_bfloat16* q, int tokens, int heads, int d_qk,
                              int64_t token_stride, int64_t head_stride, uint64_t seed, Data data) {
  const int t = blockIdx.x / heads, h = blockIdx.x % heads;
  if (t >= tokens) return;
  for (int d = threadIdx.x; d < d_qk; d += blockDim.x) {
    float x = normal(seed + 9, (static_cast<uint64_t>(t) * 128 + h) * 1024 + d);
    const bool leads = data == Data::kRising || data == Data::kLastMaximum;
    if (leads && d == 0) x = 24.0f;
    if (data == Data::kPeaked) x *= 100.0f;
    q[t * token_stride + h * head_stride + d] = __float2bfloat16(x);
  }
}

struct Reference {
  const __nv_bfloat16* q;
  int64_t q_token, q_head;  // elements
  const uint8_t* kv;
  const void* indices;
  bool index64;
  int64_t index_token;
  const int* length;
  int per_length;
  const float* sink;
  float scale;
  double* out;         // [T, h, 512]
  double* lse;         // [T, h], natural, without the sink; +inf for no key
  double* max_logits;  // [T, h]
  double* logits;      // [T * h, topk] scratch
};

__device__ inline const uint8_t* reference_row(const Reference& r, const Layout& layout, int t,
                                               int j) {
  const int64_t at = t * r.index_token + j;
  const int64_t slot = r.index64 ? static_cast<const int64_t*>(r.indices)[at]
                                 : static_cast<const int32_t*>(r.indices)[at];
  if (slot < 0 || slot >= layout.slots) return nullptr;
  return r.kv + slot / layout.page_size * layout.kv_page + slot % layout.page_size * layout.kv_row;
}

// Value of dimension d of a row.
__device__ inline double reference_value(const uint8_t* row, const Layout& layout, int d) {
  const auto* halves = reinterpret_cast<const __nv_bfloat16*>(row);
  if (layout.rows == Rows::kBf16) return static_cast<double>(__bfloat162float(halves[d]));
  if (d >= 512) return static_cast<double>(__bfloat162float(halves[264 + d - 512]));
  const int code = row[d], exponent = (code >> 3) & 15, mantissa = code & 7;
  double x = exponent == 0 ? scalbn(static_cast<double>(mantissa), -9)
                           : scalbn(8.0 + mantissa, exponent - 10);
  if ((code & 127) == 127) x = NAN;
  const double scale = static_cast<double>(reinterpret_cast<const float*>(row + 512)[d / 128]);
  return (code & 128 ? -x : x) * scale;
}

// One block a (token, head).
static __global__ void reference_kernel(Reference r, Layout layout) {
  const int t = blockIdx.x / layout.heads, h = blockIdx.x % layout.heads;
  const __nv_bfloat16* q = r.q + t * r.q_token + h * r.q_head;
  double* logits = r.logits + int64_t{blockIdx.x} * layout.topk;
  int keys = layout.topk;
  if (r.length) keys = min(max(r.length[t / r.per_length], 0), keys);
  for (int j = threadIdx.x; j < keys; j += blockDim.x) {
    const uint8_t* row = reference_row(r, layout, t, j);
    double x = -INFINITY;
    if (row) {
      x = 0;
      for (int d = 0; d < layout.d_qk; ++d) {
        x += static_cast<double>(__bfloat162float(q[d])) * reference_value(row, layout, d);
      }
      x *= static_cast<double>(r.scale);
    }
    logits[j] = x;
  }
  __syncthreads();
  double top = -INFINITY, sum = 0;
  for (int j = 0; j < keys; ++j) top = fmax(top, logits[j]);
  for (int j = 0; j < keys; ++j) {
    if (logits[j] != -INFINITY) sum += exp(logits[j] - top);
  }
  const bool none = top == -INFINITY;
  if (threadIdx.x == 0) {
    r.lse[blockIdx.x] = none ? INFINITY : top + log(sum);
    r.max_logits[blockIdx.x] = top;
  }
  const double all = r.sink && !none ? sum + exp(static_cast<double>(r.sink[h]) - top) : sum;
  for (int d = threadIdx.x; d < 512; d += blockDim.x) {
    double o = 0;
    for (int j = 0; j < keys && !none; ++j) {
      const uint8_t* row = reference_row(r, layout, t, j);
      if (row) o += exp(logits[j] - top) * reference_value(row, layout, d);
    }
    r.out[int64_t{blockIdx.x} * 512 + d] = none ? 0.0 : o / all;
  }
}

}  // namespace dsakit::test
