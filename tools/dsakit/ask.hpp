// Asks a question device by device until one serves it, and keeps why the earlier ones were not
// used. Batch form: one answer a line. One thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "command.hpp"
#include "question.hpp"
#include "report.hpp"
#include "solver/answer.hpp"

namespace dsakit::cli {

template <typename Result>
struct Asked {
  Result result;
  Request request;
};

inline Answer& answer_of(Answer& answer) {
  return answer;
}
inline Answer& answer_of(Explanation& explanation) {
  return explanation.answer;
}

// The result for the first device that serves the request; if none does, that of the first device,
// with the others' reasons as warnings.
template <typename Result, typename Ask>
Asked<Result> ask_in_turn(const Question& question, const Catalog& catalog, Ask ask) {
  std::vector<Asked<Result>> refused;
  const bool only_plans = !question.found.empty() && is_manifest_only(catalog);
  const auto add_reasons = [&](Answer& answer, std::size_t from) {
    for (const Diagnostic& skipped : question.skipped) answer.diagnostics.push_back(skipped);
    for (std::size_t i = from; i < refused.size(); ++i) {
      const auto& why = answer_of(refused[i].result).diagnostics;
      if (!why.empty()) {
        answer.diagnostics.push_back(device_not_used(question.candidates[i].device, why.front()));
      }
    }
    const std::size_t judged = answer.ok() ? refused.size() : 0;
    if (only_plans) {
      answer.diagnostics.push_back(planned_for(question.candidates[judged].device, question));
    }
  };
  for (const Candidate& candidate : question.candidates) {
    Asked<Result> asked{ask(candidate.request), candidate.request};
    Answer& answer = answer_of(asked.result);
    if (answer.verdict != Answer::Verdict::rejected) {
      if (answer.ok()) add_reasons(answer, 0);
      return asked;
    }
    refused.push_back(std::move(asked));
  }
  add_reasons(answer_of(refused.front().result), 1);
  return std::move(refused.front());
}

// Answers each line of --requests with `answer_line(text, line number)`, which returns JSON. Exit
// code 0 once every line got its verdict, be it "error"; 3 when the file cannot be read.
int answer_requests(const Cli& cli,
                    const std::function<std::string(std::string_view, int)>& answer_line);

// The body of resolve, validate and evaluate: `project` is the advisor's projection.
using Projection = Answer (Advisor::*)(Request, const Policy&) const;
int print_projection(const Cli& cli, Projection project);

}  // namespace dsakit::cli
