#include "bench/gpu_bench.hpp"

#include <algorithm>

#include "bench/statistics.hpp"

namespace dsakit::cli {
namespace {

constexpr int kWarmCalls = 3, kCalls = 50, kCallsOfLong = 20;
constexpr double kLongCall = 500;  // microseconds

std::vector<double> times_of(const std::vector<CallSpan>& spans) {
  std::vector<double> times;
  for (const CallSpan& span : spans) times.push_back(span.us);
  return times;
}

// What is measured where there is no baseline to stand beside.
const Ceilings& usual_ceilings() {
  static const Ceilings kUsual{0, {{656, 1 << 21, 0}, {1152, 1 << 21, 0}}};
  return kUsual;
}

}  // namespace

tl::expected<std::unique_ptr<GpuBench>, Diagnostic> GpuBench::open(const DetectedDevice& device,
                                                                   std::uint64_t seed) {
  std::unique_ptr<GpuBench> bench(new GpuBench);
  auto lab = GpuLab::open(device.ordinal);
  if (!lab) return tl::make_unexpected(std::move(lab.error()));
  bench->ordinal_ = device.ordinal;
  bench->lab_ = std::move(*lab);
  bench->clock_ = std::make_unique<ClockReader>(bench->lab_->device().pci_address());
  bench->baseline_ = find_baseline(device.name);
  BenchSession& session = bench->session_;
  session.gpu = device;
  session.seed = seed;
  session.most_mhz = bench->clock_->most();
  const Ceilings& wanted = bench->baseline_ ? bench->baseline_->ceilings : usual_ceilings();
  if (auto done = measure_ceilings(*bench->lab_, wanted, session); !done)
    return tl::make_unexpected(std::move(done.error()));
  return bench;
}

tl::expected<void, Diagnostic> GpuBench::measure(PhaseRunner& runner, int calls, BenchLine& line) {
  auto call = GpuCall::make(*lab_, runner, line.shape, samples_, session_.seed);
  if (!call) return tl::make_unexpected(std::move(call.error()));
  const auto failure = [&](Diagnostic timing) {
    return tl::make_unexpected((*call)->failed() ? (*call)->error() : std::move(timing));
  };
  const auto clean = [&](int) { return (*call)->enqueue(Flush::clean); };
  if (!(*call)->spoil_outputs()) return tl::make_unexpected(lab_->failed("writing memory"));
  auto warm = lab_->time(kWarmCalls, clean);
  if (!warm) return failure(std::move(warm.error()));
  if (auto written = (*call)->check_outputs(); !written) return written;
  if (calls == 0) calls = quantile(times_of(*warm), 0.5) < kLongCall ? kCalls : kCallsOfLong;
  const auto spans = lab_->time(
      2 * calls, [&](int i) { return (*call)->enqueue(i % 2 == 0 ? Flush::clean : Flush::dirty); },
      [&] {
        if (const int mhz = clock_->now(); mhz > 0) session_.mhz.push_back(mhz);
      });
  if (!spans) return failure(spans.error());
  for (std::size_t i = 0; i < spans->size(); ++i) {
    const CallSpan& span = (*spans)[i];
    (i % 2 == 0 ? line.clean : line.dirty).push_back(span.us);
    line.activities = std::max(line.activities, span.activities);
  }
  const dsakit_config& config = runner.attention->config();
  line.key = {(*call)->layout().token_bytes, config.d_qk, config.d_v};
  line.work = work_of(line.shape, line.key);
  line.workspace_bytes = (*call)->workspace_bytes();
  return {};
}

}  // namespace dsakit::cli
