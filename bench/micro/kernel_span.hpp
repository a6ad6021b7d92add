// Spans of kernels by CUPTI, for the programs of this folder: each is one file and times one idea.
//
// A call's span is from its first kernel's start to its last kernel's end. Before each call L2 is
// flushed by a memset and a read of other memory, so that code and data are cold. Single threaded.
#pragma once

#include <cuda_runtime.h>
#include <cupti.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace dsakit::micro {

inline void check(int status, int line) {
  if (status == 0) return;
  std::printf("line %d: error %d\n", line, status);
  std::exit(1);
}
#define DSAKIT_MICRO_CHECK(call) dsakit::micro::check(static_cast<int>(call), __LINE__)

inline std::vector<std::pair<uint64_t, uint64_t>> kernel_times;

inline void CUPTIAPI give_buffer(uint8_t** buffer, size_t* size, size_t* records) {
  *size = 1 << 22;
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(8, *size));
  *records = 0;
}
inline void CUPTIAPI take_buffer(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t valid) {
  CUpti_Activity* record = nullptr;
  while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
    if (record->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) continue;
    const auto* kernel = reinterpret_cast<const CUpti_ActivityKernel10*>(record);
    kernel_times.push_back({kernel->start, kernel->end});
  }
  std::free(buffer);
}

__global__ void flush_read(const uint4* from, size_t count, uint4* to) {
  uint4 x = make_uint4(0, 0, 0, 0);
  for (size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x; i < count;
       i += size_t{gridDim.x} * blockDim.x) {
    x.x ^= from[i].x;
  }
  if (x.x == 0x1234567u) to[0] = x;
}

class Spans {
 public:
  Spans() {
    DSAKIT_MICRO_CHECK(cuptiActivityRegisterCallbacks(give_buffer, take_buffer));
    DSAKIT_MICRO_CHECK(cudaMalloc(&memory_, kFlush + kClean));
  }
  // Median microseconds of `call`, which starts `kernels` kernels.
  template <class Call>
  double median(Call call, int kernels, int calls = 25) {
    kernel_times.clear();
    DSAKIT_MICRO_CHECK(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
    for (int i = 0; i < calls; ++i) {
      DSAKIT_MICRO_CHECK(cudaMemset(memory_, i, kFlush));
      flush_read<<<1056, 256>>>(reinterpret_cast<uint4*>(memory_ + kFlush), kClean / 16,
                                reinterpret_cast<uint4*>(memory_));
      call();
    }
    DSAKIT_MICRO_CHECK(cudaDeviceSynchronize());
    DSAKIT_MICRO_CHECK(cuptiActivityFlushAll(1));
    DSAKIT_MICRO_CHECK(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
    std::sort(kernel_times.begin(), kernel_times.end());
    std::vector<double> spans;
    const size_t step = static_cast<size_t>(kernels) + 1;  // the flush reads by a kernel
    for (size_t i = 0; i + step <= kernel_times.size(); i += step) {
      uint64_t end = 0;
      for (size_t k = 1; k < step; ++k) end = std::max(end, kernel_times[i + k].second);
      spans.push_back(static_cast<double>(end - kernel_times[i + 1].first) * 1e-3);
    }
    std::sort(spans.begin(), spans.end());
    return spans.empty() ? 0 : spans[spans.size() / 2];
  }

 private:
  static constexpr size_t kFlush = size_t{1} << 31, kClean = size_t{1} << 29;
  uint8_t* memory_ = nullptr;
};

}  // namespace dsakit::micro
