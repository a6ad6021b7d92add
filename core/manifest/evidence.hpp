// How a row is known to work: records of real runs of the conformance kit, and what they say about
// the plugin that is being built (docs/evidence.md).
//
// Invariants: a record counts only for the sources, the compilers and the row that it was made
// from; what it does not list it does not claim. A level never changes an answer of the solver.
// Pure; any thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "diag/diagnostic.hpp"
#include "manifest/arch.hpp"
#include "manifest/manifest.hpp"

namespace dsakit {

// A level of the kit of which at least one check passed and none failed.
struct LevelPassed {
  int level = 0;                     // 0 … 5
  int checks = 0, cases = 0;         // that passed
  std::vector<std::string> skipped;  // names of checks that say nothing
};

// The worst difference from float64 over all elements that were compared.
struct WorstError {
  double absolute = 0;    // where the truth is at most 1
  double relative = 0;    // where it is larger
  double of_allowed = 0;  // of what the kit allows there, absolute or relative; at most 1
};

struct RowEvidence {
  std::string row, digest;  // digest: row_digest() of the manifest that was judged
  std::vector<LevelPassed> levels;
  std::optional<WorstError> out, lse;

  // It ran on the device, at the corners of the row, with right numbers: levels 3 and 4.
  bool proven() const;
};

// One shape that `dsakit bench` timed on a GPU.
struct TimedShape {
  std::string row, phase, suite, label;  // suite and label: as bench calls the shape; may be empty
  int heads = 0, topk = 0, tokens = 0, s_q = 1, pool = 0, page_size = 1;
  bool own_pools = false;             // each request has `pool` rows of its own
  std::vector<std::string> features;  // that were used
  std::vector<double> clean, dirty;   // microseconds of each call, by the flush before it
  std::optional<double> baseline_clean, baseline_dirty;  // another kernel's, where there is one
};

// One run of `dsakit bench` on one GPU: what the GPU could do, and the times.
struct MeasuredTimes {
  struct Ceiling {
    std::string name, unit;
    double here = 0, baseline = 0;  // here 0: not measured
  };
  std::string date, baseline;  // baseline: whose times stand beside; may be empty
  int seed = 0;
  std::vector<Ceiling> ceilings;
  double empty_kernel = 0;  // microseconds
  std::vector<int> clock;   // MHz: the least, the median and the most that was read; or none
  std::vector<TimedShape> shapes;
};

// What is known of one build on one device: a run of the kit, a run of bench, or both.
struct EvidenceRecord {
  std::string plugin, date;                   // date: 2026-11-30
  std::string device, arch, driver, runtime;  // device: "NVIDIA H200"; arch: "sm_90"
  bool emulated = false;                      // the device was an emulator of such an arch
  BuildInfo build;                            // as the plugin carries it, without levels
  std::string tier;                           // reduced, full
  std::vector<LevelPassed> levels;            // of checks of the whole plugin
  std::vector<RowEvidence> rows;
  std::optional<MeasuredTimes> times{};

  // The kit ran; else tier, levels and rows are empty.
  bool judged() const { return !tier.empty(); }
};

// Adds the part that `fresh` lacks from an older record, if that is about the same sources,
// compilers and device.
void keep_other_part(EvidenceRecord& fresh, const EvidenceRecord& before);

// E0119 with the path and what is allowed there; `file` appears in messages only.
tl::expected<EvidenceRecord, Diagnostic> parse_evidence(std::string_view json,
                                                        const std::string& file);
// The same record as text, a row a line, final newline.
std::string evidence_json(const EvidenceRecord& record);

// Of what a row claims to serve and provide, `common` included. Its rank and its note are no
// claims.
std::string row_digest(const Manifest& manifest, const Row& row);

// Whether a row takes a device, by platform and arch alone.
bool row_takes(const Manifest& manifest, const Row& row, const KnownDevice& device);

// Why a record says nothing about a built manifest, as in "it was made from other sources"; nothing
// if it does.
std::optional<std::string> why_stale(const EvidenceRecord& record, const Manifest& built);
// Rows of a record that does, which are no longer those that ran.
std::vector<std::string> stale_rows(const EvidenceRecord& record, const Manifest& built);

// Writes the level of every row and device that the row takes and the file holds code for:
// `compiled`, or better where a record says so. `emulated` is a device that shares its code target
// with one that ran, any device of the platform if the sources are portable, and one that an
// emulator stood for.
void write_levels(Manifest& built, std::span<const EvidenceRecord> records);

// The level of a row on a device; "declared" if the build wrote none.
std::string evidence_level(const Manifest& manifest, std::string_view row, std::string_view device);

}  // namespace dsakit
