// From a question to a backend that is loaded and started: tries device after device and keeps why
// each earlier one was not used. With a named device no other is tried. One thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "command.hpp"
#include "question.hpp"
#include "run/job.hpp"
#include "solver/answer.hpp"

namespace dsakit::cli {

struct Started {
  std::string device;  // in words: "cpu 0: AMD EPYC"
  Request request;
  Answer answer;  // its diagnostics end with why earlier devices were not used
  JobRunners runners;
};

// Why nothing was started: an answer that is not ok, or a diagnostic of loading and starting.
struct NotStarted {
  Request request;
  Answer answer;
};

// `describe` changes each request before it is asked; its error ends the search.
using DescribeRequest = std::function<tl::expected<void, Diagnostic>(Request&)>;

// Errors of the question itself: those of make_question(), E0608.
tl::expected<tl::expected<Started, NotStarted>, Diagnostic> start(const Cli& cli,
                                                                  const Advisor& advisor,
                                                                  const Policy& policy,
                                                                  const JobShape& shape,
                                                                  const DescribeRequest& describe);

}  // namespace dsakit::cli
