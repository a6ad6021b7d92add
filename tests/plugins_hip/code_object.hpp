// What a code object says about its kernels: the AMDGPU metadata note, MessagePack in an ELF note
// of owner AMDGPU. Written from the published description of code object version 5. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace dsakit::test {

struct KernelArgument {
  std::uint64_t offset = 0, bytes = 0;
  std::string kind;  // by_value, global_buffer, hidden_block_count_x …
};

struct KernelFacts {
  std::vector<KernelArgument> arguments;
  std::uint64_t argument_bytes = 0, argument_align = 0;  // of the whole kernel-argument segment
  std::uint64_t lds_bytes = 0, private_bytes = 0, most_threads = 0, wave = 0;
  std::uint64_t vgprs = 0, agprs = 0, sgprs = 0, vgpr_spills = 0, sgpr_spills = 0;
  bool dynamic_stack = false;
};

// The code object for `target` ("gfx942") in an offload bundle; empty if it has none.
std::string_view code_object(const void* bundle, std::string_view target);

// By kernel name. Empty if the bytes are no code object with metadata.
std::map<std::string, KernelFacts> kernels_of(std::string_view code_object);

}  // namespace dsakit::test
