#include "run/start.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "dsakit/kv_layout.hpp"
#include "host/status.hpp"

namespace dsakit::cli {
namespace {

// Page sizes that are tried, in this order, where neither user nor model says one.
constexpr std::array<std::int32_t, 7> kPageSizes{64, 128, 256, 32, 16, 1, 576};

bool is_known(const Request& request, const std::string& dim) {
  const auto found = request.values.find(dim);
  return found != request.values.end() && !std::holds_alternative<Unknown>(found->second);
}

std::string token_of(const Request& request, const std::string& dim) {
  const auto found = request.values.find(dim);
  const auto* token = found == request.values.end() ? nullptr : std::get_if<Token>(&found->second);
  return token ? *token : "";
}

// Gives sizes that a run needs and that nobody stated: a page size that the same session accepts,
// and the value width of the layout.
Answer settle_sizes(const Advisor& advisor, const Policy& policy, Request& request, Answer answer) {
  const auto adopt = [&](const std::string& dim, std::int32_t value) {
    Request tried = request;
    tried.values[dim] = value;
    Answer with_value = advisor.resolve(tried, policy);
    if (!with_value.ok() || with_value.session != answer.session) return false;
    request = std::move(tried);
    answer = std::move(with_value);
    return true;
  };
  if (!is_known(request, "page_size"))
    (void)std::ranges::any_of(kPageSizes, [&](auto size) { return adopt("page_size", size); });
  if (is_known(request, "d_v")) return answer;
  const auto provides = answer.provides;  // adopt() replaces the answer
  for (const auto& [dim, json] : provides)
    for (const KvLayout& layout : kKvLayouts)
      if (dim == "kv_layout" && json == fmt::format("\"{}\"", layout.name))
        adopt("d_v", layout.d_v);
  return answer;
}

class Starter {
 public:
  Starter(const Cli& cli, const Advisor& advisor, const Policy& policy, const JobShape& shape,
          const DescribeRequest& describe)
      : cli_(cli),
        advisor_(advisor),
        policy_(policy),
        shape_(shape),
        describe_(describe),
        detection_(cli.surroundings().detect()) {}

  tl::expected<tl::expected<Started, NotStarted>, Diagnostic> search() {
    auto question = make_question(cli_, advisor_);
    if (!question) return tl::make_unexpected(std::move(question.error()));
    std::vector<NotStarted> refused;
    for (Candidate& candidate : question->candidates) {
      if (auto done = describe_(candidate.request); !done)
        return tl::make_unexpected(std::move(done.error()));
      const std::string name = token_of(candidate.request, "arch");
      const DetectedDevice* device = find(name);
      if (!device) return tl::make_unexpected(not_here(name));
      auto started = attempt(std::move(candidate.request), *device);
      if (started) {
        append(started->answer, reasons(question->skipped, refused, 0));
        return tl::expected<Started, NotStarted>(std::move(*started));
      }
      refused.push_back(std::move(started.error()));
    }
    append(refused.front().answer, reasons(question->skipped, refused, 1));
    return tl::expected<Started, NotStarted>(tl::make_unexpected(std::move(refused.front())));
  }

 private:
  static void append(Answer& answer, const std::vector<Diagnostic>& more) {
    answer.diagnostics.insert(answer.diagnostics.end(), more.begin(), more.end());
  }

  // Why devices were not used; the first `told` of the refused ones are told in full elsewhere.
  static std::vector<Diagnostic> reasons(std::vector<Diagnostic> skipped,
                                         const std::vector<NotStarted>& refused, std::size_t told) {
    for (std::size_t i = told; i < refused.size(); ++i) {
      const auto& why = refused[i].answer.diagnostics;
      if (!why.empty())
        skipped.push_back(device_not_used(token_of(refused[i].request, "arch"), why.front()));
    }
    return skipped;
  }

  const DetectedDevice* find(const std::string& name) const {
    const auto found = std::ranges::find(detection_.devices, name, &DetectedDevice::device);
    return found == detection_.devices.end() ? nullptr : &*found;
  }

  Diagnostic not_here(const std::string& name) const {
    if (name.empty()) return Diagnostic(Code::E0604);
    Diagnostic diagnostic = Diagnostic(Code::E0608).with("device", name);
    for (const DetectedDevice& device : detection_.devices)
      diagnostic.notes.push_back(fmt::format("found here: {}, {}", device.device, device.name));
    return diagnostic;
  }

  tl::expected<Started, NotStarted> attempt(Request request, const DetectedDevice& device) const {
    Answer answer = advisor_.resolve(request, policy_);
    if (answer.ok()) answer = settle_sizes(advisor_, policy_, request, std::move(answer));
    if (!answer.ok()) return tl::make_unexpected(NotStarted{std::move(request), std::move(answer)});
    const auto refuse = [&](Diagnostic why) {
      return tl::make_unexpected(
          NotStarted{request, failure_answer(advisor_.catalog().name(), std::move(why))});
    };
    const auto session = LoadedSession::load(advisor_.catalog(), request, answer);
    if (!session) return refuse(session.error());
    auto runners = make_job_runners(*session, shape_, device.ordinal);
    if (!runners) return refuse(std::move(runners.error()));
    return Started{fmt::format("{} {}: {}", device.platform, device.ordinal, device.name),
                   std::move(request), std::move(answer), std::move(*runners)};
  }

  const Cli& cli_;
  const Advisor& advisor_;
  const Policy& policy_;
  const JobShape& shape_;
  const DescribeRequest& describe_;
  Detection detection_;
};

}  // namespace

tl::expected<tl::expected<Started, NotStarted>, Diagnostic> start(const Cli& cli,
                                                                  const Advisor& advisor,
                                                                  const Policy& policy,
                                                                  const JobShape& shape,
                                                                  const DescribeRequest& describe) {
  return Starter(cli, advisor, policy, shape, describe).search();
}

}  // namespace dsakit::cli
