// Worker threads that every instance of the plugin shares. A call to run() is joined by the workers
// that are free and never waits for one that has not started, so calls from several threads at once
// only share the machine.
//
// Invariants: run() does not allocate; body must not throw. The pool and its threads live as long
// as the process, since a plugin is never unloaded. Any thread.
#pragma once

#include <condition_variable>
#include <mutex>

namespace dsakit::cpu {

class Pool {
 public:
  // The one pool; the first call starts a worker for each processor but one (fewer if the system
  // refuses).
  static Pool& shared();

  // Threads that can work on one call, the caller's included.
  int threads() const { return workers_ + 1; }

  // Calls body(context, index) on up to `threads` threads at once, each with its own index in
  // 0 ... threads - 1; the caller has index 0. Returns when all calls have returned.
  void run(int threads, void (*body)(void* context, int index), void* context);

 private:
  // A call in progress; lives on its caller's stack.
  struct Job {
    void (*body)(void*, int);
    void* context;
    int next_index;
    int threads;
    int active;
    Job* next;
  };

  explicit Pool(int workers);
  void work();
  Job* joinable();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
  Job* jobs_ = nullptr;
  int workers_ = 0;
};

}  // namespace dsakit::cpu
