// The kernels of common/hip on one device: found once for a configuration, launched for each call.
//
// Functions answer a hipError_t. An object is immutable once loaded; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "common/hip/runtime.hpp"
#include "common/hip/sparse_call.hpp"
#include "sdk/config.hpp"
#include "sdk/run_view.hpp"

namespace dsakit::hip {

// The device code that this build embeds.
const Bundle& sparse_bundle();

// The call that a checked view describes; lse conventions and rope come from the configuration.
Call make_call(const sdk::Config& config, const sdk::RunView& view);

// Workgroups that one launch can have.
constexpr std::int64_t most_workgroups(int threads) {
  return ((std::int64_t{1} << 32) - 1) / threads;
}

// Enqueues workgroups of a kernel with its one argument.
template <class Arguments>
int enqueue(Function function, std::int64_t workgroups, int threads, const Arguments& arguments,
            void* stream) {
  constexpr int kInvalidValue = 1;  // hipErrorInvalidValue
  if (workgroups > most_workgroups(threads)) return kInvalidValue;
  static_assert(std::is_trivially_copyable_v<Arguments> && std::is_standard_layout_v<Arguments>);
  return launch({.function = function,
                 .workgroups = static_cast<std::uint32_t>(workgroups),
                 .threads = static_cast<std::uint32_t>(threads),
                 .dynamic_lds = 0,
                 .argument = &arguments,
                 .argument_bytes = sizeof(arguments)},
                stream);
}

class SparseLaunch {
 public:
  // Finds the kernels for a configuration on its device, which is current. May allocate and
  // synchronise.
  int load(const sdk::Config& config);

  // Device memory for any call of the configuration, 256-byte aligned.
  std::uint64_t workspace_bytes() const;

  // Enqueues attention. Allocates nothing and waits for nothing.
  int run(const Call& call, void* workspace, void* stream) const;

  // Enqueues rows -> pool (append) or pool -> rows. `scale`: of the tensor, on the device, or null.
  int move_rows(const KvRows& rows, const float* scale, bool append, void* stream) const;

 private:
  int heads_ = 0, compute_units_ = 0;
  bool whole_ = false;
  Function attention_ = nullptr, merge_ = nullptr, append_ = nullptr, dequant_ = nullptr;
};

}  // namespace dsakit::hip
