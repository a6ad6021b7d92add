// A GPU that calls are timed on: memory, one stream, fresh data written on the device, the flush of
// its cache, and the times of marked calls by activity records.
//
// Invariants: everything is enqueued in one stream, so that a call starts as soon as the flush
// before it has ended, launches of its other kernels included. One lab at a time; one thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "bench/activity.hpp"
#include "bench/kernel_args.hpp"
#include "diag/diagnostic.hpp"
#include "sdk/conformance/gpu_device.hpp"

namespace dsakit::cli {

// What is done to the cache before a call.
enum class Flush : std::uint8_t {
  clean,  // an 8-GB memset, then a read of 512 MB: no dirty line is left
  dirty,  // the memset alone: the call also pays for writing dirty lines back
};

class GpuLab {
 public:
  // E0806: no kernels in this build, no CUPTI, or the device refuses.
  static tl::expected<std::unique_ptr<GpuLab>, Diagnostic> open(int ordinal);
  ~GpuLab();

  conformance::GpuDevice& device() { return *device_; }
  void* stream() const { return stream_; }

  // Memory that lives until the returned pointer does. Throws std::bad_alloc.
  using Buffer = std::unique_ptr<void, std::function<void(void*)>>;
  Buffer make(std::size_t bytes);

  // Enqueue work; false: the driver refuses.
  bool fill(const QueryFill& fill);
  bool fill(const IndexFill& fill);
  bool fill(const LengthFill& fill);
  bool fill(const RowFill& fill);
  bool gather(const RowGather& gather);
  bool nothing();  // an empty kernel
  bool flush(Flush how);
  bool mark_before();
  bool mark_behind();
  bool wait();

  // Runs `enqueue` for 0 … count-1, which marks one call each time, and answers their spans in that
  // order. `while_busy` is called now and then until the device has finished. E0806.
  tl::expected<std::vector<CallSpan>, Diagnostic> time(
      int count, const std::function<bool(int)>& enqueue,
      const std::function<void()>& while_busy = {});

  // E0806 with the driver's last error.
  Diagnostic failed(const std::string& doing) const;

 private:
  GpuLab() = default;
  struct Kernels {
    void *queries, *indices, *lengths, *rows, *read, *gather, *empty;
  };
  bool load_kernels();
  template <class Arguments>
  bool enqueue(void* kernel, std::int64_t threads, const Arguments& arguments);

  std::unique_ptr<conformance::GpuDevice> device_;
  std::unique_ptr<ActivityRecorder> recorder_;
  Kernels kernels_{};
  void* stream_ = nullptr;
  Buffer dirty_, clean_, mark_;
  int flushes_ = 0;
};

}  // namespace dsakit::cli
