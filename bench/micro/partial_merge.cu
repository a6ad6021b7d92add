// What merging the partial results of split attention costs, three ways: a second kernel that
// starts early (programmatic dependent launch), a cluster that reads its members' shared memory,
// and a cooperative launch whose CTAs wait for each other at a counter a token.
//
// A CTA stands for 64 heads of one token and one part of its keys: it waits 3 us, then has 64 x 512
// numbers and an LSE a head. Partials are fp16. The output is checked.
#include <cooperative_groups.h>
#include <cuda_fp16.h>

#include <cmath>

#include "kernel_span.hpp"

namespace {

constexpr int kThreads = 256, kHeads = 64, kColumns = 512, kChunks = kColumns / 8;
constexpr int kShared = 200 * 1024;  // as attention: one CTA a multiprocessor
enum class Way { kWork, kStore, kKernel, kCluster, kCounter };

__host__ __device__ inline float value(int part, int head, int column) {
  return static_cast<float>((part * 7 + head * 3 + column) % 32) / 32.0f;
}
__host__ __device__ inline float lse_of(int part, int head) {
  return static_cast<float>((part * 5 + head) % 8) / 4.0f;
}

__device__ uint4 numbers(int part, int head, int chunk) {
  uint32_t words[4];
  for (int i = 0; i < 4; ++i) {
    const __half2 pair = __floats2half2_rn(value(part, head, chunk * 8 + 2 * i),
                                           value(part, head, chunk * 8 + 2 * i + 1));
    words[i] = *reinterpret_cast<const uint32_t*>(&pair);
  }
  return make_uint4(words[0], words[1], words[2], words[3]);
}

// Eight columns of a head for each of a thread's items, from `first` on in steps of `step`; 16
// loads are in flight. partial(p, item) and lse(p, item) say where part p's lie.
template <int kParts, class Partial, class Lse>
__device__ __forceinline__ void merge(int first, int end, int step, Partial partial, Lse lse,
                                      uint4* out) {
  constexpr int kItems = kParts < 16 ? 16 / kParts : 1;
#pragma unroll 1
  for (; first < end; first += step * kItems) {
    uint4 packed[kItems][kParts];
    float weight[kItems][kParts];
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      const int item = min(first + i * step, end - 1);
#pragma unroll
      for (int p = 0; p < kParts; ++p) {
        packed[i][p] = *partial(p, item);
        weight[i][p] = *lse(p, item);
      }
    }
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      float sum = 0, o[8] = {};
#pragma unroll
      for (int p = 0; p < kParts; ++p) {
        const float w = exp2f(weight[i][p]);
        sum += w;
        const auto* pairs = reinterpret_cast<const __half2*>(&packed[i][p]);
#pragma unroll
        for (int k = 0; k < 4; ++k) {
          const float2 pair = __half22float2(pairs[k]);
          o[2 * k] += w * pair.x;
          o[2 * k + 1] += w * pair.y;
        }
      }
      __half2 pairs[4];
      const float scale = 1.0f / sum;
#pragma unroll
      for (int k = 0; k < 4; ++k)
        pairs[k] = __floats2half2_rn(o[2 * k] * scale, o[2 * k + 1] * scale);
      if (first + i * step < end) out[first + i * step] = *reinterpret_cast<uint4*>(pairs);
    }
  }
}

struct Args {
  uint4* partial;   // [unit][part][head][chunk]
  float* lse;       // [unit][part][head]
  uint4* out;       // [unit][head][chunk]
  unsigned* count;  // [unit]: zero between calls
};

// The unit's items `first` to `end` - 1 from global memory.
template <int kParts>
__device__ __forceinline__ void merge_stored(const Args& args, int unit, int first, int end,
                                             int step) {
  const uint4* partial = args.partial + int64_t{unit} * kParts * kHeads * kChunks;
  const float* lse = args.lse + int64_t{unit} * kParts * kHeads;
  merge<kParts>(
      first, end, step, [&](int p, int item) { return partial + p * kHeads * kChunks + item; },
      [&](int p, int item) { return lse + p * kHeads + item / kChunks; },
      args.out + int64_t{unit} * kHeads * kChunks);
}

template <Way kWay, int kParts>
__global__ void __launch_bounds__(kThreads, 1) work(Args args) {
  extern __shared__ uint4 shared[];
  const int unit = blockIdx.x / kParts, part = blockIdx.x % kParts, t = threadIdx.x;
  float* shared_lse = reinterpret_cast<float*>(shared + kHeads * kChunks);
  asm volatile("griddepcontrol.launch_dependents;");
  const long long start = clock64();
  while (clock64() - start < 5200) {
  }
  if constexpr (kWay == Way::kWork) {
    if (args.lse == nullptr) args.out[t] = numbers(part, t, 0);
    return;
  }
  const bool on_chip = kWay == Way::kCluster;
  const int64_t at = int64_t{blockIdx.x} * kHeads;
  uint4* to = on_chip ? shared : args.partial + at * kChunks;
  float* lse_to = on_chip ? shared_lse : args.lse + at;
#pragma unroll 4
  for (int i = t; i < kHeads * kChunks; i += kThreads)
    to[i] = numbers(part, i / kChunks, i % kChunks);
  if (t < kHeads) lse_to[t] = lse_of(part, t);
  if constexpr (kWay == Way::kStore || kWay == Way::kKernel) return;
  constexpr int kShare = (kHeads * kChunks + kParts - 1) / kParts;
  const int end = min((part + 1) * kShare, kHeads * kChunks);
  if constexpr (kWay == Way::kCluster) {
    const auto cluster = cooperative_groups::this_cluster();
    cluster.sync();
    const uint4* partial[kParts];
    const float* lse[kParts];
#pragma unroll
    for (int p = 0; p < kParts; ++p) {
      partial[p] = cluster.map_shared_rank(shared, p);
      lse[p] = cluster.map_shared_rank(shared_lse, p);
    }
    merge<kParts>(
        part * kShare + t, end, kThreads, [&](int p, int item) { return partial[p] + item; },
        [&](int p, int item) { return lse[p] + item / kChunks; },
        args.out + int64_t{unit} * kHeads * kChunks);
    cluster.sync();
  } else {
    // All CTAs arrive before any leaves; the last to leave makes the counter zero again.
    __syncthreads();
    unsigned* count = args.count + unit;
    if (t == 0) {
      asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(count) : "memory");
      unsigned seen = 0;
      while (seen < kParts) {
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(count) : "memory");
      }
      if (atomicAdd(count, 1) == 2 * kParts - 1) *count = 0;
    }
    __syncthreads();
    merge_stored<kParts>(args, unit, part * kShare + t, end, kThreads);
  }
}

template <int kParts>
__global__ void __launch_bounds__(128) merge_kernel(Args args) {
  constexpr int kItems = kParts < 16 ? 16 / kParts : 1;
  asm volatile("griddepcontrol.wait;" ::: "memory");
  const int first = static_cast<int>(blockIdx.x) * 128 * kItems + threadIdx.x;
  const int end = min((static_cast<int>(blockIdx.x) + 1) * 128 * kItems, kHeads * kChunks);
  merge_stored<kParts>(args, blockIdx.y, first, end, 128);
}

template <Way kWay, int kParts>
int start(const Args& args, int units, bool cooperative) {
  auto kernel = work<kWay, kParts>;
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kShared);
  cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
  cudaLaunchAttribute attribute{};
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(units * kParts));
  config.blockDim = dim3(kThreads);
  config.dynamicSmemBytes = kShared;
  config.attrs = &attribute;
  if (kWay == Way::kCluster) {
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = kParts;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    config.numAttrs = 1;
    int most = 0;
    const cudaError_t status = cudaOccupancyMaxActiveClusters(&most, kernel, &config);
    if (status != cudaSuccess || most < units) return -1 - most;
  } else if (cooperative) {
    attribute.id = cudaLaunchAttributeCooperative;
    attribute.val.cooperative = 1;
    config.numAttrs = 1;
  }
  DSAKIT_MICRO_CHECK(cudaLaunchKernelEx(&config, kernel, args));
  if (kWay != Way::kKernel) return 1;
  constexpr unsigned kItems = 128 * (kParts < 16 ? 16 / kParts : 1);
  config.gridDim = dim3((kHeads * kChunks + kItems - 1) / kItems, static_cast<unsigned>(units));
  config.blockDim = dim3(128);
  config.dynamicSmemBytes = 0;
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  config.numAttrs = 1;
  DSAKIT_MICRO_CHECK(cudaLaunchKernelEx(&config, merge_kernel<kParts>, args));
  return 2;
}

bool right(const Args& args, int units, int parts) {
  std::vector<__half> out(static_cast<size_t>(units) * kHeads * kColumns);
  cudaMemcpy(out.data(), args.out, out.size() * 2, cudaMemcpyDeviceToHost);
  for (size_t i = 0; i < out.size(); i += 37) {
    const int head = static_cast<int>(i / kColumns % kHeads),
              column = static_cast<int>(i % kColumns);
    double sum = 0, o = 0;
    for (int p = 0; p < parts; ++p) {
      sum += std::exp2(lse_of(p, head));
      o += std::exp2(lse_of(p, head)) * value(p, head, column);
    }
    if (std::fabs(o / sum - static_cast<double>(__half2float(out[i]))) > 1e-3) return false;
  }
  return true;
}

template <Way kWay, int kParts>
void time(dsakit::micro::Spans& spans, const char* name, Args& args, int units, bool cooperative) {
  cudaMemset(args.out, 0, static_cast<size_t>(units) * kHeads * kColumns * 2);
  const int kernels = start<kWay, kParts>(args, units, cooperative);
  if (kernels < 1) {
    std::printf("  %-34s only %d clusters fit\n", name, -1 - kernels);
    return;
  }
  DSAKIT_MICRO_CHECK(cudaDeviceSynchronize());
  const bool bare = kWay == Way::kWork || kWay == Way::kStore;
  const char* verdict = bare || right(args, units, kParts) ? "" : "  WRONG";
  const double us = spans.median([&] { start<kWay, kParts>(args, units, cooperative); }, kernels);
  std::printf("  %-34s %6.2f us%s\n", name, us, verdict);
}

template <int kParts>
void compare(dsakit::micro::Spans& spans, Args& args, int units) {
  std::printf("%d units (a token's 64 heads) in %d parts each\n", units, kParts);
  time<Way::kWork, kParts>(spans, "work alone", args, units, false);
  time<Way::kWork, kParts>(spans, "work alone, cooperative launch", args, units, true);
  time<Way::kStore, kParts>(spans, "and partials stored", args, units, false);
  time<Way::kKernel, kParts>(spans, "merged by a second kernel", args, units, false);
  if (kParts <= 16) time<Way::kCluster, kParts>(spans, "merged in a cluster", args, units, false);
  time<Way::kCounter, kParts>(spans, "merged at counters, cooperative", args, units, true);
}

}  // namespace

int main() {
  dsakit::micro::Spans spans;
  Args args{};
  constexpr size_t kCtas = 132;
  DSAKIT_MICRO_CHECK(cudaMalloc(&args.partial, kCtas * kHeads * kColumns * 2));
  DSAKIT_MICRO_CHECK(cudaMalloc(&args.lse, kCtas * kHeads * 4));
  DSAKIT_MICRO_CHECK(cudaMalloc(&args.out, kCtas * kHeads * kColumns * 2));
  DSAKIT_MICRO_CHECK(cudaMalloc(&args.count, kCtas * 4));
  DSAKIT_MICRO_CHECK(cudaMemset(args.count, 0, kCtas * 4));
  compare<32>(spans, args, 2);
  compare<16>(spans, args, 7);
  compare<16>(spans, args, 8);
  compare<8>(spans, args, 8);
  compare<8>(spans, args, 16);
  compare<4>(spans, args, 30);
  compare<2>(spans, args, 64);
  return 0;
}
