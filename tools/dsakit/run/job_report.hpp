// The result of a job, for people and for machines. Pure but for writing to the stream.
#pragma once

#include <iosfwd>
#include <string>

#include "run/job.hpp"
#include "solver/answer.hpp"

namespace dsakit::cli {

void print_job(std::ostream& out, const JobReport& report);

// One line: {"verdict":"pass","device":…,"answer":…,"phases":[…]}.
std::string job_json(const JobReport& report, const Answer& answer);

// "1.23 s", "45.6 ms", "7.8 us".
std::string duration_text(double seconds);

double median(std::vector<double> values);

}  // namespace dsakit::cli
