// From what the user typed to requests: one for each device to try, in order. Nothing here judges a
// backend. One thread.
#pragma once

#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "cli.hpp"
#include "command.hpp"
#include "diag/diagnostic.hpp"
#include "solver/request.hpp"

namespace dsakit::cli {

struct Candidate {
  std::string device;  // "sm_90"; empty if the request does not say
  Request request;
};

struct Question {
  std::vector<Candidate> candidates;  // at least one
  std::vector<Diagnostic> skipped;    // devices found here that dsakit does not know (W0607)
  std::vector<std::string> found;     // devices of this machine, if they were taken for want of
                                      // another; "sm_90 (NVIDIA H200)"
};

// Without --device and without a request that names one: a candidate for each device found here,
// the CPU last. Errors: those of read_model_config(), make_request(), parse_request(); E0407.
tl::expected<Question, Diagnostic> make_question(const Cli& cli, const Advisor& advisor);

// As make_question() for this device only; empty: the device stays unknown.
tl::expected<Request, Diagnostic> make_request_for(const Cli& cli, const Advisor& advisor,
                                                   const std::string& device);

// W0609: for which device a catalogue that only plans was asked, since none was named.
Diagnostic planned_for(const std::string& device, const Question& question);

// W0607: why a device is not used.
Diagnostic device_not_used(const std::string& device, const Diagnostic& reason);

}  // namespace dsakit::cli
