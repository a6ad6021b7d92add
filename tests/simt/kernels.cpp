// The kernels of the HIP plugins, compiled for the emulator from the source that is compiled for
// GPUs.
#define DSAKIT_SIMT_BACKEND "simt/wave_backend.hpp"
#include "common/hip/sparse.hip"

#include <algorithm>
#include <atomic>

#include "simt/emulated_kernel.hpp"

namespace dsakit::simt {
namespace {

std::atomic<std::uint64_t> next_seed{1};

template <auto kKernel, class Arguments, int kThreads>
void run_kernel(unsigned workgroups, unsigned, const void* arguments) {
  const auto& typed = *static_cast<const Arguments*>(arguments);
  run_grid(workgroups, kThreads, next_seed++, [&typed] { kKernel(typed); });
}

template <auto kKernel, class Arguments, int kThreads>
constexpr EmulatedKernel kernel(std::string_view name) {
  return {name, sizeof(Arguments), kThreads, run_kernel<kKernel, Arguments, kThreads>};
}

#define DSAKIT_EMULATED(name, arguments, threads) kernel<name, hip::arguments, threads>(#name),
#define DSAKIT_EMULATED_KIND(kind, keys, rows)                                \
  DSAKIT_EMULATED(dsakit_attention_##kind##_rope_w1, AttentionArguments, 64)  \
  DSAKIT_EMULATED(dsakit_attention_##kind##_rope_w4, AttentionArguments, 256) \
  DSAKIT_EMULATED(dsakit_attention_##kind##_nope_w1, AttentionArguments, 64)  \
  DSAKIT_EMULATED(dsakit_attention_##kind##_nope_w4, AttentionArguments, 256) \
  DSAKIT_EMULATED(dsakit_kv_append_##kind, RowArguments, 64)                  \
  DSAKIT_EMULATED(dsakit_kv_dequant_##kind, RowArguments, 64)

#define DSAKIT_EMULATED_LIST(name, body) DSAKIT_EMULATED(name, ListArguments, 64)

constexpr EmulatedKernel kKernels[] = {DSAKIT_KINDS(DSAKIT_EMULATED_KIND) DSAKIT_EMULATED(
    dsakit_merge, MergeArguments, 64) DSAKIT_LIST_KERNELS(DSAKIT_EMULATED_LIST)};

}  // namespace

std::span<const EmulatedKernel> emulated_kernels() {
  return kKernels;
}

void launch(std::string_view name, std::int64_t workgroups, const void* arguments) {
  const auto found = std::ranges::find(kKernels, name, &EmulatedKernel::name);
  if (found == std::end(kKernels)) throw Fault("no kernel " + std::string(name));
  found->run(static_cast<unsigned>(workgroups), 0, arguments);
}

}  // namespace dsakit::simt
