// A problem's memory on the device that the plugin runs on: the same bytes in device memory,
// gaps, garbage and canaries included, and the structs of the call with device pointers in them.
//
// Invariants: every tensor has an allocation of its own, so that a read past one is seen by
// compute-sanitizer; addresses stay the same while the object lives. Structs are translated as they
// are, mistakes included: a pointer that is not the problem's stays what it is. Where the problem
// is a host's, nothing is copied. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "sdk/conformance/device_memory.hpp"
#include "sdk/conformance/problem.hpp"

namespace dsakit::conformance {

class Staged {
 public:
  // `more`: tensors of the call that are not the problem's. Throws std::bad_alloc.
  Staged(DeviceMemory& memory, Problem& problem, const std::vector<HostTensor*>& more = {});
  ~Staged();
  Staged(const Staged&) = delete;
  Staged& operator=(const Staged&) = delete;

  // Everything to the device, or all but the workspace, as between two runs; false: the driver
  // refuses.
  bool upload();
  bool upload_tensors();
  // Waits for the device; then outputs and canary, or every tensor, to the host.
  bool download_outputs();
  bool download_all();
  // One tensor as it is now; waits for the default stream alone.
  bool download(const HostTensor& tensor);

  // The structs as they are now; valid until the next call of the same function.
  const dsakit_run_args& args();
  dsakit_kv_args args(const dsakit_kv_args& host);

 private:
  struct Region {
    std::byte* host;
    std::uint64_t bytes;
    std::byte* device;
    const HostTensor* tensor;  // null: the workspace
  };
  void add(HostTensor& tensor);
  void add_workspace();
  bool upload(const Region& region);
  bool upload_pages(const Region& region);
  bool download_canary();
  void* translate(void* host) const;
  const DLTensor* translate(const DLTensor* host);
  const dsakit_kv_cache* translate(const dsakit_kv_cache* host);

  DeviceMemory& memory_;
  Problem& problem_;
  std::vector<Region> regions_;
  std::vector<void*> owned_;
  std::deque<DLTensor> tensors_;
  std::deque<dsakit_kv_cache> caches_;
  dsakit_run_args args_{};
};

}  // namespace dsakit::conformance
