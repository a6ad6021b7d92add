// L5 on a GPU: streams, graphs, and what run must not do there: wait for the device, or allocate.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <thread>

#include <fmt/format.h>

#include "sdk/conformance/allocations.hpp"
#include "sdk/conformance/check.hpp"

namespace dsakit::conformance {
namespace {

// A stream that ends with the object; whatever it still has to do is waited for.
class Stream {
 public:
  explicit Stream(GpuDevice& gpu) : gpu_(gpu), handle_(gpu.make_stream()) {}
  ~Stream() {
    gpu_.wait(handle_);
    gpu_.destroy_stream(handle_);
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  void* get() const { return handle_; }

 private:
  GpuDevice& gpu_;
  void* handle_;
};

// A problem in device memory with an instance of its own, to be run more than once in one place.
class Seat {
 public:
  Seat(const Trial& trial, const Description& d) : trial_(trial), problem(d) {
    instance = std::make_unique<Instance>(trial.subject(), problem.config);
    ready_ = instance->created();
    if (ready_.ok()) ready_ = instance->prepare_workspace(problem);
    if (!ready_.ok()) return;
    staged = std::make_unique<Staged>(*trial.gpu(), problem);
    if (!staged->upload()) ready_.rc = DSAKIT_RC_DEVICE;
  }
  const Outcome& ready() const { return ready_; }
  void share_workspace(Seat& other) { workspace_ = other.staged->args().workspace; }

  Outcome run(void* stream) {
    dsakit_run_args args = staged->args();
    args.stream = stream;
    if (workspace_ != nullptr) args.workspace = workspace_;
    return call([&](dsakit_error* error) {
      return trial_.subject().table->run(instance->get(), &args, error);
    });
  }

 private:
  const Trial& trial_;
  Outcome ready_;
  void* workspace_ = nullptr;  // another seat's

 public:
  Problem problem;
  std::unique_ptr<Instance> instance;
  std::unique_ptr<Staged> staged;
};

// Uneven work: gaps in lists of different lengths where the row takes them.
Description uneven(const RowSpace& row) {
  Description d = row.base(row.phases().front());
  d.batch = 6;
  d.unselected_nan = d.odd_strides = true;
  Description with = d;
  with.lengths = true;
  with.lse = with.lse_base != "none";
  return row.accepts(with) ? with : d;
}

// Whether the check applies; else it is skipped.
bool on_gpu(Trial& trial) {
  if (!trial.ready()) return false;
  if (trial.gpu() == nullptr) trial.skip("a cpu has no streams");
  return trial.gpu() != nullptr;
}

bool seated(Trial& trial, const Seat& seat) {
  return trial.expect(seat.ready().ok(), "create or workspace: " + describe(seat.ready()));
}

// Ends the wait of a held stream, at the latest after some seconds.
class Hold {
 public:
  Hold(GpuDevice& gpu, void* stream)
      : gpu_(gpu), stream_(stream), held_(gpu.hold(stream, released_)) {
    if (held_) watch_ = std::thread([this] { watch(); });
  }
  ~Hold() {
    release();
    gpu_.wait(stream_);  // the driver's thread looks at this object until then
  }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;

  bool held() const { return held_; }
  // Answers whether the stream was held until now.
  bool release() {
    if (!watch_.joinable()) return !expired_;
    {
      const std::lock_guard lock(mutex_);
      done_ = true;
    }
    wake_.notify_all();
    watch_.join();
    return !expired_;
  }

 private:
  static constexpr auto kPatience = std::chrono::seconds(5);

  void watch() {
    std::unique_lock lock(mutex_);
    expired_ = !wake_.wait_for(lock, kPatience, [this] { return done_; });
    released_ = true;
  }

  GpuDevice& gpu_;
  void* stream_;
  std::atomic<bool> released_{false};
  bool held_;
  bool done_ = false, expired_ = false;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::thread watch_;
};

// run returns while its stream cannot even start: it waits for nothing on the device, and does
// nothing outside its stream.
void no_synchronisation(Trial& trial) {
  if (!on_gpu(trial)) return;
  Seat seat(trial, uneven(trial.row()));
  if (!seated(trial, seat)) return;
  const Stream stream(*trial.gpu());
  // The first run may load code.
  if (!trial.expect(seat.run(stream.get()).ok() && trial.gpu()->wait(stream.get()),
                    "run in a stream of its own fails"))
    return;
  seat.problem.spoil_outputs();
  if (!seat.staged->upload_tensors()) return trial.fail("the device fails after run");
  Hold hold(*trial.gpu(), stream.get());
  if (!hold.held()) return trial.broken("the driver cannot hold a stream");
  const Outcome outcome = seat.run(stream.get());
  const bool early = seat.staged->download(seat.problem.out) && !seat.problem.outputs_untouched();
  trial.expect(!early, "run writes its outputs before its stream comes to it");
  trial.expect(hold.release(), "run does not return before the work that its stream waits for");
  if (!trial.expect(outcome.ok(), describe(outcome))) return;
  if (!trial.expect(trial.gpu()->wait(stream.get()) && seat.staged->download_outputs(),
                    "the device fails after run"))
    return;
  trial.compare(seat.problem);
}

// The work of a captured run is all in its stream, and none of it allocates.
std::optional<GpuDevice::Graph> capture(Trial& trial, void* stream, std::vector<Seat*> seats) {
  if (!trial.gpu()->begin_capture(stream)) {
    trial.broken("the driver cannot capture: " + trial.gpu()->last_error());
    return std::nullopt;
  }
  Outcome outcome;
  for (Seat* seat : seats)
    if (outcome.ok()) outcome = seat->run(stream);
  const auto graph = trial.gpu()->end_capture(stream);
  if (!trial.expect(outcome.ok(), "run under capture: " + describe(outcome)) ||
      !trial.expect(graph.has_value(),
                    "run does under capture what a capture forbids: " + trial.gpu()->last_error()))
    return std::nullopt;
  trial.expect(graph->nodes > 0, "run under capture leaves the graph empty");
  return graph;
}

// Launches and fetches; false if something failed.
bool replay(Trial& trial, const GpuDevice::Graph& graph, void* stream, std::vector<Seat*> seats) {
  bool good = true;
  for (Seat* seat : seats) {
    seat->problem.spoil_outputs();
    good = good && seat->staged->upload_tensors();
  }
  good = good && trial.gpu()->launch(graph, stream) && trial.gpu()->wait(stream);
  for (Seat* seat : seats) good = good && seat->staged->download_outputs();
  return trial.expect(good, "the graph fails: " + trial.gpu()->last_error());
}

// Other lists and, where the row takes them, lengths: the first token as an engine pads a batch,
// without keys and with garbage in its row.
void change_lists(Seat& seat, unsigned round) {
  Problem& p = seat.problem;
  const Description& d = p.description();
  std::mt19937 random(round * 977 + 5);
  const auto draw = [&](std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<unsigned>(n));
  };
  const std::int64_t slots = d.pages * d.page_size;
  std::vector<float> key(static_cast<std::size_t>(p.config.d_qk));
  for (std::int64_t slot = 0; slot < slots; ++slot) {
    for (float& value : key) value = normal(random, d.kv_amplitude);
    p.set_key(0, slot, key);
  }
  for (std::int64_t token = 0; token < p.tokens(); ++token) {
    std::int64_t used = d.topk;
    if (d.lengths) {
      used = token == 0 ? 0 : draw(d.topk + 1);
      write_integer(p.length[0], token, used);
    }
    for (std::int64_t j = 0; j < d.topk; ++j)
      p.set_index(0, token, j, j < used ? draw(slots) : std::numeric_limits<std::int32_t>::max());
  }
}

// Captured once, replayed with other lengths, indices and keys in the same tensors.
void graph(Trial& trial) {
  if (!on_gpu(trial)) return;
  if (!trial.row().accepts_feature("cuda_graph"))
    return trial.skip("the row does not accept feature cuda_graph");
  Description d = uneven(trial.row());
  d.features.emplace_back("cuda_graph");
  if (!trial.row().accepts(d) || d.ragged) return trial.skip("the row does not accept such a call");
  Seat seat(trial, d);
  if (!seated(trial, seat)) return;
  const Stream stream(*trial.gpu());
  if (!trial.expect(seat.run(stream.get()).ok() && trial.gpu()->wait(stream.get()), "run fails"))
    return;
  const auto made = capture(trial, stream.get(), {&seat});
  if (!made) return;
  for (unsigned round = 0; round < (trial.full() ? 12U : 3U) && !trial.failed(); ++round) {
    if (round > 0) change_lists(seat, round);
    if (replay(trial, *made, stream.get(), {&seat})) trial.compare(seat.problem);
  }
  trial.gpu()->destroy(*made);
}

// Two layers after another in one graph, with one workspace.
void shared_workspace(Trial& trial) {
  if (!on_gpu(trial)) return;
  Description d = uneven(trial.row());
  Seat first(trial, d);
  d.seed += 77;
  Seat second(trial, d);
  if (!seated(trial, first) || !seated(trial, second)) return;
  const Stream stream(*trial.gpu());
  const auto runs = [&](Seat& seat) {
    return seat.run(stream.get()).ok() && trial.gpu()->wait(stream.get());
  };
  if (!trial.expect(runs(first) && runs(second), "run fails")) return;
  second.share_workspace(first);
  const auto made = capture(trial, stream.get(), {&first, &second});
  if (!made) return;
  for (int round = 0; round < 3 && !trial.failed(); ++round)
    if (replay(trial, *made, stream.get(), {&first, &second})) {
      trial.compare(first.problem);
      trial.compare(second.problem);
    }
  trial.gpu()->destroy(*made);
}

// Instances of different size at work in two streams at once give the bits that each gives alone.
void streams(Trial& trial) {
  if (!on_gpu(trial)) return;
  Description d = uneven(trial.row());
  Seat first(trial, d);
  d.batch = 40;
  d.seed += 5;
  Seat second(trial, d);
  if (!seated(trial, first) || !seated(trial, second)) return;
  const Stream left(*trial.gpu());
  const Stream right(*trial.gpu());
  std::vector<std::byte> alone[2];
  const std::pair<Seat*, void*> work[] = {{&first, left.get()}, {&second, right.get()}};
  for (int i = 0; i < 2; ++i) {
    const auto& [seat, stream] = work[i];
    if (!trial.expect(
            seat->run(stream).ok() && trial.gpu()->wait(stream) && seat->staged->download_outputs(),
            "run in a stream of its own fails"))
      return;
    trial.compare(seat->problem);
    alone[i] = seat->problem.output_bytes();
  }
  for (int round = 0; round < (trial.full() ? 20 : 4) && !trial.failed(); ++round) {
    bool good = true;
    for (const auto& [seat, stream] : work) {
      seat->problem.spoil_outputs();
      good = good && seat->staged->upload_tensors();
    }
    for (int repeat = 0; repeat < 8; ++repeat)
      for (const auto& [seat, stream] : work) good = good && seat->run(stream).ok();
    for (const auto& [seat, stream] : work)
      good = good && trial.gpu()->wait(stream) && seat->staged->download_outputs();
    if (!trial.expect(good, "runs in two streams fail")) return;
    for (int i = 0; i < 2; ++i)
      trial.expect(work[i].first->problem.output_bytes() == alone[i],
                   "runs in two streams at once give other bits");
  }
}

// Neither heap nor device memory, once the first run is over.
void no_device_allocation(Trial& trial) {
  if (!on_gpu(trial)) return;
  Seat seat(trial, uneven(trial.row()));
  if (!seated(trial, seat)) return;
  const Stream stream(*trial.gpu());
  const auto once = [&] {
    const Outcome outcome = seat.run(stream.get());
    return trial.expect(outcome.ok(), describe(outcome)) && trial.gpu()->wait(stream.get());
  };
  for (int warm = 0; warm < 3; ++warm)
    if (!once()) return;
  const auto before = trial.gpu()->free_bytes();
  for (int repeat = 0; repeat < 50; ++repeat)
    if (!once()) return;
  const auto after = trial.gpu()->free_bytes();
  if (!before || !after) return trial.broken("the driver does not tell its free memory");
  trial.expect(*after >= *before,
               fmt::format("50 runs take {} bytes of device memory", *before - *after));
  Outcome outcome;
  if (!trial.gpu()->begin_capture(stream.get())) return;  // runtime.capture tells
  outcome = seat.run(stream.get());
  const auto made = trial.gpu()->end_capture(stream.get());
  if (!made || !outcome.ok()) return;
  trial.expect(made->allocations == 0, "run allocates device memory in its stream");
  trial.gpu()->destroy(*made);
}

// Everything that run does is work in its stream.
void captured(Trial& trial) {
  if (!on_gpu(trial)) return;
  Seat seat(trial, uneven(trial.row()));
  if (!seated(trial, seat)) return;
  const Stream stream(*trial.gpu());
  if (!trial.expect(seat.run(stream.get()).ok() && trial.gpu()->wait(stream.get()), "run fails"))
    return;
  if (const auto made = capture(trial, stream.get(), {&seat})) trial.gpu()->destroy(*made);
}

constexpr Check kDeviceChecks[] = {
    {"runtime.no_synchronisation", 5, Scope::row, no_synchronisation},
    {"runtime.no_device_allocation", 5, Scope::row, no_device_allocation},
    {"runtime.capture", 5, Scope::row, captured},
    {"runtime.streams", 5, Scope::row, streams},
    {"runtime.graph", 5, Scope::row, graph},
    {"runtime.shared_workspace", 5, Scope::row, shared_workspace}};

}  // namespace

std::span<const Check> device_checks() {
  return kDeviceChecks;
}

}  // namespace dsakit::conformance
