// The cpu plugin on random keys of a pool larger than the caches, driven through its table as a
// host does, and OpenBLAS's sgemm beside it where that library is installed. `compare_cpu.py` sets
// both beside PyTorch.
#include <benchmark/benchmark.h>
#include <dlfcn.h>

#include <algorithm>
#include <ctime>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "dsakit/kv_layout.hpp"
#include "sdk/conformance/problem.hpp"

namespace {

using dsakit::conformance::Description;
using dsakit::conformance::Problem;

constexpr std::int64_t kTopk = 2048;
constexpr std::int64_t kPages = 1024;  // of 64 tokens

const dsakit_plugin& plugin() {
  static const dsakit_plugin* const table = [] {
    void* handle = dlopen(CPU_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) throw std::runtime_error(dlerror());
    const auto entry =
        reinterpret_cast<dsakit_plugin_entry_fn>(dlsym(handle, DSAKIT_PLUGIN_ENTRY_NAME));
    static dsakit_host host{};
    host.size = sizeof(host);
    host.abi_min = host.abi_max = DSAKIT_ABI_VERSION;
    return entry(&host);
  }();
  return *table;
}

double seconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// The shortest call, which a busy machine disturbs least: wall time and the process's CPU time.
class Best {
 public:
  template <class Call>
  void time(Call call) {
    const double wall = seconds(CLOCK_MONOTONIC);
    const double cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
    call();
    cpu_ = std::min(cpu_, seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu);
    wall_ = std::min(wall_, seconds(CLOCK_MONOTONIC) - wall);
  }
  void report(benchmark::State& state, double flops) const {
    state.counters["best_wall_ms"] = 1e3 * wall_;
    state.counters["best_cpu_ms"] = 1e3 * cpu_;
    state.counters["flops"] = flops;
  }

 private:
  double wall_ = std::numeric_limits<double>::infinity();
  double cpu_ = std::numeric_limits<double>::infinity();
};

void attention(benchmark::State& state, const char* phase, const char* layout,
               std::int64_t tokens) {
  Description text;
  text.phase = phase;
  text.layout = layout;
  text.batch = tokens;
  text.heads = state.range(0);
  text.threads = static_cast<std::int32_t>(state.range(1));
  text.topk = kTopk;
  text.pages = kPages;
  text.page_size = 64;
  text.invalid = 0.0;
  text.max_logits = text.odd_strides = false;
  Problem problem(text);
  dsakit_instance* instance = nullptr;
  dsakit_workspace needed{};
  needed.size = sizeof(needed);
  if (plugin().create(&problem.config, &instance, nullptr) != DSAKIT_RC_OK ||
      plugin().workspace(instance, tokens, &needed, nullptr) != DSAKIT_RC_OK) {
    state.SkipWithError("the plugin refused");
    return;
  }
  problem.set_workspace(needed.bytes, needed.alignment);
  Best best;
  for (auto _ : state)
    best.time([&] { benchmark::DoNotOptimize(plugin().run(instance, &problem.args, nullptr)); });
  plugin().destroy(instance);
  const std::int64_t width = problem.config.d_qk + problem.config.d_v;
  best.report(state, static_cast<double>(2 * tokens * text.heads * kTopk * width));
  state.counters["tokens"] = static_cast<double>(tokens);
}

void sgemm(benchmark::State& state) {
  using Sgemm = void (*)(int, int, int, int, int, int, float, const float*, int, const float*, int,
                         float, float*, int);
  void* library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    state.SkipWithError("OpenBLAS is not installed");
    return;
  }
  const auto call = reinterpret_cast<Sgemm>(dlsym(library, "cblas_sgemm"));
  const auto set_threads =
      reinterpret_cast<void (*)(int)>(dlsym(library, "openblas_set_num_threads"));
  const int threads = static_cast<int>(state.range(0));
  if (threads > 0) set_threads(threads);
  constexpr int kSize = 2048;
  constexpr std::size_t kElements = std::size_t{kSize} * kSize;
  const std::vector<float> a(kElements, 0.5F);
  const std::vector<float> b(kElements, 0.25F);
  std::vector<float> c(kElements);
  constexpr int kRowMajor = 101;
  constexpr int kPlain = 111;
  Best best;
  for (auto _ : state)
    best.time([&] {
      call(kRowMajor, kPlain, kPlain, kSize, kSize, kSize, 1.0F, a.data(), kSize, b.data(), kSize,
           0.0F, c.data(), kSize);
    });
  best.report(state, 2.0 * kSize * kSize * kSize);
}

// threads 0: all.
void shapes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"heads", "threads"})->UseRealTime();
  bench->Unit(benchmark::kMillisecond);
  for (const int threads : {1, 0})
    for (const int heads : {8, 16, 32, 64, 128}) bench->Args({heads, threads});
}

constexpr char kBf16[] = "bf16_1152";
constexpr char kFp8[] = "fp8_656_g128";
BENCHMARK_CAPTURE(attention, decode_bf16, "decode", kBf16, 1)->Apply(shapes);
BENCHMARK_CAPTURE(attention, decode_fp8, "decode", kFp8, 1)->Apply(shapes);
BENCHMARK_CAPTURE(attention, prefill_bf16, "prefill", kBf16, 8)->Apply(shapes);
BENCHMARK_CAPTURE(attention, prefill_fp8, "prefill", kFp8, 8)->Apply(shapes);
BENCHMARK(sgemm)->ArgName("threads")->Arg(1)->Arg(0)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
