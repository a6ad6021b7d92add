// Says on standard error how far a long stage is; stages shorter than a second say nothing. On a
// terminal one line is rewritten, elsewhere a line is printed every few seconds. One thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <string>

namespace dsakit::cli {

class Progress {
 public:
  Progress(std::ostream& err, bool terminal) : err_(err), terminal_(terminal) {}
  ~Progress() { finish(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // A new stage of `total` steps: "checking", "tokens".
  void begin(std::string what, std::int64_t total, std::string unit);
  // `done` steps are behind; cheap enough to call often.
  void advance(std::int64_t done);
  void finish();

 private:
  using Clock = std::chrono::steady_clock;
  std::ostream& err_;
  bool terminal_, shown_ = false;
  std::string what_, unit_;
  std::int64_t total_ = 0;
  Clock::time_point next_{};
};

}  // namespace dsakit::cli
