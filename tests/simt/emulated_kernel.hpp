// The kernels that the emulated HIP runtime can launch, by the names that they have in a bundle.
// Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace dsakit::simt {

struct EmulatedKernel {
  std::string_view name;
  std::size_t argument_bytes;  // of its one parameter
  unsigned threads;            // of a workgroup
  // Runs all workgroups and returns. `arguments`: argument_bytes, aligned to 16.
  void (*run)(unsigned workgroups, unsigned dynamic_lds_bytes, const void* arguments);
};

std::span<const EmulatedKernel> emulated_kernels();

// Runs a kernel of that name and returns; throws if there is none. Tests are written against it, so
// that another program can run the kernels elsewhere.
void launch(std::string_view name, std::int64_t workgroups, const void* arguments);

}  // namespace dsakit::simt
