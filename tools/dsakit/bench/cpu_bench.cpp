#include "bench/cpu_bench.hpp"

#include <unistd.h>

#include <algorithm>

#include "kvcache/float8.hpp"
#include "run/sequences.hpp"

namespace dsakit::cli {
namespace {

constexpr std::size_t kFewestCalls = 3;
constexpr std::int64_t kRowsAtOnce = 4096;
enum BenchStream : std::uint64_t { kKeys = 1, kQueries = 1ULL << 40, kIndices = 1ULL << 41 };

tl::expected<PagedCache, Diagnostic> filled_cache(JobRunners& runners, std::int64_t tokens,
                                                  std::uint64_t seed) {
  PhaseRunner& runner = runners.phases.front();
  const dsakit_config& config = runner.attention->config();
  auto cache =
      PagedCache::make(*runners.memory, config, (tokens + config.page_size - 1) / config.page_size);
  if (!cache) return cache;
  const auto width = static_cast<std::size_t>(config.d_qk);
  for (std::int64_t first = 0; first < cache->slots(); first += kRowsAtOnce) {
    std::vector<std::int64_t> slots;
    for (std::int64_t s = first; s < std::min(first + kRowsAtOnce, cache->slots()); ++s)
      slots.push_back(s);
    std::vector<float> values(slots.size() * width);
    make_values(seed, kKeys + static_cast<std::uint64_t>(first), values, 1.0F);
    std::vector<std::uint16_t> rows(values.size());
    std::ranges::transform(values, rows.begin(), kvcache::bf16_encode);
    if (auto done = cache->append(runner, rows, slots); !done)
      return tl::make_unexpected(std::move(done.error()));
  }
  return cache;
}

void fill_call(AttentionCall& call, const dsakit_config& config, std::int64_t slots,
               std::uint64_t seed) {
  std::vector<float> values(static_cast<std::size_t>(config.heads * config.d_qk));
  for (std::int64_t t = 0; t < call.tokens(); ++t) {
    make_values(seed, kQueries + static_cast<std::uint64_t>(t), values, 2.0F);
    call.set_query(t, values);
  }
  std::vector<std::int32_t> lists(static_cast<std::size_t>(call.tokens() * config.topk));
  make_slots(seed, kIndices, slots, lists);
  call.set_indices(lists);
}

// The least that the call and the cache take. Memory that is written beyond what the machine has
// ends the process instead of throwing.
bool fits_in_memory(const dsakit_config& config, const BenchShape& shape) {
  const std::int64_t pages = (shape.pool + config.page_size - 1) / config.page_size;
  const std::int64_t token = config.heads * 2 * (config.d_qk + config.d_v) + config.topk * 8;
  const std::int64_t needed = pages * config.page_size * config.d_qk + shape.tokens() * token;
  return needed / sysconf(_SC_PAGESIZE) < sysconf(_SC_PHYS_PAGES);
}

}  // namespace

tl::expected<void, Diagnostic> measure_on_cpu(JobRunners& runners, double seconds,
                                              std::uint64_t seed, BenchLine& line) {
  PhaseRunner& runner = runners.phases.front();
  const dsakit_config& config = runner.attention->config();
  if (!fits_in_memory(config, line.shape))
    return tl::make_unexpected(
        Diagnostic(Code::E0805).with("reason", "this machine has not enough memory"));
  auto cache = filled_cache(runners, line.shape.pool, seed);
  if (!cache) return tl::make_unexpected(std::move(cache.error()));
  AttentionCall call(*runners.memory, config, line.shape.tokens());
  fill_call(call, config, cache->slots(), seed);
  line.key = {cache->layout().token_bytes, config.d_qk, config.d_v};
  line.work.keys = static_cast<double>(call.tokens() * config.topk);
  line.work.bytes = line.work.keys * static_cast<double>(line.key.bytes);
  line.work.flops =
      line.work.keys * 2.0 * static_cast<double>(config.heads * (config.d_qk + config.d_v));
  double total = 0;
  auto took = call.run(runner, *cache);  // past what a first call does once
  while (took && (line.seconds.size() < kFewestCalls || total < seconds)) {
    took = call.run(runner, *cache);
    if (!took) break;
    line.seconds.push_back(*took);
    total += *took;
  }
  if (!took) return tl::make_unexpected(std::move(took.error()));
  return {};
}

}  // namespace dsakit::cli
