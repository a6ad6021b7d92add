#include "run/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace dsakit::cli {

void parallel_for(std::int64_t count, int threads, Progress& progress,
                  const std::function<void(std::int64_t)>& body) {
  if (count <= 0) return;
  const std::int64_t cores = std::max(1U, std::thread::hardware_concurrency());
  const std::int64_t workers = std::clamp<std::int64_t>(threads == 0 ? cores : threads, 1, count);
  std::atomic<std::int64_t> next{0};
  std::atomic<std::int64_t> done{0};
  const auto work = [&](bool reports) {
    for (std::int64_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) {
      body(i);
      const std::int64_t behind = done.fetch_add(1) + 1;
      if (reports) progress.advance(behind);
    }
  };
  std::vector<std::thread> others;
  for (std::int64_t i = 1; i < workers; ++i) others.emplace_back(work, false);
  work(true);
  for (std::thread& thread : others) thread.join();
}

}  // namespace dsakit::cli
