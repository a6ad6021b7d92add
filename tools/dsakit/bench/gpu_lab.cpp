#include "bench/gpu_lab.hpp"

#include <algorithm>
#include <chrono>
#include <new>
#include <span>
#include <thread>

#include <fmt/format.h>

#ifdef DSAKIT_HAVE_BENCH_KERNELS
extern "C" const unsigned char dsakit_bench_image[];
extern "C" const std::uint64_t dsakit_bench_image_size;
#endif

namespace dsakit::cli {
namespace {

constexpr std::size_t kDirtyBytes = std::size_t{8} << 30, kCleanBytes = std::size_t{512} << 20;
constexpr unsigned kMostBlocks = 132 * 16, kReadBlocks = 1056;
constexpr std::int64_t kUnit = 16;
constexpr auto kLookAgain = std::chrono::milliseconds(2);

std::span<const unsigned char> bench_image() {
#ifdef DSAKIT_HAVE_BENCH_KERNELS
  return {dsakit_bench_image, dsakit_bench_image_size};
#else
  return {};
#endif
}

Diagnostic cannot_time(std::string reason) {
  return Diagnostic(Code::E0806).with("reason", std::move(reason));
}

}  // namespace

tl::expected<std::unique_ptr<GpuLab>, Diagnostic> GpuLab::open(int ordinal) {
  if (bench_image().empty())
    return tl::make_unexpected(
        cannot_time("this build has no kernels of `dsakit bench`")
            .note("they are built where a CUDA compiler is found; `dsakit doctor` says why not"));
  std::unique_ptr<GpuLab> lab(new GpuLab);
  auto recorder = ActivityRecorder::open();
  if (!recorder)
    return tl::make_unexpected(
        cannot_time(fmt::format("CUPTI cannot be used: {}", recorder.error()))
            .note("CUPTI comes with the CUDA toolkit; name its folder in LD_LIBRARY_PATH"));
  lab->recorder_ = std::move(*recorder);
  auto device = conformance::GpuDevice::open({kDLCUDA, ordinal});
  if (!device) return tl::make_unexpected(cannot_time(device.error()));
  lab->device_ = std::move(*device);
  lab->stream_ = lab->device_->make_stream();
  if (lab->stream_ == nullptr || !lab->load_kernels())
    return tl::make_unexpected(lab->failed("loading kernels"));
  lab->dirty_ = lab->make(kDirtyBytes);
  lab->clean_ = lab->make(kCleanBytes);
  lab->mark_ = lab->make(std::max(kMarkBefore, kMarkBehind));
  if (!lab->device_->enqueue_fill(lab->clean_.get(), std::byte{1}, kCleanBytes, lab->stream_) ||
      !lab->wait())
    return tl::make_unexpected(lab->failed("writing memory"));
  return lab;
}

GpuLab::~GpuLab() {
  if (device_ && stream_ != nullptr) device_->destroy_stream(stream_);
}

bool GpuLab::load_kernels() {
  const auto load = [&](const char* name) { return device_->load_function(bench_image(), name); };
  kernels_ = {load("dsakit_bench_queries"), load("dsakit_bench_indices"),
              load("dsakit_bench_lengths"), load("dsakit_bench_rows"),
              load("dsakit_bench_read"),    load("dsakit_bench_gather"),
              load("dsakit_bench_empty")};
  const void* all[] = {kernels_.queries, kernels_.indices, kernels_.lengths, kernels_.rows,
                       kernels_.read,    kernels_.gather,  kernels_.empty};
  return std::ranges::all_of(all, [](const void* each) { return each != nullptr; });
}

GpuLab::Buffer GpuLab::make(std::size_t bytes) {
  void* made = device_->allocate(bytes);
  if (made == nullptr) throw std::bad_alloc();
  return {made, [this](void* memory) { device_->release(memory); }};
}

Diagnostic GpuLab::failed(const std::string& doing) const {
  return cannot_time(fmt::format("{} failed: {}", doing, device_->last_error()));
}

template <class Arguments>
bool GpuLab::enqueue(void* kernel, std::int64_t threads, const Arguments& arguments) {
  if (threads <= 0) return true;
  const std::int64_t blocks = (threads + kBenchThreads - 1) / kBenchThreads;
  Arguments copy = arguments;
  void* pointers[] = {&copy};
  return device_->enqueue(kernel,
                          static_cast<unsigned>(std::min<std::int64_t>(blocks, kMostBlocks)),
                          kBenchThreads, pointers, stream_);
}

bool GpuLab::fill(const QueryFill& fill) {
  return enqueue(kernels_.queries, fill.tokens * fill.heads * fill.width, fill);
}

bool GpuLab::fill(const IndexFill& fill) {
  return enqueue(kernels_.indices, fill.tokens * fill.topk, fill);
}

bool GpuLab::fill(const LengthFill& fill) {
  return enqueue(kernels_.lengths, fill.tokens, fill);
}

bool GpuLab::fill(const RowFill& fill) {
  return enqueue(kernels_.rows, fill.rows * 32, fill);
}

bool GpuLab::gather(const RowGather& gather) {
  RowGather copy = gather;
  copy.never = mark_.get();
  void* pointers[] = {&copy};
  return device_->enqueue(kernels_.gather, kReadBlocks, kBenchThreads, pointers, stream_);
}

bool GpuLab::nothing() {
  return device_->enqueue(kernels_.empty, 1, 32, {}, stream_);
}

bool GpuLab::flush(Flush how) {
  const auto value = static_cast<std::byte>(++flushes_ & 0x7F);
  bool done = device_->enqueue_fill(dirty_.get(), value, kDirtyBytes, stream_);
  if (how == Flush::dirty) return done;
  BufferRead read{clean_.get(), static_cast<std::int64_t>(kCleanBytes) / kUnit, mark_.get()};
  void* pointers[] = {&read};
  return done && device_->enqueue(kernels_.read, kReadBlocks, kBenchThreads, pointers, stream_);
}

bool GpuLab::mark_before() {
  return device_->enqueue_fill(mark_.get(), std::byte{0}, kMarkBefore, stream_);
}

bool GpuLab::mark_behind() {
  return device_->enqueue_fill(mark_.get(), std::byte{0}, kMarkBehind, stream_);
}

bool GpuLab::wait() {
  return device_->wait(stream_);
}

tl::expected<std::vector<CallSpan>, Diagnostic> GpuLab::time(
    int count, const std::function<bool(int)>& enqueue, const std::function<void()>& while_busy) {
  if (!device_->synchronise()) return tl::make_unexpected(failed("waiting"));
  const auto records_failed = [&] { return tl::make_unexpected(cannot_time(recorder_->error())); };
  if (!recorder_->start()) return records_failed();
  bool good = true;
  for (int i = 0; good && i < count; ++i) good = enqueue(i);
  while (good && while_busy && !device_->idle(stream_)) {
    while_busy();
    std::this_thread::sleep_for(kLookAgain);
  }
  const bool ended = device_->synchronise();
  std::vector<Activity> done;
  if (!recorder_->stop(done)) return records_failed();
  if (!good || !ended) return tl::make_unexpected(failed("a timed call"));
  auto spans = spans_of_calls(done);
  if (spans.size() != static_cast<std::size_t>(count))
    return tl::make_unexpected(
        cannot_time(fmt::format("{} calls were made, and CUPTI recorded {}", count, spans.size())));
  return spans;
}

}  // namespace dsakit::cli
