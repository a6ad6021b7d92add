// Streams and graphs of the emulated HIP runtime: work in order, on a thread a stream.
//
// Invariants: a stream never runs two pieces of work at a time; a captured stream runs nothing.
// Any thread.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace dsakit::simt {

enum class NodeType : int { kernel = 0, copy = 1, fill = 2, host = 3 };

struct Node {
  NodeType type;
  std::function<void()> work;
};

struct Graph {
  std::vector<Node> nodes;  // in order
};

class Stream {
 public:
  Stream() : worker_([this](const std::stop_token& stop) { serve(stop); }) {}

  // To be run behind all earlier work; into the graph while the stream is captured.
  void add(Node node) {
    {
      const std::lock_guard lock(mutex_);
      if (captured_) {
        captured_->nodes.push_back(std::move(node));
        return;
      }
      queue_.push_back(std::move(node.work));
    }
    changed_.notify_all();
  }

  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return queue_.empty() && !busy_; });
  }

  bool idle() {
    const std::lock_guard lock(mutex_);
    return queue_.empty() && !busy_;
  }

  // False if it is captured already.
  bool begin_capture() {
    const std::lock_guard lock(mutex_);
    if (captured_) return false;
    captured_ = std::make_unique<Graph>();
    return true;
  }
  std::unique_ptr<Graph> end_capture() {
    const std::lock_guard lock(mutex_);
    return std::move(captured_);
  }
  bool captured() {
    const std::lock_guard lock(mutex_);
    return captured_ != nullptr;
  }

 private:
  void serve(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (changed_.wait(lock, stop, [this] { return !queue_.empty(); })) {
      const std::function<void()> work = std::move(queue_.front());
      queue_.pop_front();
      busy_ = true;
      lock.unlock();
      work();
      lock.lock();
      busy_ = false;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::function<void()>> queue_;
  bool busy_ = false;
  std::unique_ptr<Graph> captured_;
  std::jthread worker_;  // last: it starts when the rest is there, and ends first
};

}  // namespace dsakit::simt
