// One check of the kit: a stable name, what it is about, and the function that does it. And what a
// check works with: the plugin, the row, and the ways to say how it went.
//
// Invariants: the lists of checks are constant data; a report names checks, rows and nothing else,
// so that a name means the same in every version. A Trial is used by one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "sdk/conformance/compare.hpp"
#include "sdk/conformance/reference.hpp"
#include "sdk/conformance/space.hpp"
#include "sdk/conformance/subject.hpp"

namespace dsakit::conformance {

enum class Tier : std::uint8_t { reduced, full };
enum class Result : std::uint8_t {
  pass,
  fail,
  skip,
  broken,  // the kit failed, which says nothing about the plugin
};
std::string_view result_name(Result result);

class Trial;

enum class Scope : std::uint8_t {
  file,    // once, before the plugin is loaded
  entry,   // once, the library is open but nothing was called
  plugin,  // once
  row,     // for each row of the manifest
};

struct Check {
  const char* name;  // "numerics.duplicates"
  int level;         // 0 ... 5
  Scope scope;
  void (*body)(Trial&);
};

// From L0 to L5, inside a level from the elementary to the compound: the first that fails is the
// one to look at.
std::vector<Check> all_checks();
std::span<const Check> static_checks();
std::span<const Check> negotiation_checks();
std::span<const Check> negative_checks();
std::span<const Check> truth_checks();
std::span<const Check> value_checks();
std::span<const Check> list_checks();
std::span<const Check> convention_checks();
std::span<const Check> shape_checks();
std::span<const Check> stored_key_checks();
std::span<const Check> runtime_checks();
std::span<const Check> device_checks();

class Trial {
 public:
  Trial(const Subject& subject, Tier tier) : subject_(subject), tier_(tier) {}

  const Subject& subject() const { return subject_; }
  const RowSpace& row() const { return *row_; }  // of checks of rows
  void judge(const RowSpace& row) { row_ = &row; }
  bool full() const { return tier_ == Tier::full; }

  // The full tier with a reference that is fast enough for the largest shapes.
  bool large() const { return full() && subject_.place.reference; }

  // The first reason stays.
  void fail(const std::string& reason);
  void skip(const std::string& reason);
  // Unless the plugin failed before.
  void broken(const std::string& reason);
  // `condition` or fail; answers condition.
  bool expect(bool condition, const std::string& reason);

  Result result() const { return result_; }
  bool failed() const { return result_ == Result::fail; }
  const std::string& reason() const { return reason_; }
  int cases() const { return cases_; }
  void count() { ++cases_; }
  // Over all that was compared with float64.
  const Worst& worst_out() const { return worst_out_; }
  const Worst& worst_lse() const { return worst_lse_; }

  // Phases to judge: the row's first, in the full tier all.
  std::vector<std::string> phases() const;
  // Runs the call if the row accepts it and compares with float64, after `change` had its way with
  // the problem. Answers whether the row accepts it.
  using Change = std::function<void(Problem&)>;
  bool exact(const Description& description, const Change& change = nullptr);
  // The same for each phase: `edit` turns the base into the case.
  void each_phase(const std::function<void(Description&)>& edit, const Change& change = nullptr);
  // Runs and leaves the outputs in the problem; fails unless the plugin answers OK and keeps to its
  // outputs and workspace.
  bool run(Problem& problem);
  // Compares what run() left.
  void compare(Problem& problem);
  // In the full tier on a device by the kernel, else by the host.
  Expected truth(Problem& problem) const;
  // Fewer heads in the reduced tier, for cases that are about something else.
  void make_small(Description& d) const;
  // Skips the check if it came to no case.
  void finish();
  // Unless true, the check was skipped: there is a device for the row, and the kit can form calls.
  bool ready();
  bool lacks_device() const { return lacks_device_; }
  // The device of the row; null: the host.
  int ordinal() const { return subject_.place.ordinal; }  // of gpu(); -1: the host
  GpuDevice* gpu() const { return subject_.place.gpu.get(); }

 private:
  const Subject& subject_;
  const RowSpace* row_ = nullptr;
  Tier tier_;
  Result result_ = Result::pass;
  std::string reason_;
  int cases_ = 0;
  bool lacks_device_ = false;
  Worst worst_out_, worst_lse_;
};

}  // namespace dsakit::conformance
