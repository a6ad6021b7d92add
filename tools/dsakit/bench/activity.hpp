// What a GPU did and when, from CUPTI's activity records: kernels, memsets and copies of the whole
// process, on every stream. CUPTI is opened at run time; nothing here needs its headers.
//
// Invariants: one Recorder at a time in a process. Times are nanoseconds of one clock. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <tl/expected.hpp>

namespace dsakit::cli {

struct Activity {
  enum class Kind : std::uint8_t { kernel, memset, copy };
  Kind kind = Kind::kernel;
  std::uint64_t start = 0, end = 0;
  std::uint64_t bytes = 0;  // of memsets and copies
};

class ActivityRecorder {
 public:
  // The libraries that are tried, in this order.
  static std::vector<std::string> libraries();
  // Or why none can be used.
  static tl::expected<std::unique_ptr<ActivityRecorder>, std::string> open(
      const std::vector<std::string>& names = libraries());
  ~ActivityRecorder();
  ActivityRecorder(const ActivityRecorder&) = delete;
  ActivityRecorder& operator=(const ActivityRecorder&) = delete;

  // False: CUPTI refuses, as it does where another tool records already; error() says why.
  bool start();
  // What was done since start(), in order of its start. The device must be idle.
  bool stop(std::vector<Activity>& done);
  const std::string& error() const { return error_; }

 private:
  struct Library;
  explicit ActivityRecorder(std::unique_ptr<Library> library);
  bool good(int result, const char* call);

  std::unique_ptr<Library> library_;
  std::string error_;
};

// Memsets of these many bytes stand before and behind every call that is timed.
inline constexpr std::uint64_t kMarkBefore = 1237, kMarkBehind = 1249;

// The span of each marked call, from its first activity's start to its last one's end, in
// microseconds, and how many activities it was. An unfinished mark is no call.
struct CallSpan {
  double us = 0;
  int activities = 0;
};
std::vector<CallSpan> spans_of_calls(std::span<const Activity> in_order);

}  // namespace dsakit::cli
