// The main job: sequences in a paged cache, prefill and decode (and mtp) through the backends of a
// session, every row checked. And its result, as data. One thread, which starts others for
// reference work.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "diag/diagnostic.hpp"
#include "host/runtime.hpp"
#include "run/check.hpp"
#include "run/engine.hpp"
#include "run/progress.hpp"

namespace dsakit::cli {

struct JobShape {
  std::int64_t batch = 4;
  std::int64_t context = 8192;  // tokens of a sequence before the first decode step
  std::int64_t prefill = 32;    // its last tokens, attended to in the prefill phase
  std::int64_t steps = 8;       // decode steps, and verify steps of mtp
  std::int64_t index_heads = 64;
  std::uint64_t seed = 1;
  int threads = 0;  // of reference work; 0: one a core
};

// What one phase did.
struct PhaseReport {
  std::string phase, backend, row;
  std::int64_t tokens = 0;      // query tokens in all
  std::vector<double> seconds;  // of each call
  double bytes = 0, flops = 0;  // of the whole phase: KV bytes that were selected, products
  bool repeatable = true;       // the first call, done twice, gave equal bits
  Checked checked;

  bool pass() const { return repeatable && checked.pass && checked.rows > 0; }
};

struct JobReport {
  std::string device, workload;  // workload: what was run, in words
  std::string kv_layout;
  std::int64_t heads = 0, topk = 0, page_size = 0;
  std::int64_t cache_bytes = 0, appended = 0, wrong_rows = 0;  // rows of the cache
  bool appended_by_backend = true;
  double append_seconds = 0;
  std::string indices;  // where they come from, in words
  double overlap = 0;   // of neighbouring tokens' keys, mean; 0: not measured
  std::vector<PhaseReport> phases;

  bool pass() const;
};

// The phases of the session with what the job needs of each, ready to run. Errors: those of
// LoadedSession::create(), E0805.
struct JobRunners {
  std::unique_ptr<Memory> memory;
  std::vector<PhaseRunner> phases;  // prefill, decode, mtp: those that the session has
};
tl::expected<JobRunners, Diagnostic> make_job_runners(const LoadedSession& session,
                                                      const JobShape& shape,
                                                      std::int32_t device_id);

// Query tokens of one call in a phase.
std::int64_t tokens_a_sequence(const JobShape& shape, Phase phase);

// Runs the call and adds what it did to `phase`; the first call of a phase is done twice.
// `selected` keys in all. E0804.
tl::expected<void, Diagnostic> run_and_check(PhaseRunner& runner, AttentionCall& call,
                                             const PagedCache& cache, double selected, int threads,
                                             Progress& progress, PhaseReport& phase);

// What is the same in every report: sizes, layout, the cache.
JobReport begin_report(const PhaseRunner& runner, const PagedCache& cache);

// E0804, E0805.
tl::expected<JobReport, Diagnostic> run_job(JobRunners& runners, const JobShape& shape,
                                            Progress& progress);

}  // namespace dsakit::cli
