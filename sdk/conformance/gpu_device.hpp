// A CUDA or HIP device through its driver, which is opened at run time and never linked: its
// memory, and what only a GPU has: streams, captured graphs, kernels from an image.
//
// Invariants: all work is in the device's primary context, where plugins work too. A driver that
// lacks the functions of streams and kernels still serves as memory; those calls then answer false
// or null. Any thread after use() in it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "sdk/conformance/device_memory.hpp"

namespace dsakit::conformance {

class GpuDevice final : public DeviceMemory {
 public:
  // Of kDLCUDA or kDLROCM, through the first library that can be opened (empty: those that
  // detect_devices() tries). Or why it cannot be used.
  static tl::expected<std::unique_ptr<GpuDevice>, std::string> open(
      DLDevice device, std::vector<std::string> libraries = {});
  ~GpuDevice() override;

  DLDevice device() const override;
  bool is_host() const override { return false; }
  bool use() override;
  void* allocate(std::size_t bytes) override;
  void release(void* memory) override;
  bool upload(void* to, const void* from, std::size_t bytes) override;
  bool download(void* to, const void* from, std::size_t bytes) override;
  bool fill(void* to, std::byte value, std::size_t bytes) override;
  bool synchronise() override;

  // "error 700 (an illegal memory access was encountered)" of the last call that failed.
  std::string last_error() const;
  std::optional<std::uint64_t> free_bytes();
  std::string pci_address();  // "0000:0a:00.0"; empty: unknown

  // Streams do not wait for the default stream, nor it for them. Null: refused.
  void* make_stream();
  void destroy_stream(void* stream);
  bool wait(void* stream);
  // Whether all work of the stream is done.
  bool idle(void* stream);
  // Work behind this in the stream starts once `released` is true.
  bool hold(void* stream, std::atomic<bool>& released);

  // Capture of a stream into a graph in the mode that forbids, in every thread, what may wait for
  // the device or allocate.
  bool begin_capture(void* stream);
  struct Graph {
    void* executable = nullptr;
    int nodes = 0;
    int allocations = 0;  // nodes that allocate or free
  };
  // Nothing if the capture was broken.
  std::optional<Graph> end_capture(void* stream);
  bool launch(const Graph& graph, void* stream);
  void destroy(const Graph& graph);

  // The function of an image (cubin, fatbin or PTX), which stays loaded. Null: refused.
  void* load_function(std::span<const unsigned char> image, const char* name);
  // On the default stream; waits for the end.
  bool launch(void* function, unsigned blocks, unsigned threads, unsigned shared_bytes,
              std::span<void*> arguments);
  // In a stream, without waiting.
  bool enqueue(void* function, unsigned blocks, unsigned threads, std::span<void*> arguments,
               void* stream);
  bool enqueue_fill(void* to, std::byte value, std::size_t bytes, void* stream);

  // Points in a stream; null: refused. microseconds() waits for the later one.
  void* make_event();
  void destroy_event(void* event);
  bool record(void* event, void* stream);
  std::optional<double> microseconds(void* from, void* to);

 private:
  struct Driver;
  GpuDevice(std::unique_ptr<Driver> driver, DLDevice device);
  bool done(int result);

  std::unique_ptr<Driver> driver_;
  DLDevice device_;
  std::atomic<int> last_error_{0};
};

}  // namespace dsakit::conformance
