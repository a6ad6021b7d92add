#include "run/progress.hpp"

#include <ostream>

#include <fmt/format.h>

namespace dsakit::cli {
namespace {

constexpr std::chrono::milliseconds kQuiet{1000}, kOnTerminal{200}, kElsewhere{5000};

}  // namespace

void Progress::begin(std::string what, std::int64_t total, std::string unit) {
  finish();
  what_ = std::move(what);
  unit_ = std::move(unit);
  total_ = total;
  next_ = Clock::now() + kQuiet;
}

void Progress::advance(std::int64_t done) {
  const auto now = Clock::now();
  if (what_.empty() || now < next_) return;
  next_ = now + (terminal_ ? kOnTerminal : kElsewhere);
  err_ << fmt::format("{}{}: {} of {} {}{}", terminal_ ? "\r\x1b[K" : "", what_, done, total_,
                      unit_, terminal_ ? "" : "\n");
  err_.flush();
  shown_ = true;
}

void Progress::finish() {
  if (shown_ && terminal_) (err_ << "\r\x1b[K").flush();
  shown_ = false;
  what_.clear();
}

}  // namespace dsakit::cli
