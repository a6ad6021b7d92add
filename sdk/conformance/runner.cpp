#include "sdk/conformance/runner.hpp"

#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstring>
#include <exception>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "diag/render.hpp"
#include "loader/loader.hpp"

namespace dsakit::conformance {
namespace {

using Clock = std::chrono::steady_clock;

// A check of one row, or of the whole plugin (row -1).
struct Job {
  const Check* check;
  int row;
};

std::vector<Job> plan(const std::vector<Check>& checks, const Manifest& manifest,
                      const JudgeOptions& options) {
  std::vector<Job> jobs;
  for (const Check& check : checks) {
    if (std::ranges::find(options.levels, check.level) == options.levels.end()) continue;
    if (!std::string_view(check.name).starts_with(options.check)) continue;
    if (check.scope != Scope::row) {
      jobs.push_back({&check, -1});
      continue;
    }
    for (std::size_t row = 0; row < manifest.rows.size(); ++row)
      if (options.row.empty() || manifest.rows[row].name == options.row)
        jobs.push_back({&check, static_cast<int>(row)});
  }
  return jobs;
}

// What a child says when a check is over; the reason follows.
struct Message {
  Result result;
  bool lacks_device;
  int cases;
  double milliseconds;
  std::uint32_t reason_bytes;
  Worst out{}, lse{};
  int ordinal = -1;
};

void write_all(int to, const void* data, std::size_t bytes) {
  const char* at = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = write(to, at, bytes);
    if (written <= 0) _exit(3);
    at += written;
    bytes -= static_cast<std::size_t>(written);
  }
}

constexpr int kReplaced = 77;  // exit code of a child that another one should go on for

class Child {
 public:
  Child(Subject subject, Tier tier) : subject_(std::move(subject)), tier_(tier) {}

  // Does the jobs from `first` on and reports each.
  [[noreturn]] void work(const std::vector<Job>& jobs, std::size_t first, int to) {
    for (std::size_t i = first; i < jobs.size(); ++i) {
      const auto start = Clock::now();
      const Trial trial = one(jobs[i]);
      const std::chrono::duration<double, std::milli> spent = Clock::now() - start;
      const Message message{trial.result(),
                            trial.lacks_device(),
                            trial.cases(),
                            spent.count(),
                            static_cast<std::uint32_t>(trial.reason().size()),
                            trial.worst_out(),
                            trial.worst_lse(),
                            trial.ordinal()};
      write_all(to, &message, sizeof(message));
      write_all(to, trial.reason().data(), trial.reason().size());
      // A device that has failed once fails every call of this process.
      if (GpuDevice* gpu = subject_.place.gpu.get(); gpu && !gpu->synchronise()) _exit(kReplaced);
    }
    _exit(0);
  }

 private:
  Trial one(const Job& job) {
    Trial trial(subject_, tier_);
    try {
      attempt(job, trial);
    } catch (const std::exception& error) {
      trial.broken(fmt::format("the kit failed: {}", error.what()));
    }
    trial.finish();
    return trial;
  }

  void attempt(const Job& job, Trial& trial) {
    if (job.row >= 0) {
      const Ground& ground = ground_of(static_cast<std::size_t>(job.row));
      subject_.place = ground.place;
      trial.judge(ground.space);
    }
    if (job.check->scope == Scope::plugin || job.check->scope == Scope::row) {
      if (subject_.table == nullptr && refusal_.empty()) load();
      if (subject_.table == nullptr)
        return trial.skip("the plugin could not be loaded: " + refusal_);
    }
    job.check->body(trial);
  }

  void load() {
    const auto table = load_plugin(subject_.entry);
    if (table)
      subject_.table = *table;
    else
      refusal_ = headline(table.error());
  }

  struct Ground {
    RowSpace space;
    Place place;
  };
  const Ground& ground_of(std::size_t row) {
    auto& found = grounds_[row];
    if (!found) {
      found = std::make_unique<Ground>(Ground{RowSpace(subject_.entry.manifest, row), {}});
      found->place = devices_.find(found->space);
    }
    return *found;
  }

  Subject subject_;
  Tier tier_;
  std::string refusal_;
  Devices devices_;
  std::map<std::size_t, std::unique_ptr<Ground>> grounds_;
};

// Reads exactly `bytes` before the deadline; false at the end of the pipe or when time is up.
bool read_all(int from, void* data, std::size_t bytes, Clock::time_point deadline, bool& late) {
  char* at = static_cast<char*>(data);
  while (bytes > 0) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd wait{from, POLLIN, 0};
    const int ready = left > 0 ? poll(&wait, 1, static_cast<int>(left)) : 0;
    if (ready < 0 && errno == EINTR) continue;
    late = ready == 0;
    if (ready <= 0) return false;
    const ssize_t got = read(from, at, bytes);
    if (got <= 0) return false;
    at += got;
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

std::string death(int status) {
  if (WIFSIGNALED(status))
    return fmt::format("the plugin ended the process by signal {} ({})", WTERMSIG(status),
                       strsignal(WTERMSIG(status)));
  return fmt::format("the plugin ended the process with exit code {}", WEXITSTATUS(status));
}

class Judge {
 public:
  Judge(CatalogEntry entry, const JudgeOptions& options, const Progress& progress)
      : entry_(std::move(entry)),
        options_(options),
        progress_(progress),
        checks_(all_checks()),
        jobs_(plan(checks_, *entry_.manifest, options)) {
    limit_ = std::chrono::seconds(options.seconds_a_check > 0  ? options.seconds_a_check
                                  : options.tier == Tier::full ? 1200
                                                               : 120);
  }

  std::vector<CheckResult> run() {
    while (results_.size() < jobs_.size() && !stopped()) run_child();
    if (progress_) progress_(static_cast<int>(results_.size()), total(), "");
    return std::move(results_);
  }

 private:
  int total() const { return static_cast<int>(jobs_.size()); }
  bool stopped() const {
    return options_.stop_at_first && !results_.empty() && results_.back().result == Result::fail;
  }

  // One child works until it is done, dies, hangs or is no longer needed.
  void run_child() {
    int ends[2];
    if (pipe(ends) != 0) return give_up("no pipe");
    const std::size_t first = results_.size();
    const pid_t pid = fork();
    if (pid < 0) return give_up("no process");
    if (pid == 0) {
      close(ends[0]);
      Child({entry_, nullptr, {}}, options_.tier).work(jobs_, results_.size(), ends[1]);
    }
    close(ends[1]);
    bool late = false;
    while (results_.size() < jobs_.size() && !stopped() && receive(ends[0], late)) {
    }
    const bool unfinished = results_.size() < jobs_.size() && !stopped();
    if (late || stopped()) kill(pid, SIGKILL);
    int status = 0;
    waitpid(pid, &status, 0);
    close(ends[0]);
    const bool replaced = WIFEXITED(status) && WEXITSTATUS(status) == kReplaced;
    if (!unfinished || (replaced && results_.size() > first)) return;
    record(late ? Message{Result::fail, false, 0, static_cast<double>(limit_.count()) * 1e3, 0}
                : Message{Result::fail, false, 0, 0, 0},
           late ? fmt::format("it did not end within {} s", limit_.count()) : death(status));
  }

  bool receive(int from, bool& late) {
    const Job& job = jobs_[results_.size()];
    if (progress_) progress_(static_cast<int>(results_.size()), total(), job.check->name);
    const auto deadline = Clock::now() + limit_;
    Message message{};
    if (!read_all(from, &message, sizeof(message), deadline, late)) return false;
    std::string reason(message.reason_bytes, '\0');
    if (!read_all(from, reason.data(), reason.size(), deadline, late)) return false;
    record(message, std::move(reason));
    return true;
  }

  void record(const Message& message, std::string reason) {
    const Job& job = jobs_[results_.size()];
    const std::string row =
        job.row < 0 ? "" : entry_.manifest->rows[static_cast<std::size_t>(job.row)].name;
    results_.push_back({job.check->name, row, job.check->level, message.result, std::move(reason),
                        message.lacks_device, message.cases, message.milliseconds, message.out,
                        message.lse, message.ordinal});
  }

  void give_up(const char* what) {
    while (results_.size() < jobs_.size())
      record({Result::broken, false, 0, 0, 0}, fmt::format("the kit failed: {}", what));
  }

  CatalogEntry entry_;
  const JudgeOptions& options_;
  const Progress& progress_;
  std::vector<Check> checks_;
  std::vector<Job> jobs_;
  std::chrono::seconds limit_{};
  std::vector<CheckResult> results_;
};

// What tells a file from one that took its place or was written over it.
using Stamp = std::array<std::uint64_t, 5>;

std::optional<Stamp> stamp_of(const std::string& file) {
  struct stat now {};
  if (stat(file.c_str(), &now) != 0) return std::nullopt;
  return Stamp{now.st_dev, now.st_ino, static_cast<std::uint64_t>(now.st_size),
               static_cast<std::uint64_t>(now.st_mtim.tv_sec),
               static_cast<std::uint64_t>(now.st_mtim.tv_nsec)};
}

}  // namespace

int Report::count(Result result) const {
  return static_cast<int>(
      std::ranges::count_if(results, [&](const CheckResult& r) { return r.result == result; }));
}

int Report::lacking_device() const {
  return static_cast<int>(std::ranges::count_if(results, &CheckResult::lacks_device));
}

const CheckResult* Report::refused_by() const {
  const auto found =
      std::ranges::find_if(results, [](const CheckResult& r) { return r.result == Result::fail; });
  return found == results.end() ? nullptr : &*found;
}

tl::expected<Report, Diagnostic> judge(const std::string& file, const JudgeOptions& options,
                                       const Progress& progress) {
  const auto before = stamp_of(file);
  auto entry = read_subject(file);
  if (!entry) return tl::unexpected(std::move(entry.error()));
  Report report;
  report.file = file;
  report.id = entry->manifest->id;
  report.version = fmt::format("{}.{}.{}", entry->manifest->version[0], entry->manifest->version[1],
                               entry->manifest->version[2]);
  report.tier = options.tier;
  report.manifest = entry->manifest;
  report.results = Judge(std::move(*entry), options, progress).run();
  if (stamp_of(file) != before)
    return tl::unexpected(
        Diagnostic(Code::E0702)
            .with("file", file)
            .with("reason", "it was written, replaced or removed while it was judged"));
  return report;
}

}  // namespace dsakit::conformance
