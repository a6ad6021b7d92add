#include "bench/activity.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>

#include <fmt/format.h>

#include "device/driver_library.hpp"

namespace dsakit::cli {
namespace {

// Of CUPTI's activity API. Every version of the records that are read here begins alike: the kind,
// a word, then for memsets and copies the bytes, then start and end (checked by a test where the
// header is).
constexpr std::size_t kBytesAt = 8, kStartAt = 16, kEndAt = 24;
constexpr int kSuccess = 0;
enum RecordKind : std::uint32_t { kCopy = 1, kMemset = 2, kKernel = 10, kPeerCopy = 22 };
constexpr std::array kRecorded{kKernel, kMemset, kCopy, kPeerCopy};
constexpr std::size_t kBufferBytes = std::size_t{4} << 20;
constexpr std::uint32_t kEvenIfNotFull = 1;

using NextRecord = int(std::uint8_t*, std::size_t, std::uint8_t**);

// CUPTI hands buffers back on a thread of its own, without a word of whose they are.
struct Collected {
  std::mutex mutex;
  std::vector<Activity> activities;
  NextRecord* next = nullptr;
};

Collected& collected() {
  static Collected all;
  return all;
}

template <class T>
T read_at(const std::uint8_t* record, std::size_t offset) {
  T value;
  std::memcpy(&value, record + offset, sizeof(value));
  return value;
}

std::optional<Activity> read_record(const std::uint8_t* record) {
  Activity made;
  switch (read_at<std::uint32_t>(record, 0)) {
    case kKernel:
      break;
    case kMemset:
      made.kind = Activity::Kind::memset;
      break;
    case kCopy:
    case kPeerCopy:
      made.kind = Activity::Kind::copy;
      break;
    default:
      return std::nullopt;
  }
  if (made.kind != Activity::Kind::kernel) made.bytes = read_at<std::uint64_t>(record, kBytesAt);
  made.start = read_at<std::uint64_t>(record, kStartAt);
  made.end = read_at<std::uint64_t>(record, kEndAt);
  return made;
}

void give_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, kBufferBytes));
  *size = *buffer == nullptr ? 0 : kBufferBytes;
  *most_records = 0;
}

void take_buffer(void*, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  Collected& all = collected();
  const std::lock_guard lock(all.mutex);
  std::uint8_t* record = nullptr;
  while (all.next != nullptr && all.next(buffer, valid, &record) == kSuccess)
    if (const auto activity = read_record(record)) all.activities.push_back(*activity);
  std::free(buffer);
}

}  // namespace

struct ActivityRecorder::Library {
  int (*register_callbacks)(decltype(&give_buffer), decltype(&take_buffer));
  int (*enable)(std::uint32_t);
  int (*disable)(std::uint32_t);
  int (*flush)(std::uint32_t);
  int (*text)(int, const char**);
  NextRecord* next;

  explicit Library(const DriverLibrary& library) {
    const auto find = [&]<class F>(F*& to, const char* name) { to = library.function<F>(name); };
    find(register_callbacks, "cuptiActivityRegisterCallbacks");
    find(enable, "cuptiActivityEnable");
    find(disable, "cuptiActivityDisable");
    find(flush, "cuptiActivityFlushAll");
    find(text, "cuptiGetResultString");
    find(next, "cuptiActivityGetNextRecord");
  }

  bool complete() const { return register_callbacks && enable && disable && flush && text && next; }
};

std::vector<std::string> ActivityRecorder::libraries() {
  std::vector<std::string> names{"libcupti.so.13", "libcupti.so.12", "libcupti.so"};
  for (const char* folder : {"extras/CUPTI/lib64", "lib64", "targets/x86_64-linux/lib"})
    names.push_back(fmt::format("/usr/local/cuda/{}/libcupti.so", folder));
  return names;
}

tl::expected<std::unique_ptr<ActivityRecorder>, std::string> ActivityRecorder::open(
    const std::vector<std::string>& names) {
  const DriverLibrary opened(names);
  if (!opened) return tl::make_unexpected(opened.error());
  auto library = std::make_unique<Library>(opened);
  if (!library->complete())
    return tl::make_unexpected(
        fmt::format("{} lacks functions of the activity API", opened.name()));
  std::unique_ptr<ActivityRecorder> made(new ActivityRecorder(std::move(library)));
  if (!made->good(made->library_->register_callbacks(&give_buffer, &take_buffer),
                  "cuptiActivityRegisterCallbacks"))
    return tl::make_unexpected(made->error());
  return made;
}

ActivityRecorder::ActivityRecorder(std::unique_ptr<Library> library)
    : library_(std::move(library)) {
  collected().next = library_->next;
}

ActivityRecorder::~ActivityRecorder() = default;

bool ActivityRecorder::good(int result, const char* call) {
  if (result == kSuccess) return true;
  const char* text = nullptr;
  library_->text(result, &text);
  error_ = fmt::format("{} answered {} ({})", call, result, text != nullptr ? text : "unknown");
  return false;
}

bool ActivityRecorder::start() {
  {
    const std::lock_guard lock(collected().mutex);
    collected().activities.clear();
  }
  return std::ranges::all_of(kRecorded, [&](std::uint32_t kind) {
    return good(library_->enable(kind), "cuptiActivityEnable");
  });
}

bool ActivityRecorder::stop(std::vector<Activity>& done) {
  bool all = good(library_->flush(kEvenIfNotFull), "cuptiActivityFlushAll");
  for (const std::uint32_t kind : kRecorded)
    all = good(library_->disable(kind), "cuptiActivityDisable") && all;
  const std::lock_guard lock(collected().mutex);
  done = std::move(collected().activities);
  collected().activities.clear();
  std::ranges::sort(done, {}, &Activity::start);
  return all;
}

std::vector<CallSpan> spans_of_calls(std::span<const Activity> in_order) {
  std::vector<CallSpan> calls;
  std::uint64_t first = 0, last = 0;
  int count = -1;  // below 0: outside a call
  for (const Activity& each : in_order) {
    const bool memset = each.kind == Activity::Kind::memset;
    if (memset && each.bytes == kMarkBefore) {
      count = 0;
    } else if (memset && each.bytes == kMarkBehind) {
      if (count > 0) calls.push_back({static_cast<double>(last - first) * 1e-3, count});
      count = -1;
    } else if (count >= 0) {
      first = count == 0 ? each.start : first;
      last = count == 0 ? each.end : std::max(last, each.end);
      ++count;
    }
  }
  return calls;
}

}  // namespace dsakit::cli
