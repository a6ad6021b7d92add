// A toy serving engine on dsakit's public headers: it admits requests while pages last, prefills
// each in one call and then decodes all running ones together, one token a step. The "model" is a
// hash: keys and queries follow from token ids, the next token from the attention output.
//
// Invariants: a page belongs to one sequence or to the free list. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <dsakit/dsakit.hpp>

namespace host_engine {

// A compact tensor in host memory that describes itself.
template <class T>
class Tensor {
 public:
  Tensor(DLDataType type, std::vector<std::int64_t> shape) : shape_(std::move(shape)) {
    std::int64_t elements = 1;
    for (const std::int64_t extent : shape_) elements *= extent;
    data_.resize(static_cast<std::size_t>(elements));
    view_.device = {kDLCPU, 0};
    view_.dtype = type;
    view_.ndim = static_cast<int>(shape_.size());
  }
  T* data() { return data_.data(); }
  T& operator[](std::int64_t i) { return data_[static_cast<std::size_t>(i)]; }
  // Valid until the next call or a move.
  const DLTensor* view() {
    view_.data = data_.data();
    view_.shape = shape_.data();
    return &view_;
  }

 private:
  std::vector<T> data_;
  std::vector<std::int64_t> shape_;
  DLTensor view_{};
};

struct Sequence {
  int id = 0;
  std::vector<int> tokens;  // prompt, then what was generated
  std::size_t prompt = 0, wanted = 0;
  std::vector<std::int64_t> pages;

  bool finished() const { return tokens.size() >= prompt + wanted; }
};

struct Settings {
  std::string request;  // batch form, with real sizes
  std::vector<std::string> plugin_dirs;
  std::int64_t pages = 64;     // of the pool
  std::int64_t max_batch = 8;  // sequences that decode together
  std::int64_t max_prompt = 512;
};

class Engine {
 public:
  // The engine, or why there is none in `error`.
  static std::optional<Engine> start(const Settings& settings, std::string& error);

  // Queues a prompt that will get `wanted` more tokens; answers its id.
  int submit(std::vector<int> prompt, std::size_t wanted);
  // One round: admit and prefill, then decode. False once nothing is left, or with error() set.
  bool step();

  const std::map<int, std::vector<int>>& results() const { return results_; }
  const std::string& error() const { return error_; }
  const dsakit_config& config() const { return decode_.config(); }
  const std::string& answer() const { return answer_; }
  std::size_t most_running() const { return most_running_; }

 private:
  Engine(const Settings& settings, std::string answer, dsakit::api::Attention prefill,
         dsakit::api::Attention decode);

  void admit();
  bool reserve(Sequence& sequence, std::size_t tokens);
  // Appends the keys of the last `count` tokens of each sequence, attends for them, and adds the
  // token that follows the last one.
  bool advance(dsakit::api::Attention& attention, const std::vector<Sequence*>& batch,
               std::int64_t count);
  bool append(dsakit::api::Attention& attention, const std::vector<Sequence*>& batch,
              std::int64_t count);
  std::int64_t slot(const Sequence& sequence, std::int64_t position) const;
  bool failed(const char* what, dsakit_rc rc, const dsakit_error& error);

  Settings settings_;
  std::string answer_, error_;
  dsakit::api::Attention prefill_, decode_;
  Tensor<std::uint8_t> pool_, workspace_;
  std::vector<std::int64_t> free_pages_;
  std::deque<Sequence> waiting_;
  std::vector<Sequence> running_;
  std::map<int, std::vector<int>> results_;
  int next_id_ = 0;
  std::size_t most_running_ = 0;
};

}  // namespace host_engine
