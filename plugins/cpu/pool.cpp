#include "plugins/cpu/pool.hpp"

#include <algorithm>
#include <system_error>
#include <thread>

namespace dsakit::cpu {

Pool& Pool::shared() {
  static Pool* const pool =
      new Pool(static_cast<int>(std::max(1U, std::thread::hardware_concurrency())) - 1);
  return *pool;
}

Pool::Pool(int workers) {
  try {
    for (; workers_ < workers; ++workers_) std::thread([this] { work(); }).detach();
  } catch (const std::system_error&) {
    // The threads that did start are enough.
  }
}

Pool::Job* Pool::joinable() {
  for (Job* job = jobs_; job != nullptr; job = job->next)
    if (job->next_index < job->threads) return job;
  return nullptr;
}

void Pool::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    Job* job = nullptr;
    wake_.wait(lock, [&] { return (job = joinable()) != nullptr; });
    const int index = job->next_index++;
    ++job->active;
    lock.unlock();
    job->body(job->context, index);
    lock.lock();
    if (--job->active == 0) done_.notify_all();
  }
}

void Pool::run(int threads, void (*body)(void*, int), void* context) {
  if (threads <= 1) {
    body(context, 0);
    return;
  }
  Job job{body, context, 1, threads, 0, nullptr};
  {
    const std::lock_guard lock(mutex_);
    job.next = jobs_;
    jobs_ = &job;
  }
  if (threads == 2)
    wake_.notify_one();
  else
    wake_.notify_all();
  body(context, 0);
  std::unique_lock lock(mutex_);
  Job** link = &jobs_;
  while (*link != &job) link = &(*link)->next;
  *link = job.next;
  done_.wait(lock, [&] { return job.active == 0; });
}

}  // namespace dsakit::cpu
