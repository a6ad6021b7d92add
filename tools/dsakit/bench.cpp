// dsakit bench: how long a backend's run takes over a list of shapes, on random data. On a GPU by
// the method of docs/bench.md, beside a baseline; on the cpu by the clock of the host.
// Results are not checked here; `dsakit run` and `dsakit conform` do that.
#include <algorithm>
#include <filesystem>
#include <new>
#include <ostream>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/contradiction.hpp"
#include "bench/cpu_bench.hpp"
#include "bench/gpu_bench.hpp"
#include "bench/report.hpp"
#include "bench/roofline.hpp"
#include "bench/times_record.hpp"
#include "command.hpp"
#include "host/status.hpp"
#include "print.hpp"
#include "report.hpp"
#include "run/start.hpp"
#include "target.hpp"
#include "writing.hpp"

namespace dsakit::cli {
namespace {

// The sizes of a shape; what a model or the user says about the rest stays, and the geometry of
// DeepSeek-V3.2 fills what nobody says.
void describe_shape(const BenchShape& shape, Request& request) {
  request.prefill = shape.phase == Phase::prefill;
  request.decode = shape.phase == Phase::decode;
  request.mtp = shape.phase == Phase::mtp;
  if (!shape.backend.empty()) {
    request.choice = {};
    request.choice[index(shape.phase)] = Typed{shape.backend, {shape.backend, "command line"}};
  }
  request.values["heads"] = static_cast<std::int32_t>(shape.heads);
  request.values["topk"] = static_cast<std::int32_t>(shape.topk);
  const auto fill = [&](const char* dim, const Value& value) {
    Value& old = request.values[dim];
    if (std::holds_alternative<Unknown>(old)) old = value;
  };
  if (!shape.kv_dtype.empty()) request.values["kv_dtype"] = Token(shape.kv_dtype);
  if (shape.page_size > 0) request.values["page_size"] = static_cast<std::int32_t>(shape.page_size);
  if (!shape.features.empty()) {
    Value& value = request.values["features"];
    std::set<std::string> all(shape.features.begin(), shape.features.end());
    if (const auto* typed = std::get_if<Set>(&value)) all.insert(typed->begin(), typed->end());
    value = Set(all.begin(), all.end());
  }
  fill("d_qk", std::int32_t{576});
  fill("d_v", std::int32_t{512});
  fill("model_family", Token("deepseek_v32"));
}

class BenchRun {
 public:
  BenchRun(const Cli& cli, const Advisor& advisor, const Policy& policy)
      : cli_(cli), advisor_(advisor), policy_(policy) {}

  // E0407, E0806 and the errors of start().
  tl::expected<BenchReport, Diagnostic> run(const std::vector<BenchShape>& shapes,
                                            Progress& progress) {
    BenchReport report;
    for (const BenchShape& shape : shapes) {
      auto line = measure_or_say_why(shape);
      if (!line) return tl::make_unexpected(std::move(line.error()));
      report.lines.push_back(std::move(*line));
      progress.advance(static_cast<std::int64_t>(report.lines.size()));
    }
    if (gpu_) {
      report.on_gpu = true;
      report.session = gpu_->session();
      report.session.date = today();
      report.baseline = gpu_->baseline();
    }
    return report;
  }

 private:
  // A shape without room leaves the times of the others.
  tl::expected<BenchLine, Diagnostic> measure_or_say_why(const BenchShape& shape) {
    try {
      return measure(shape);
    } catch (const std::bad_alloc&) {
      BenchLine line;
      line.shape = shape;
      line.refused = headline(Diagnostic(Code::E0805).with("reason", "there is not enough memory"));
      return line;
    }
  }

  tl::expected<BenchLine, Diagnostic> measure(const BenchShape& shape) {
    BenchLine line;
    line.shape = shape;
    JobShape job;
    job.batch = shape.tokens();
    job.prefill = job.context = 1;
    const DescribeRequest change = [&](Request& request) -> tl::expected<void, Diagnostic> {
      describe_shape(shape, request);
      return {};
    };
    auto started = start(cli_, advisor_, policy_, job, change);
    if (!started) return tl::make_unexpected(std::move(started.error()));
    if (!*started) {
      const auto& why = started->error().answer.diagnostics;
      line.refused = why.empty() ? "no session" : headline(why.front());
      return line;
    }
    JobRunners& runners = (*started)->runners;
    PhaseRunner& runner = runners.phases.front();
    const dsakit_config& config = runner.attention->config();
    line.shape.backend = runner.backend;
    line.shape.page_size = config.page_size;
    line.row = runner.row;
    line.kv_layout = config.kv_layout;
    line.device = (*started)->device;
    if (const CatalogEntry* entry = advisor_.catalog().find(runner.backend))
      line.sources = entry->manifest->build.sources;
    tl::expected<void, Diagnostic> done;
    if (config.device_type == kDLCPU) {
      done = on_cpu(runners, line);
    } else {
      if (auto ready = open_gpu(config.device_id); !ready)
        return tl::make_unexpected(std::move(ready.error()));
      done = gpu_->measure(runner, cli_.options.bench.calls, line);
    }
    if (!done) line.refused = headline(done.error());
    return line;
  }

  tl::expected<void, Diagnostic> on_cpu(JobRunners& runners, BenchLine& line) {
    const BenchShape& shape = line.shape;
    if (!shape.suite.empty() || shape.disjoint || shape.padded || shape.random_length ||
        shape.overlap > 0 || shape.invalid > 0 || shape.s_q > 1)
      return tl::make_unexpected(
          Diagnostic(Code::E0805)
              .with("reason", "suites and what makes lists uneven are timed on a GPU"));
    if (cli_.options.bench.calls != 0)
      return tl::make_unexpected(
          Diagnostic(Code::E0805)
              .with("reason", "--calls is for GPUs, on the cpu --seconds says how long"));
    return measure_on_cpu(runners, cli_.options.bench.seconds, cli_.options.bench.seed, line);
  }

  tl::expected<void, Diagnostic> open_gpu(int ordinal) {
    if (gpu_) return {};
    const Detection detection = cli_.surroundings().detect();
    const auto device = std::ranges::find_if(detection.devices, [&](const DetectedDevice& each) {
      return each.platform == "cuda" && each.ordinal == ordinal;
    });
    if (device == detection.devices.end())
      return tl::make_unexpected(
          Diagnostic(Code::E0806).with("reason", "only CUDA devices are timed"));
    auto opened = GpuBench::open(*device, cli_.options.bench.seed);
    if (!opened) return tl::make_unexpected(std::move(opened.error()));
    gpu_ = std::move(*opened);
    return {};
  }

  const Cli& cli_;
  const Advisor& advisor_;
  const Policy& policy_;
  std::unique_ptr<GpuBench> gpu_;
};

struct AdoptedFile {
  std::string file, id;
};

// Targets that are plugin files, as --plugin-dir and id. E0101 and others if one is no plugin.
tl::expected<std::vector<AdoptedFile>, Diagnostic> adopt_files(Options& options) {
  std::vector<AdoptedFile> adopted;
  for (std::string& target : options.targets) {
    if (!target.ends_with(".so")) continue;
    auto read = read_target(target);
    if (!read) return tl::make_unexpected(std::move(read.error()));
    if (read->broken()) return tl::make_unexpected(read->diagnostics.front());
    const auto folder = std::filesystem::absolute(target).parent_path().string();
    options.plugin_dirs.insert(options.plugin_dirs.begin(), folder);
    adopted.push_back({target, read->manifest->id});
    target = read->manifest->id;
  }
  return adopted;
}

// E0407: the catalogue would take another file under that id.
std::optional<Diagnostic> why_another(const std::vector<AdoptedFile>& adopted,
                                      const Catalog& catalog) {
  for (const auto& [file, id] : adopted) {
    const CatalogEntry* entry = catalog.find(id);
    std::error_code error;
    if (entry != nullptr && std::filesystem::equivalent(entry->file, file, error)) continue;
    Diagnostic why = bench_refusal(
        file, fmt::format("this file would not be the one that is timed as `{}`", id));
    if (entry != nullptr) why.notes.push_back(fmt::format("that is {}", entry->file));
    why.notes.push_back(fmt::format("plugin files are named libdsakit_{}.so", id));
    return why;
  }
  return std::nullopt;
}

// Before minutes are spent.
std::optional<Diagnostic> why_no_outputs(const Options& options) {
  if (options.bench.svg)
    if (auto why = why_not_file(*options.bench.svg)) return why;
  return options.evidence ? why_not_below(*options.evidence) : std::nullopt;
}

// The picture and the records. The report is printed already, so JSON output stays one document.
tl::expected<void, Diagnostic> write_outputs(const Cli& cli, const Advisor& advisor,
                                             const BenchReport& report) {
  if (cli.options.bench.svg) {
    const std::string svg = roofline_svg(report);
    if (svg.empty())
      return tl::make_unexpected(Diagnostic(Code::E0803)
                                     .with("file", *cli.options.bench.svg)
                                     .with("reason", "nothing was timed on a GPU to draw"));
    if (auto written = write_file(*cli.options.bench.svg, svg); !written) return written;
  }
  if (!cli.options.evidence) return {};
  const auto files = write_times(report, advisor.catalog(), *cli.options.evidence);
  if (!files) return tl::make_unexpected(files.error());
  for (const std::string& file : *files)
    if (!cli.options.json()) print_line(cli.out(), fmt::format("evidence: {}", file));
  return {};
}

int bench(Cli& cli) {
  const auto adopted = adopt_files(cli.options);
  if (!adopted) return cli.fail(adopted.error());
  const auto shapes = shapes_of(cli.options);
  if (!shapes) return cli.fail(shapes.error());
  if (const auto why = why_no_outputs(cli.options)) return cli.fail(*why);
  const auto advisor = cli.open_advisor();
  if (!advisor) return cli.fail(advisor.error());
  if (const auto why = why_another(*adopted, advisor->catalog())) return cli.fail(*why);
  const auto policy = cli.open_policy(*advisor);
  if (!policy) return cli.fail(policy.error());
  Progress progress(cli.surroundings().err, cli.surroundings().terminal_err);
  progress.begin("measuring", static_cast<std::int64_t>(shapes->size()), "shapes");
  const auto report = BenchRun(cli, *advisor, *policy).run(*shapes, progress);
  progress.finish();
  if (!report) return cli.fail(report.error());
  if (cli.options.json())
    cli.out() << dump(bench_json(*report)) << '\n';
  else
    cli.out() << bench_text(*report);
  if (auto written = write_outputs(cli, *advisor, *report); !written)
    return cli.fail_after_report(written.error());
  const bool any =
      std::ranges::any_of(report->lines, [](const BenchLine& line) { return line.timed(); });
  return static_cast<int>(any ? Status::yes : Status::no);
}

}  // namespace

const Command& bench_command() {
  static constexpr Command kCommand{
      .name = "bench",
      .about = "time a backend over a list of shapes",
      .options = kQuestionOptions | kCatalogOptions | kFormatOption | kBenchOptions,
      .body = bench,
      .target = "backend",
      .target_about = "ids or plugin files; none: what the resolver picks",
      .min_targets = 0,
      .max_targets = kAnyNumber,
      .help =
          "docs/bench.md says what is timed, and how.\n"
          "\n"
          "Examples:\n"
          "  dsakit bench cpu --heads 64,128 --tokens 1,8\n"
          "  dsakit bench --suite sparse_bf16 --svg roofline.svg\n",
      .exit_codes =
          "0 something was timed; 1 nothing could be; 2 usage; 3 a file, a device or a "
          "library is\nmissing here, or an output could not be written."};
  return kCommand;
}

}  // namespace dsakit::cli
