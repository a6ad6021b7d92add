// dsakit run: the main job. Picks backends for a model on a device of this machine, runs prefill
// and decode through them and checks every output row.
#include <new>
#include <ostream>

#include <fmt/format.h>

#include "command.hpp"
#include "host/status.hpp"
#include "print.hpp"
#include "run/job_report.hpp"
#include "run/start.hpp"
#include "run/tensors_job.hpp"

namespace dsakit::cli {
namespace {

// Slots are int32 in the index lists.
constexpr std::int64_t kMostTokens = std::int64_t{1} << 30;

JobShape shape_of(const RunOptions& options) {
  JobShape shape;
  shape.batch = options.batch;
  shape.context = options.context;
  shape.prefill = options.prefill;
  shape.steps = options.steps;
  shape.seed = options.seed;
  shape.threads = options.threads;
  return shape;
}

Diagnostic wrong_usage(std::string reason) {
  return Diagnostic(Code::E0407).with("reason", std::move(reason));
}

int refuse(const Cli& cli, const Advisor& advisor, const NotStarted& refused) {
  if (cli.options.json()) {
    cli.out() << to_json(refused.answer) << '\n';
  } else if (refused.answer.verdict == Answer::Verdict::error) {
    for (const Diagnostic& diagnostic : refused.answer.diagnostics)
      cli.surroundings().err << render_text(diagnostic, {cli.surroundings().color_err});
  } else {
    print_answer(cli.out(), refused.answer, refused.request, advisor.catalog(), cli.style());
  }
  if (refused.answer.verdict == Answer::Verdict::error)
    return static_cast<int>(status_of(refused.answer.diagnostics.front()));
  return static_cast<int>(status_of(refused.answer.verdict));
}

int run_on(const Cli& cli, const Advisor& advisor, const Policy& policy,
           std::optional<TensorsJob>& tensors) {
  const RunOptions& options = cli.options.run;
  JobShape shape = shape_of(options);
  if (tensors) {
    shape.batch = tensors->tokens();
    shape.prefill = shape.context = 1;
  }
  if (shape.batch > kMostTokens / (shape.context + 2 * shape.steps))
    return cli.fail(wrong_usage("--batch times --context is too large"));
  const DescribeRequest describe = [&](Request& request) -> tl::expected<void, Diagnostic> {
    if (!tensors) return {};
    if (!cli.options.phases) request.decode = request.mtp = !(request.prefill = true);
    if (request.prefill + request.decode + request.mtp != 1)
      return tl::make_unexpected(wrong_usage("--tensors are run in one phase; --phases names it"));
    return tensors->describe(request);
  };
  auto started = start(cli, advisor, policy, shape, describe);
  if (!started) return cli.fail(started.error());
  if (!*started) return refuse(cli, advisor, started->error());
  Started& ready = **started;
  if (!cli.options.json())
    print_answer(cli.out(), ready.answer, ready.request, advisor.catalog(), cli.style());
  cli.out().flush();
  Progress progress(cli.surroundings().err, cli.surroundings().terminal_err);
  auto report =
      tensors ? tensors->run(ready.runners, options.sm_scale, shape.threads, options.out, progress)
              : run_job(ready.runners, shape, progress);
  if (!report) return cli.fail(report.error());
  report->device = ready.device;
  if (cli.options.json())
    cli.out() << job_json(*report, ready.answer) << '\n';
  else
    print_job(cli.out(), *report);
  return static_cast<int>(report->pass() ? Status::yes : Status::no);
}

int run(Cli& cli) {
  const RunOptions& options = cli.options.run;
  if (options.out && !options.tensors)
    return cli.fail(wrong_usage("--out writes the results of --tensors, which is not there"));
  const auto advisor = cli.open_advisor();
  if (!advisor) return cli.fail(advisor.error());
  const auto policy = cli.open_policy(*advisor);
  if (!policy) return cli.fail(policy.error());
  std::optional<TensorsJob> tensors;
  if (options.tensors) {
    auto opened = TensorsJob::open(*options.tensors);
    if (!opened) return cli.fail(opened.error());
    tensors = std::move(*opened);
  }
  try {
    return run_on(cli, *advisor, *policy, tensors);
  } catch (const std::bad_alloc&) {
    return cli.fail(Diagnostic(Code::E0805).with("reason", "there is not enough memory"));
  }
}

}  // namespace

const Command& run_command() {
  static constexpr Command kCommand{
      "run",
      "pick backends, run prefill and decode through them, check every row",
      kQuestionOptions | kCatalogOptions | kFormatOption | kRunOptions,
      run,
      nullptr,
      nullptr,
      0,
      0,
      "text",
      "Example: dsakit run --model-config config.json --kv-cache-dtype fp8_e4m3\n"
      "docs/run.md says what is checked and which tensors --tensors takes.",
      "0 PASS; 1 FAIL, or nothing can serve this; 2 the question cannot be understood; 3 something "
      "is\n"
      "missing here, or a backend failed."};
  return kCommand;
}

}  // namespace dsakit::cli
