// dsakit bench: how long a backend's run takes over a list of shapes, on random keys of a pool.
// Results are not checked here; `dsakit run` and `dsakit conform` do that.
#include <algorithm>
#include <new>
#include <ostream>
#include <sstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "command.hpp"
#include "host/status.hpp"
#include "kvcache/float8.hpp"
#include "report.hpp"
#include "run/job_report.hpp"
#include "run/sequences.hpp"
#include "run/start.hpp"
#include "table.hpp"

namespace dsakit::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kFewestCalls = 3;
constexpr std::int64_t kRowsAtOnce = 4096;
enum Stream : std::uint64_t { kKeys = 1, kQueries = 1ULL << 40, kIndices = 1ULL << 41 };

struct Shape {
  std::string phase, backend;  // backend: empty for the resolver's choice
  int heads = 0, tokens = 0, topk = 0;
};

struct Line {
  Shape shape;
  std::string row, kv_layout, device;
  std::vector<double> seconds;
  double bytes = 0, flops = 0;
  std::string refused;  // why it did not run; empty: it did

  double best() const { return *std::ranges::min_element(seconds); }
};

// Of --phases, which the question checks; prefill and decode without it.
std::vector<std::string> phases_of(const Options& options) {
  std::vector<std::string> phases;
  std::istringstream list(options.phases.value_or("prefill,decode"));
  for (std::string phase; std::getline(list, phase, ',');) phases.push_back(phase);
  return phases;
}

std::vector<Shape> shapes_of(const Options& options) {
  std::vector<std::string> backends = options.targets;
  if (backends.empty()) backends.emplace_back();
  std::vector<Shape> shapes;
  for (const std::string& backend : backends)
    for (const std::string& phase : phases_of(options))
      for (const int heads : options.bench.heads)
        for (const int topk : options.bench.topk)
          for (const int tokens : options.bench.tokens)
            shapes.push_back({phase, backend, heads, tokens, topk});
  return shapes;
}

// The sizes of a shape; what a model or the user says about the rest stays, and the geometry of
// DeepSeek-V3.2 fills what nobody says.
void describe(const Shape& shape, Request& request) {
  const Phase phase = *parse_phase(shape.phase);
  request.prefill = phase == Phase::prefill;
  request.decode = phase == Phase::decode;
  request.mtp = phase == Phase::mtp;
  if (!shape.backend.empty()) {
    request.choice = {};
    request.choice[index(phase)] = Typed{shape.backend, {shape.backend, "command line"}};
  }
  request.values["heads"] = std::int32_t{shape.heads};
  request.values["topk"] = std::int32_t{shape.topk};
  const auto fill = [&](const char* dim, const Value& value) {
    Value& old = request.values[dim];
    if (std::holds_alternative<Unknown>(old)) old = value;
  };
  fill("d_qk", std::int32_t{576});
  fill("d_v", std::int32_t{512});
  fill("model_family", Token("deepseek_v32"));
}

tl::expected<PagedCache, Diagnostic> filled_cache(JobRunners& runners, std::int64_t tokens) {
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
    make_values(1, kKeys + static_cast<std::uint64_t>(first), values, 1.0F);
    std::vector<std::uint16_t> rows(values.size());
    std::ranges::transform(values, rows.begin(), kvcache::bf16_encode);
    if (auto done = cache->append(runner, rows, slots); !done)
      return tl::make_unexpected(std::move(done.error()));
  }
  return cache;
}

void fill_call(AttentionCall& call, const dsakit_config& config, std::int64_t slots) {
  std::vector<float> values(static_cast<std::size_t>(config.heads * config.d_qk));
  for (std::int64_t t = 0; t < call.tokens(); ++t) {
    make_values(1, kQueries + static_cast<std::uint64_t>(t), values, 2.0F);
    call.set_query(t, values);
  }
  std::vector<std::int32_t> lists(static_cast<std::size_t>(call.tokens() * config.topk));
  make_slots(1, kIndices, slots, lists);
  call.set_indices(lists);
}

tl::expected<void, Diagnostic> measure(Started& started, const Options& options, Line& line) {
  PhaseRunner& runner = started.runners.phases.front();
  const dsakit_config& config = runner.attention->config();
  auto cache = filled_cache(started.runners, options.bench.pool);
  if (!cache) return tl::make_unexpected(std::move(cache.error()));
  AttentionCall call(*started.runners.memory, config, line.shape.tokens);
  fill_call(call, config, cache->slots());
  line.shape.backend = runner.backend;
  line.row = runner.row;
  line.kv_layout = config.kv_layout;
  line.device = started.device;
  const double keys = static_cast<double>(call.tokens()) * static_cast<double>(config.topk);
  line.bytes = keys * cache->layout().token_bytes;
  line.flops = keys * 2.0 * static_cast<double>(config.heads * (config.d_qk + config.d_v));
  double total = 0;
  auto seconds = call.run(runner, *cache);  // past what a first call does once
  while (seconds && (line.seconds.size() < kFewestCalls || total < options.bench.seconds)) {
    seconds = call.run(runner, *cache);
    if (!seconds) break;
    line.seconds.push_back(*seconds);
    total += *seconds;
  }
  if (!seconds) return tl::make_unexpected(std::move(seconds.error()));
  return {};
}

tl::expected<Line, Diagnostic> bench_shape(const Cli& cli, const Advisor& advisor,
                                           const Policy& policy, const Shape& shape) {
  Line line{shape, {}, {}, {}, {}, 0, 0, {}};
  JobShape job;
  job.batch = shape.tokens;
  job.prefill = job.context = 1;
  const DescribeRequest change = [&](Request& request) -> tl::expected<void, Diagnostic> {
    describe(shape, request);
    return {};
  };
  auto started = start(cli, advisor, policy, job, change);
  if (!started) return tl::make_unexpected(std::move(started.error()));
  if (!*started) {
    const auto& why = started->error().answer.diagnostics;
    line.refused = why.empty() ? "no session" : headline(why.front());
    return line;
  }
  if (auto done = measure(**started, cli.options, line); !done)
    line.refused = headline(done.error());
  return line;
}

void print_table(std::ostream& out, const std::vector<Line>& lines) {
  Table table({"backend", "phase", "layout", "heads", "topk", "tokens", "calls", "median", "best",
               "GB/s", "GFLOP/s"});
  for (const Line& line : lines) {
    const Shape& shape = line.shape;
    Table::Row row{shape.backend.empty() ? "-" : shape.backend,
                   shape.phase,
                   line.kv_layout,
                   std::to_string(shape.heads),
                   std::to_string(shape.topk),
                   std::to_string(shape.tokens)};
    if (line.refused.empty()) {
      row.insert(row.end(), {std::to_string(line.seconds.size()),
                             duration_text(median(line.seconds)), duration_text(line.best()),
                             fmt::format("{:.2f}", line.bytes / median(line.seconds) * 1e-9),
                             fmt::format("{:.1f}", line.flops / median(line.seconds) * 1e-9)});
    } else {
      row.push_back(line.refused);
    }
    table.add(std::move(row));
  }
  out << table.text();
}

Json lines_json(const std::vector<Line>& lines) {
  Json out = Json::array();
  for (const Line& line : lines) {
    Json entry{{"backend", line.shape.backend},
               {"phase", line.shape.phase},
               {"heads", line.shape.heads},
               {"topk", line.shape.topk},
               {"tokens", line.shape.tokens}};
    if (!line.refused.empty()) {
      entry["refused"] = line.refused;
    } else {
      entry.update({{"row", line.row},
                    {"kv_layout", line.kv_layout},
                    {"device", line.device},
                    {"calls", line.seconds.size()},
                    {"median_seconds", median(line.seconds)},
                    {"best_seconds", line.best()},
                    {"kv_bytes", line.bytes},
                    {"flops", line.flops},
                    {"gb_per_s", line.bytes / median(line.seconds) * 1e-9},
                    {"gflops", line.flops / median(line.seconds) * 1e-9}});
    }
    out.push_back(std::move(entry));
  }
  return out;
}

int bench(Cli& cli) {
  const auto advisor = cli.open_advisor();
  if (!advisor) return cli.fail(advisor.error());
  const auto policy = cli.open_policy(*advisor);
  if (!policy) return cli.fail(policy.error());
  const std::vector<Shape> shapes = shapes_of(cli.options);
  std::vector<Line> lines;
  Progress progress(cli.surroundings().err, cli.surroundings().terminal_err);
  progress.begin("measuring", static_cast<std::int64_t>(shapes.size()), "shapes");
  try {
    for (const Shape& shape : shapes) {
      auto line = bench_shape(cli, *advisor, *policy, shape);
      if (!line) return cli.fail(line.error());
      lines.push_back(std::move(*line));
      progress.advance(static_cast<std::int64_t>(lines.size()));
    }
  } catch (const std::bad_alloc&) {
    return cli.fail(Diagnostic(Code::E0805).with("reason", "there is not enough memory"));
  }
  progress.finish();
  if (cli.options.json())
    cli.out() << dump(lines_json(lines)) << '\n';
  else
    print_table(cli.out(), lines);
  const bool any =
      std::ranges::any_of(lines, [](const Line& line) { return line.refused.empty(); });
  return static_cast<int>(any ? Status::yes : Status::no);
}

}  // namespace

const Command& bench_command() {
  static constexpr Command kCommand{
      "bench",
      "time a backend over a list of shapes",
      kQuestionOptions | kCatalogOptions | kFormatOption | kBenchOptions,
      bench,
      "backend",
      "ids; none: what the resolver picks",
      0,
      kAnyNumber};
  return kCommand;
}

}  // namespace dsakit::cli
