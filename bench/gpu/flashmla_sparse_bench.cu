// Times the Hopper sparse MLA kernels through their launch functions, for work on a kernel; `dsakit
// bench` times plugins.
//
//   flashmla_sparse_bench | flashmla_kv_bench [--calls N] [--case h,T,s_kv[,topk[,mode]]]...
//   mode: shared (one pool of s_kv rows, default), disjoint (each token has its own s_kv rows),
//         overlap (85 % of a list is also in the next token's), padded (rows and queries 16 bytes
//         further apart), lengths (topk_length evenly spread over 0 ... topk)
//
// Before every call: new indices, queries and (once a case) keys; then L2 is flushed by an 8-GB
// memset and a read of 512 MB, so that no dirty line is left. A call's time is the span from its
// first kernel's start to its last kernel's end by CUPTI activity records. Prints median, p10, p90.
#include <cupti.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "sparse_data.cuh"

#ifdef DSAKIT_TEST_FP8
#include "flashmla_kv/sparse_mla_fp8.hpp"
namespace sp = dsakit::sparse::fp8;
#else
#include "flashmla_sparse/sparse_mla.hpp"
namespace sp = dsakit::sparse;
#endif

namespace dsakit::test {
namespace {

using dsakit::sparse::Plan;
using dsakit::sparse::Problem;
using dsakit::sparse::Tensors;

#ifdef DSAKIT_TEST_FP8
constexpr Rows kRows = Rows::kFp8Pow2;
constexpr int kRowBytes = 656;
#else
constexpr Rows kRows = Rows::kBf16;
constexpr int kRowBytes = 1152;
#endif

#define DSAKIT_CUPTI(call)                                                 \
  do {                                                                     \
    const CUptiResult status_ = (call);                                    \
    if (status_ != CUPTI_SUCCESS) {                                        \
      const char* text_ = nullptr;                                         \
      cuptiGetResultString(status_, &text_);                               \
      std::printf("%s:%d: %s\n", __FILE__, __LINE__, text_ ? text_ : "?"); \
      std::exit(3);                                                        \
    }                                                                      \
  } while (0)

struct Span {
  uint64_t start, end;
  bool attention, merge;
};
std::vector<Span> spans;
std::vector<double> first_kernel;  // its duration in each call

void CUPTIAPI give_buffer(uint8_t** buffer, size_t* size, size_t* records) {
  *size = 1 << 22;
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(8, *size));
  *records = 0;
}

void CUPTIAPI take_buffer(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t valid) {
  CUpti_Activity* record = nullptr;
  while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
    if (record->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) continue;
    const auto* kernel = reinterpret_cast<const CUpti_ActivityKernel10*>(record);
    const bool attention = std::strstr(kernel->name, "attention_kernel") != nullptr ||
                           std::strstr(kernel->name, "gather_kernel") != nullptr ||
                           std::strstr(kernel->name, "empty_kernel") != nullptr;
    const bool merge = std::strstr(kernel->name, "merge_kernel") != nullptr;
    if (attention || merge) spans.push_back({kernel->start, kernel->end, attention, merge});
  }
  std::free(buffer);
}

__global__ void read_kernel(const uint4* from, size_t count, uint4* to) {
  uint4 x = make_uint4(0, 0, 0, 0);
  for (size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x; i < count;
       i += size_t{gridDim.x} * blockDim.x) {
    const uint4 v = from[i];
    x.x ^= v.x;
    x.y ^= v.y;
  }
  if (x.x == 0x1234567u && x.y == 77) to[0] = x;
}

// The gather ceiling: random rows of kRowBytes by plain 16-byte loads.
__global__ void gather_kernel(const uint4* pool, const int* rows, int count, uint4* out) {
  const int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  uint4 x = make_uint4(0, 0, 0, 0);
  for (int r = warp; r < count; r += gridDim.x * blockDim.x / 32) {
    const uint4* row = pool + int64_t{rows[r]} * (kRowBytes / 16);
    for (int i = lane; i < kRowBytes / 16; i += 32) {
      const uint4 v = row[i];
      x.x ^= v.x;
      x.y ^= v.y;
      x.z ^= v.z;
      x.w ^= v.w;
    }
  }
  if (x.x == 0x12345678u) out[warp] = x;
}

__global__ void empty_kernel() {}

constexpr size_t kFlush = size_t{8} << 30, kClean = size_t{1} << 29;

struct Bench {
  uint8_t *flush = nullptr, *clean = nullptr;
  int max_ctas = 0, calls = 20;
  bool profile = false;  // run each case three times, without timing

  void flush_l2(int value) {
    DSAKIT_CHECK(cudaMemsetAsync(flush, value, kFlush));
    read_kernel<<<1056, 256>>>(reinterpret_cast<uint4*>(clean), kClean / 16,
                               reinterpret_cast<uint4*>(flush));
  }

  template <class F>
  static std::vector<double> collect(F call_all, int calls, int kernels) {
    spans.clear();
    DSAKIT_CUPTI(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
    call_all();
    DSAKIT_CHECK(cudaDeviceSynchronize());
    DSAKIT_CUPTI(cuptiActivityFlushAll(1));
    DSAKIT_CUPTI(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
    std::sort(spans.begin(), spans.end(),
              [](const Span& a, const Span& b) { return a.start < b.start; });
    std::vector<double> times;
    first_kernel.clear();
    for (int i = 0; i + kernels <= static_cast<int>(spans.size()); i += kernels) {
      uint64_t end = 0;
      for (int k = 0; k < kernels; ++k) end = std::max(end, spans[i + k].end);
      first_kernel.push_back(static_cast<double>(spans[i].end - spans[i].start) * 1e-3);
      times.push_back(static_cast<double>(end - spans[i].start) * 1e-3);
    }
    if (static_cast<int>(times.size()) != calls) {
      std::printf("expected %d calls, saw %zu\n", calls, times.size());
    }
    std::sort(times.begin(), times.end());
    std::sort(first_kernel.begin(), first_kernel.end());
    return times;
  }

  void report(const char* name, const std::vector<double>& t, double flop, double bytes) const {
    if (t.empty()) return;
    const double us = t[t.size() / 2];
    std::printf("%-44s %9.2f us  p10 %9.2f  p90 %9.2f", name, us, t[t.size() / 10],
                t[t.size() * 9 / 10]);
    std::printf("  first kernel %8.2f", first_kernel[first_kernel.size() / 2]);
    if (flop > 0) std::printf("  %6.1f TFLOPS", flop / us * 1e-6);
    if (bytes > 0) std::printf("  %5.2f TB/s", bytes / us * 1e-6);
    std::printf("\n");
    std::fflush(stdout);
  }

  void ceilings() {
    constexpr int kCount = 1 << 19;
    const size_t pool = size_t{32} << 30;
    uint8_t* data = nullptr;
    int* rows = nullptr;
    DSAKIT_CHECK(cudaMalloc(&data, pool));
    DSAKIT_CHECK(cudaMemset(data, 1, pool));
    DSAKIT_CHECK(cudaMalloc(&rows, kCount * 4));
    Layout l;
    l.tokens = 1;
    l.topk = kCount;
    l.slots = static_cast<uint32_t>(pool / kRowBytes);
    fill_indices<<<kCount / 256, 256>>>(rows, l, 5, kCount, 0.0f, false);
    auto times = collect(
        [&] {
          for (int i = 0; i < 9; ++i) {
            flush_l2(i);
            gather_kernel<<<132 * 8, 256>>>(reinterpret_cast<uint4*>(data), rows, kCount,
                                            reinterpret_cast<uint4*>(flush));
          }
        },
        9, 1);
    report("gather ceiling, 524288 rows", times, 0, 1.0 * kRowBytes * kCount);
    times = collect(
        [&] {
          for (int i = 0; i < 9; ++i) {
            flush_l2(i);
            empty_kernel<<<1, 32>>>();
          }
        },
        9, 1);
    report("empty kernel", times, 0, 0);
    cudaFree(data);
    cudaFree(rows);
  }

  void time_case(int heads, int tokens, int s_kv, int topk, const std::string& mode, int d_qk) {
    Layout l;
    l.tokens = tokens;
    l.heads = heads;
    l.topk = topk;
    l.d_qk = d_qk;
    l.rows = kRows;
    const int gap = mode == "padded" ? 16 : 0;
    l.kv_row = l.row_bytes() + gap;
    l.page_size = kRows == Rows::kBf16 ? 1 : 64;
    l.kv_page = l.page_size * l.kv_row;
    l.slots = static_cast<uint32_t>(s_kv);
    if (mode == "disjoint") {
      l.pool_rows_per_token = static_cast<uint32_t>(s_kv);
      l.slots *= static_cast<uint32_t>(tokens);
    }
    if (mode == "overlap") l.overlap = 0.85f;
    uint8_t *kv = nullptr, *workspace = nullptr;
    int* indices = nullptr;
    __nv_bfloat16 *q = nullptr, *out = nullptr;
    float *lse = nullptr, *sink = nullptr;
    int* lengths = nullptr;
    const size_t rows = static_cast<size_t>(tokens) * heads;
    const size_t workspace_bytes = sp::workspace_bytes(heads, max_ctas);
    DSAKIT_CHECK(cudaMalloc(&kv, static_cast<size_t>(l.kv_row) * l.slots));
    DSAKIT_CHECK(cudaMalloc(&indices, static_cast<size_t>(tokens) * topk * 4));
    const int q_head = d_qk + gap / 2;
    DSAKIT_CHECK(cudaMalloc(&q, rows * q_head * 2));
    DSAKIT_CHECK(cudaMalloc(&out, rows * 1024));
    DSAKIT_CHECK(cudaMalloc(&lse, rows * 4));
    DSAKIT_CHECK(cudaMalloc(&sink, size_t{4} * 128));
    DSAKIT_CHECK(cudaMemset(sink, 0, size_t{4} * 128));
    DSAKIT_CHECK(cudaMalloc(&workspace, workspace_bytes));
    fill_all_rows<<<l.slots, 128>>>(kv, l, 3);
    Problem p;
    Tensors& t = p.tensors;
    t.q = q;
    t.q_token.inner = heads * q_head * 2;
    t.q_head = q_head * 2;
    t.kv = kv;
    t.kv_page = l.kv_page;
    t.kv_row = l.kv_row;
    t.page_size = l.page_size;
    t.slots = l.slots;
    t.indices = indices;
    t.index_token.inner = topk;
    t.out = out;
    t.out_token.inner = heads * 1024;
    t.out_head = 1024;
    t.lse = lse;
    if (kRows != Rows::kBf16) t.sink = sink;  // as the figures to compare with
    t.lse_token.inner = heads;
    t.lse_head = 1;
    t.tokens_inner = tokens;
    p.tokens = tokens;
    p.heads = heads;
    p.topk = topk;
    p.rope = d_qk == 576;
    p.lse_empty = INFINITY;
    p.scale = 1.0f / std::sqrt(static_cast<float>(d_qk));
    if (mode == "lengths") {
      std::vector<int> host(static_cast<size_t>(tokens));
      for (int i = 0; i < tokens; ++i)
        host[i] = static_cast<int>(int64_t{i} * topk / std::max(tokens - 1, 1));
      std::shuffle(host.begin(), host.end(), std::mt19937(1));
      DSAKIT_CHECK(cudaMalloc(&lengths, host.size() * 4));
      DSAKIT_CHECK(cudaMemcpy(lengths, host.data(), host.size() * 4, cudaMemcpyHostToDevice));
      t.length = lengths;
    }
    const Plan plan = sp::make_plan(tokens, heads, topk, max_ctas);
    const unsigned entries = static_cast<unsigned>(tokens) * static_cast<unsigned>(topk);
    const auto call = [&](int i) {
      fill_indices<<<(entries + 255) / 256, 256>>>(indices, l, 100 + i, topk, 0.0f, false);
      fill_q<<<static_cast<unsigned>(rows), 128>>>(q, tokens, heads, d_qk, int64_t{heads} * q_head,
                                                   q_head, 7 + i, Data::kNormal);
      flush_l2(i);
      DSAKIT_CHECK(sp::launch(p, plan, workspace, nullptr));
    };
    call(-1);
    call(-2);
    DSAKIT_CHECK(cudaDeviceSynchronize());
    if (profile) return;
    const auto times = collect(
        [&] {
          for (int i = 0; i < calls; ++i) call(i);
        },
        calls, plan.merge || (lengths != nullptr && tokens > 1) ? 2 : 1);
    char name[96];
    std::snprintf(name, sizeof name, "h%-3d T%-4d s_kv %-6d topk %d %s g%d%s", heads, tokens, s_kv,
                  topk, mode.c_str(), plan.groups, plan.merge ? "m" : "");
    report(name, times, 2.0 * heads * topk * (d_qk + 512) * tokens,
           static_cast<double>(tokens) * topk * l.kv_row + rows * 2176.0);
    for (void* pointer :
         {static_cast<void*>(kv), static_cast<void*>(indices), static_cast<void*>(q),
          static_cast<void*>(out), static_cast<void*>(lse), static_cast<void*>(workspace),
          static_cast<void*>(sink), static_cast<void*>(lengths)}) {
      cudaFree(pointer);
    }
  }
};

}  // namespace
}  // namespace dsakit::test

int main(int argc, char** argv) {
  using namespace dsakit::test;
  Bench bench;
  int error = 0;
  bench.max_ctas = sp::device_ctas(0, &error);
  if (bench.max_ctas == 0) {
    std::printf("no device for these kernels: %s\n",
                cudaGetErrorString(static_cast<cudaError_t>(error)));
    return 2;
  }
  bool cupti = true;
  for (int i = 1; i < argc; ++i) cupti &= std::strcmp(argv[i], "--profile") != 0;
  if (cupti) DSAKIT_CUPTI(cuptiActivityRegisterCallbacks(give_buffer, take_buffer));
  DSAKIT_CHECK(cudaMalloc(&bench.flush, kFlush));
  DSAKIT_CHECK(cudaMalloc(&bench.clean, kClean));
  DSAKIT_CHECK(cudaMemset(bench.clean, 0, kClean));
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--calls") == 0) bench.calls = std::atoi(argv[i + 1]);
    if (std::strcmp(argv[i], "--profile") == 0) bench.profile = std::atoi(argv[i + 1]) != 0;
  }
  if (!bench.profile) bench.ceilings();
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--case") != 0) continue;
    int h = 128, t = 1, s_kv = 131072, topk = 2048;
    char mode[16] = "shared";
    std::sscanf(argv[i + 1], "%d,%d,%d,%d,%15s", &h, &t, &s_kv, &topk, mode);
    bench.time_case(h, t, s_kv, topk, mode, 576);
  }
  return 0;
}
