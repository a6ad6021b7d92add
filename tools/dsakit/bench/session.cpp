#include "bench/session.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include <fmt/format.h>

#include "bench/matrix_product.hpp"
#include "bench/statistics.hpp"

namespace dsakit::cli {
namespace {

constexpr double kMostOff = 0.03;
constexpr int kGatherCalls = 21, kProductCalls = 10, kWarmProducts = 3, kEmptyCalls = 21;
constexpr int kProductSize = 8192;
constexpr std::size_t kGatherPool = std::size_t{48} << 30;

using Done = tl::expected<void, Diagnostic>;

// The microseconds of each of `count` pieces of work, between events; `before` is not timed.
tl::expected<std::vector<double>, Diagnostic> time_by_events(GpuLab& lab, int count,
                                                             const std::function<bool()>& before,
                                                             const std::function<bool()>& work) {
  auto& device = lab.device();
  void* const from = device.make_event();
  void* const to = device.make_event();
  std::vector<double> times;
  bool good = from != nullptr && to != nullptr;
  for (int i = 0; good && i < count; ++i) {
    good =
        before() && device.record(from, lab.stream()) && work() && device.record(to, lab.stream());
    const auto us = good ? device.microseconds(from, to) : std::nullopt;
    good = us.has_value();
    if (good) times.push_back(*us);
  }
  device.destroy_event(from);
  device.destroy_event(to);
  if (!good) return tl::make_unexpected(lab.failed("measuring a ceiling"));
  return times;
}

Done measure_gather(GpuLab& lab, const Ceilings& wanted, BenchSession& session) {
  const std::size_t free = lab.device().free_bytes().value_or(kGatherPool * 2);
  const std::size_t bytes = std::min(kGatherPool, free / 10 * 8);
  const auto pool = lab.make(bytes);
  if (!lab.device().enqueue_fill(pool.get(), std::byte{1}, bytes, lab.stream()))
    return tl::make_unexpected(lab.failed("writing memory"));
  for (const GatherCeiling& each : wanted.gather) {
    const auto list = lab.make(static_cast<std::size_t>(each.rows) * sizeof(std::int32_t));
    IndexFill fill;
    fill.to = static_cast<std::int32_t*>(list.get());
    fill.tokens = 1;
    fill.topk = fill.row_stride = each.rows;
    fill.pool = static_cast<std::int64_t>(bytes) / each.row_bytes;
    fill.seed = session.seed;
    const RowGather gather{pool.get(), fill.to, each.rows,
                           static_cast<std::int32_t>(each.row_bytes / 16), nullptr};
    if (!lab.fill(fill)) return tl::make_unexpected(lab.failed("writing indices"));
    const auto times = time_by_events(
        lab, kGatherCalls, [&] { return lab.flush(Flush::clean); },
        [&] { return lab.gather(gather); });
    if (!times) return tl::make_unexpected(times.error());
    const auto moved = static_cast<double>(each.rows * each.row_bytes);
    session.ceilings.gather.push_back(
        {each.row_bytes, each.rows, moved / quantile(*times, 0.5) * 1e-6});
  }
  return {};
}

Done measure_gemm(GpuLab& lab, BenchSession& session) {
  auto product = MatrixProduct::open(lab.stream());
  if (!product) {
    session.no_gemm = product.error();
    return {};
  }
  constexpr std::size_t kBytes = std::size_t{kProductSize} * kProductSize * 2;
  const auto a = lab.make(kBytes), b = lab.make(kBytes), c = lab.make(kBytes);
  QueryFill fill;
  fill.heads = 1;
  fill.tokens = fill.width = fill.token_stride = kProductSize;
  for (void* const each : {a.get(), b.get()}) {
    fill.to = static_cast<std::uint16_t*>(each);
    ++fill.seed;
    if (!lab.fill(fill)) return tl::make_unexpected(lab.failed("writing matrices"));
  }
  const auto multiply = [&] {
    return (*product)->enqueue(kProductSize, a.get(), b.get(), c.get());
  };
  const auto times = time_by_events(
      lab, kWarmProducts + kProductCalls, [] { return true; }, multiply);
  if (!times) return tl::make_unexpected(times.error());
  const double mean =
      std::accumulate(times->begin() + kWarmProducts, times->end(), 0.0) / kProductCalls;
  session.ceilings.gemm_tflops = 2.0 * std::pow(kProductSize, 3) / mean * 1e-6;
  return {};
}

Done measure_empty(GpuLab& lab, BenchSession& session) {
  const auto spans = lab.time(kEmptyCalls, [&](int) {
    return lab.flush(Flush::clean) && lab.mark_before() && lab.nothing() && lab.mark_behind();
  });
  if (!spans) return tl::make_unexpected(spans.error());
  std::vector<double> times;
  for (const CallSpan& span : *spans) times.push_back(span.us);
  session.empty_kernel_us = quantile(times, 0.5);
  return {};
}

}  // namespace

bool CeilingCheck::off() const {
  return here > 0 && std::abs(here / there - 1.0) > kMostOff;
}

std::vector<CeilingCheck> check_ceilings(const Ceilings& here, const Ceilings& there) {
  std::vector<CeilingCheck> checks;
  for (const GatherCeiling& theirs : there.gather) {
    CeilingCheck& check = checks.emplace_back(
        CeilingCheck{fmt::format("gather of {} rows of {} B", theirs.rows, theirs.row_bytes),
                     "TB/s", 0, theirs.tb_per_s});
    for (const GatherCeiling& ours : here.gather)
      if (ours.row_bytes == theirs.row_bytes && ours.rows == theirs.rows)
        check.here = ours.tb_per_s;
  }
  checks.push_back({"bf16 matrix product", "TFLOP/s", here.gemm_tflops, there.gemm_tflops});
  return checks;
}

bool is_void(const std::vector<CeilingCheck>& checks) {
  return std::ranges::any_of(checks, [](const CeilingCheck& check) { return check.off(); });
}

tl::expected<void, Diagnostic> measure_ceilings(GpuLab& lab, const Ceilings& wanted,
                                                BenchSession& session) {
  Done done = measure_gather(lab, wanted, session);
  if (done) done = measure_gemm(lab, session);
  if (done) done = measure_empty(lab, session);
  return done;
}

}  // namespace dsakit::cli
