#include "run/job.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>

#include <fmt/format.h>

#include "kvcache/float8.hpp"
#include "run/parallel.hpp"
#include "run/sequences.hpp"

namespace dsakit::cli {
namespace {

constexpr std::int64_t kVerified = 2;    // tokens of a sequence that one mtp call verifies
constexpr std::int64_t kSparePages = 2;  // never written: whoever reads them gets NaN
// Logits of deviation 2: a few dozen keys matter.
constexpr float kQueryAmplitude = 2.0F / conformance::kKeyAmplitude;
enum TokenStream : std::uint64_t {
  kTokenKeys = 5ULL << 60,
  kTokenQueries = 6ULL << 60,
  kTokenSinks = 7ULL << 60,
  kPageOrder = 8ULL << 60
};

using Status = tl::expected<void, Diagnostic>;

class Job {
 public:
  Job(JobRunners& runners, const JobShape& shape, Progress& progress)
      : runners_(runners),
        shape_(shape),
        progress_(progress),
        config_(runners.phases.front().attention->config()),
        most_tokens_(longest(runners, shape)),
        sequences_({shape.batch, most_tokens_, config_.topk, static_cast<int>(shape.index_heads),
                    static_cast<int>(config_.index_kpool), shape.seed}) {}

  tl::expected<JobReport, Diagnostic> run() {
    make_page_table();
    auto cache = PagedCache::make(*runners_.memory, config_,
                                  static_cast<std::int64_t>(page_table_.size()) + kSparePages);
    if (!cache) return tl::make_unexpected(std::move(cache.error()));
    cache_ = std::make_unique<PagedCache>(std::move(*cache));
    report_ = begin_report(runners_.phases.front(), *cache_);
    report_.workload = fmt::format(
        "{} sequences of {} tokens, the last {} of each in prefill; {} decode steps", shape_.batch,
        shape_.context, tokens_a_sequence(shape_, Phase::prefill), shape_.steps);
    Status status = append_all(runners_.phases.front(), shape_.context);
    for (std::size_t i = 0; status && i < runners_.phases.size(); ++i)
      status = run_phase(runners_.phases[i]);
    if (!status) return tl::make_unexpected(std::move(status.error()));
    report_.overlap = overlaps_ == 0 ? 0.0 : overlap_sum_ / static_cast<double>(overlaps_);
    report_.indices =
        fmt::format("reference indexer, {} heads; neighbouring tokens share {:.0f} % of their keys",
                    shape_.index_heads, 100.0 * report_.overlap);
    return std::move(report_);
  }

 private:
  static std::int64_t longest(const JobRunners& runners, const JobShape& shape) {
    std::int64_t tokens = shape.context;
    for (const PhaseRunner& runner : runners.phases)
      if (runner.phase != Phase::prefill)
        tokens += shape.steps * tokens_a_sequence(shape, runner.phase);
    return tokens;
  }

  void make_page_table() {
    const std::int64_t pages = (most_tokens_ + config_.page_size - 1) / config_.page_size;
    page_table_.resize(static_cast<std::size_t>(pages * shape_.batch));
    std::iota(page_table_.begin(), page_table_.end(), 0);
    std::vector<float> keys(page_table_.size());
    make_values(shape_.seed, kPageOrder, keys, 1.0F);
    std::ranges::sort(page_table_, {}, [&](std::int64_t page) {
      return std::pair(keys[static_cast<std::size_t>(page)], page);
    });
  }

  std::int64_t slot(std::int64_t sequence, std::int64_t position) const {
    const std::int64_t pages = static_cast<std::int64_t>(page_table_.size()) / shape_.batch;
    const std::int64_t page = sequence * pages + position / config_.page_size;
    return page_table_[static_cast<std::size_t>(page)] * config_.page_size +
           position % config_.page_size;
  }

  // Extends every sequence to `length` tokens and compares the cache's bytes with the reference's.
  Status append_all(PhaseRunner& runner, std::int64_t length) {
    progress_.begin("appending", shape_.batch, "sequences");
    for (std::int64_t sequence = 0; sequence < shape_.batch; ++sequence) {
      std::vector<std::int64_t> slots;
      for (std::int64_t at = length_; at < length; ++at) slots.push_back(slot(sequence, at));
      const auto width = static_cast<std::size_t>(config_.d_qk);
      std::vector<float> values(width);
      std::vector<std::uint16_t> rows(slots.size() * width);
      for (std::size_t i = 0; i < slots.size(); ++i) {
        const std::int64_t token = sequence * most_tokens_ + length_ + static_cast<std::int64_t>(i);
        make_values(shape_.seed, kTokenKeys + static_cast<std::uint64_t>(token), values,
                    conformance::kKeyAmplitude);
        std::ranges::transform(values, rows.begin() + static_cast<std::ptrdiff_t>(i * width),
                               kvcache::bf16_encode);
      }
      const auto start = std::chrono::steady_clock::now();
      if (auto done = cache_->append(runner, rows, slots); !done) return done;
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
      report_.append_seconds += took.count();
      report_.appended += static_cast<std::int64_t>(slots.size());
      report_.wrong_rows += cache_->count_wrong_rows(runner.attention->config(), rows, slots);
      progress_.advance(sequence + 1);
    }
    length_ = length;
    return {};
  }

  Status run_phase(PhaseRunner& runner) {
    PhaseReport& phase = report_.phases.emplace_back();
    const std::int64_t tokens = tokens_a_sequence(shape_, runner.phase);
    AttentionCall call(*runners_.memory, runner.attention->config(), tokens * shape_.batch);
    make_values(shape_.seed, kTokenSinks,
                {call.sink.as<float>(), static_cast<std::size_t>(config_.heads)}, 2.0F);
    if (runner.phase == Phase::prefill) return attend(runner, call, phase, tokens);
    for (std::int64_t step = 0; step < shape_.steps; ++step) {
      if (auto done = append_all(runner, length_ + tokens); !done) return done;
      if (auto done = attend(runner, call, phase, tokens); !done) return done;
    }
    return {};
  }

  // The last `tokens` tokens of every sequence.
  Status attend(PhaseRunner& runner, AttentionCall& call, PhaseReport& phase, std::int64_t tokens) {
    make_queries(call, tokens);
    const double selected = make_indices(call, tokens);
    return run_and_check(runner, call, *cache_, selected, shape_.threads, progress_, phase);
  }

  void make_queries(AttentionCall& call, std::int64_t tokens) {
    const auto width = static_cast<std::size_t>(config_.heads * config_.d_qk);
    std::vector<float> values(width);
    for (std::int64_t t = 0; t < call.tokens(); ++t) {
      const std::int64_t token = t / tokens * most_tokens_ + length_ - tokens + t % tokens;
      make_values(shape_.seed, kTokenQueries + static_cast<std::uint64_t>(token), values,
                  kQueryAmplitude);
      call.set_query(t, values);
    }
  }

  // Top-k lists of the call's tokens; answers how many keys they select in all.
  double make_indices(AttentionCall& call, std::int64_t tokens) {
    const auto width = static_cast<std::size_t>(config_.topk);
    std::vector<std::int32_t> lists(static_cast<std::size_t>(call.tokens()) * width);
    const auto list = [&](std::int64_t t) {
      return std::span(lists).subspan(static_cast<std::size_t>(t) * width, width);
    };
    progress_.begin("indexing", call.tokens(), "tokens");
    parallel_for(call.tokens(), shape_.threads, progress_, [&](std::int64_t t) {
      sequences_.select(t / tokens, length_ - tokens + t % tokens, list(t));
    });
    progress_.finish();
    measure_overlap(lists, tokens);
    double selected = 0;
    for (std::int64_t t = 0; t < call.tokens(); ++t) {
      std::int32_t valid = 0;
      for (std::int32_t& position : list(t)) {
        if (position < 0) continue;
        position = static_cast<std::int32_t>(slot(t / tokens, position));
        ++valid;
      }
      selected += valid;
      call.length.as<std::int32_t>()[t] = valid;
    }
    call.set_indices(lists);
    return selected;
  }

  // Of each token with the one before it in its sequence.
  void measure_overlap(const std::vector<std::int32_t>& lists, std::int64_t tokens) {
    const auto width = static_cast<std::size_t>(config_.topk);
    before_.resize(static_cast<std::size_t>(shape_.batch));
    for (std::size_t t = 0; t < lists.size() / width; ++t) {
      const std::span<const std::int32_t> now = std::span(lists).subspan(t * width, width);
      std::vector<std::int32_t>& before = before_[t / static_cast<std::size_t>(tokens)];
      if (!before.empty()) {
        overlap_sum_ += overlap(before, now);
        ++overlaps_;
      }
      before.assign(now.begin(), now.end());
    }
  }

  JobRunners& runners_;
  const JobShape& shape_;
  Progress& progress_;
  const dsakit_config& config_;  // sizes and layout are the same in all phases
  std::int64_t most_tokens_;
  IndexedSequences sequences_;
  std::int64_t length_ = 0;  // of every sequence
  std::vector<std::int64_t> page_table_;
  std::unique_ptr<PagedCache> cache_;
  std::vector<std::vector<std::int32_t>> before_;
  double overlap_sum_ = 0;
  std::int64_t overlaps_ = 0;
  JobReport report_;
};

}  // namespace

JobReport begin_report(const PhaseRunner& runner, const PagedCache& cache) {
  const dsakit_config& config = runner.attention->config();
  JobReport report;
  report.kv_layout = config.kv_layout;
  report.heads = config.heads;
  report.topk = config.topk;
  report.page_size = config.page_size;
  report.cache_bytes = cache.bytes();
  report.appended_by_backend = runner.attention->can_append();
  return report;
}

tl::expected<void, Diagnostic> run_and_check(PhaseRunner& runner, AttentionCall& call,
                                             const PagedCache& cache, double selected, int threads,
                                             Progress& progress, PhaseReport& phase) {
  phase.phase = phase_name(runner.phase);
  phase.backend = runner.backend;
  phase.row = runner.row;
  auto seconds = call.run(runner, cache);
  if (seconds && phase.seconds.empty()) {
    const std::vector<std::byte> first(call.out.bytes(), call.out.bytes() + call.out.size());
    seconds = call.run(runner, cache);  // also past one-time work of the backend
    phase.repeatable = seconds && std::memcmp(first.data(), call.out.bytes(), first.size()) == 0;
  }
  if (!seconds) return tl::make_unexpected(std::move(seconds.error()));
  const dsakit_config& config = runner.attention->config();
  phase.seconds.push_back(*seconds);
  phase.tokens += call.tokens();
  phase.bytes += selected * cache.layout().token_bytes;
  phase.flops += selected * 2.0 * static_cast<double>(config.heads * (config.d_qk + config.d_v));
  phase.checked.add(check_rows(config, call.host_args(cache), call.tokens(), threads, progress));
  return {};
}

bool JobReport::pass() const {
  return wrong_rows == 0 && !phases.empty() &&
         std::ranges::all_of(phases, [](const PhaseReport& phase) { return phase.pass(); });
}

std::int64_t tokens_a_sequence(const JobShape& shape, Phase phase) {
  if (phase == Phase::prefill) return std::min(shape.prefill, shape.context);
  return phase == Phase::mtp ? kVerified : 1;
}

tl::expected<JobRunners, Diagnostic> make_job_runners(const LoadedSession& session,
                                                      const JobShape& shape,
                                                      std::int32_t device_id) {
  JobRunners runners;
  for (const Phase phase : kPhases) {
    if (session.session().backend[index(phase)].empty()) continue;
    InstanceOptions options;
    options.device_id = device_id;
    options.max_tokens = shape.batch * tokens_a_sequence(shape, phase);
    auto runner = make_runner(session, phase, options);
    if (!runner) return tl::make_unexpected(std::move(runner.error()));
    runners.phases.push_back(std::move(*runner));
  }
  const dsakit_config& config = runners.phases.front().attention->config();
  auto memory =
      conformance::make_memory({static_cast<DLDeviceType>(config.device_type), device_id});
  if (!memory) {
    return tl::make_unexpected(Diagnostic(Code::E0805).with("reason", std::move(memory.error())));
  }
  runners.memory = std::move(*memory);
  return runners;
}

tl::expected<JobReport, Diagnostic> run_job(JobRunners& runners, const JobShape& shape,
                                            Progress& progress) {
  return Job(runners, shape, progress).run();
}

}  // namespace dsakit::cli
