// L2: wrong calls are refused with a code: no crash, no exception, nothing written.
#include <algorithm>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "sdk/conformance/check.hpp"
#include "sdk/conformance/guarded.hpp"
#include "sdk/conformance/mistakes.hpp"

namespace dsakit::conformance {
namespace {

bool creates(const Trial& trial, const Description& d) {
  const OwnedConfig owned(d);
  return Instance(trial.subject(), owned.config).created().ok();
}

// The row's base with every optional argument that it takes. What create refuses although the row
// accepts it is left to truth.accepts.
Description rich(const Trial& trial) {
  Description d = trial.row().base(trial.row().phases().front());
  d.batch = 2;
  d.unselected_nan = true;
  const auto add = [&](auto edit) {
    Description with = d;
    edit(with);
    if (trial.row().accepts(with) && creates(trial, with)) d = with;
  };
  add([](Description& w) { w.sink = true; });
  add([](Description& w) { w.lengths = true; });
  add([](Description& w) { w.max_logits = true; });
  add([](Description& w) { w.lse = w.lse_base != "none"; });
  add([](Description& w) {
    w.topk2 = w.topk;
    w.pages2 = w.pages;
    w.page_size2 = w.page_size;
  });
  return d;
}

// The structs of a problem, to undo a mistake.
class Saved {
 public:
  explicit Saved(Problem& problem) : args_(problem.args) {
    for (int i = 0; i < 2; ++i) caches_[i] = problem.caches[i];
    for (HostTensor* tensor : tensors(problem))
      tensors_.push_back({tensor->view, tensor->shape, tensor->strides});
  }

  void restore(Problem& problem) const {
    problem.args = args_;
    for (int i = 0; i < 2; ++i) problem.caches[i] = caches_[i];
    std::size_t next = 0;
    for (HostTensor* tensor : tensors(problem)) {
      const auto& [view, shape, strides] = tensors_[next++];
      tensor->shape = shape;
      tensor->strides = strides;
      tensor->view = view;
      tensor->view.shape = tensor->shape.data();
      tensor->view.strides = strides.empty() ? nullptr : tensor->strides.data();
    }
  }

 private:
  struct Axes {
    DLTensor view;
    std::vector<std::int64_t> shape, strides;
  };
  static std::vector<HostTensor*> tensors(Problem& p) {
    return {&p.q,         &p.out,       &p.lse,        &p.max_logits, &p.sink,
            &p.pool[0],   &p.pool[1],   &p.indices[0], &p.indices[1], &p.indptr[0],
            &p.indptr[1], &p.length[0], &p.length[1],  &p.scale[0],   &p.scale[1]};
  }

  dsakit_run_args args_;
  dsakit_kv_cache caches_[2]{};
  std::vector<Axes> tensors_;
};

bool starts(const std::string& kind, std::initializer_list<const char*> kinds) {
  return std::ranges::any_of(kinds, [&](const char* each) { return kind == each; });
}

// Makes every mistake of some kinds and hands each outcome to `judge`.
using Judge = void (*)(Trial&, const Mistake&, const Outcome&, const Problem&);
void make_mistakes(Trial& trial, std::initializer_list<const char*> kinds, Judge judge) {
  if (!trial.ready()) return;
  const Description d = rich(trial);
  Problem sound(d);
  const Instance instance(trial.subject(), sound.config);
  if (!instance.created().ok()) return trial.fail(refuses_base(instance));
  if (!instance.prepare_workspace(sound).ok()) return trial.fail("workspace fails");
  const Saved saved(sound);
  for (const Mistake& mistake : run_mistakes(sound)) {
    if (kinds.size() != 0 && !starts(mistake.kind, kinds)) continue;
    mistake.make(sound);
    const Outcome outcome = instance.run(sound);
    saved.restore(sound);
    judge(trial, mistake, outcome, sound);
    sound.spoil_outputs();
  }
}

void refused(Trial& trial, const Mistake& mistake, const Outcome& outcome, const Problem&) {
  trial.expect(outcome.threw || outcome.refused(),
               fmt::format("{}: run answers {}", mistake.what, describe(outcome)));
}

void run_null(Trial& trial) {
  make_mistakes(trial, {"null"}, refused);
}
void run_size(Trial& trial) {
  make_mistakes(trial, {"size"}, refused);
}
void run_dtype(Trial& trial) {
  make_mistakes(trial, {"dtype"}, refused);
}
void run_device(Trial& trial) {
  make_mistakes(trial, {"device"}, refused);
}
void run_shape(Trial& trial) {
  make_mistakes(trial, {"shape"}, refused);
}
void run_huge(Trial& trial) {
  make_mistakes(trial, {"huge", "stride"}, refused);
}
void run_value(Trial& trial) {
  make_mistakes(trial, {"value", "workspace"}, refused);
}

void no_throw(Trial& trial) {
  make_mistakes(trial, {}, [](Trial& t, const Mistake& mistake, const Outcome& o, const Problem&) {
    t.expect(!o.threw, fmt::format("{}: an exception crossed the border", mistake.what));
  });
}

void no_write(Trial& trial) {
  make_mistakes(trial, {}, [](Trial& t, const Mistake& mistake, const Outcome&, const Problem& p) {
    t.expect(p.outputs_untouched() && p.canary_alive(),
             fmt::format("{}: run wrote before it refused", mistake.what));
  });
}

void create_refuses(Trial& trial) {
  if (!trial.ready()) return;
  const dsakit_plugin* table = trial.subject().table;
  const Problem problem(trial.row().base(trial.row().phases().front()));
  const auto attempt = [&](const char* what, auto edit) {
    dsakit_config config = problem.config;
    edit(config);
    const Instance instance(trial.subject(), config);
    trial.expect(instance.created().refused(),
                 fmt::format("create with {}: {}", what, describe(instance.created())));
  };
  constexpr std::int64_t kMany = std::numeric_limits<std::int64_t>::max();
  attempt("device type 99", [](dsakit_config& c) { c.device_type = 99; });
  attempt("device id 4096", [](dsakit_config& c) { c.device_id = 4096; });
  attempt("heads 0", [](dsakit_config& c) { c.heads = 0; });
  attempt("huge heads", [](dsakit_config& c) { c.heads = kMany; });
  attempt("negative topk", [](dsakit_config& c) { c.topk = -1; });
  attempt("huge topk", [](dsakit_config& c) { c.topk = kMany; });
  attempt("page_size 0", [](dsakit_config& c) { c.page_size = 0; });
  attempt("d_v above d_qk", [](dsakit_config& c) { c.d_v = c.d_qk + 1; });
  attempt("negative max_tokens", [](dsakit_config& c) { c.max_tokens = -1; });
  attempt("no kv_layout", [](dsakit_config& c) { c.kv_layout = nullptr; });
  attempt("an unknown kv_layout", [](dsakit_config& c) { c.kv_layout = "conformance.unknown"; });
  attempt("an unknown lse", [](dsakit_config& c) { c.lse = "conformance.unknown"; });
  attempt("null features", [](dsakit_config& c) { c.features = nullptr, c.feature_count = 3; });
  const Outcome nowhere =
      call([&](dsakit_error* error) { return table->create(&problem.config, nullptr, error); });
  trial.expect(nowhere.refused(), "create into null: " + describe(nowhere));
  dsakit_instance* made = nullptr;
  const Outcome nothing =
      call([&](dsakit_error* error) { return table->create(nullptr, &made, error); });
  trial.expect(nothing.refused() && made == nullptr, "create of null: " + describe(nothing));
}

void workspace_refuses(Trial& trial) {
  if (!trial.ready()) return;
  const dsakit_plugin* table = trial.subject().table;
  const Problem problem(trial.row().base(trial.row().phases().front()));
  const Instance instance(trial.subject(), problem.config);
  if (!instance.created().ok()) return trial.fail(refuses_base(instance));
  dsakit_workspace answer{};
  for (const std::int64_t tokens :
       {std::int64_t{-1}, problem.tokens() + 1, std::numeric_limits<std::int64_t>::max()}) {
    const Outcome outcome = instance.workspace(tokens, answer);
    trial.expect(outcome.refused(),
                 fmt::format("workspace of {} tokens: {}", tokens, describe(outcome)));
  }
  answer.size = 0;
  const Outcome empty = call(
      [&](dsakit_error* error) { return table->workspace(instance.get(), 1, &answer, error); });
  trial.expect(empty.refused(), "workspace into a struct of size 0: " + describe(empty));
  const Outcome nothing =
      call([&](dsakit_error* error) { return table->run(nullptr, &problem.args, error); });
  trial.expect(nothing.refused(), "run without an instance: " + describe(nothing));
  const Outcome null_args =
      call([&](dsakit_error* error) { return table->run(instance.get(), nullptr, error); });
  trial.expect(null_args.refused(), "run of null: " + describe(null_args));
}

// Errors of any size, at the end of memory: the plugin writes what fits and nothing else.
void error_buffer(Trial& trial) {
  const dsakit_plugin* table = trial.subject().table;
  constexpr std::uint32_t kText = offsetof(dsakit_error, text);
  for (const std::uint32_t size : {0U, 4U, kText, kText + 1, kText + 2, kText + 20,
                                   static_cast<std::uint32_t>(sizeof(dsakit_error))}) {
    dsakit_error error{};
    std::memset(error.text, 'x', sizeof(error.text));
    const std::size_t bytes = std::max<std::size_t>(size, sizeof(std::uint32_t));
    Guarded guarded = guarded_copy(error, size, bytes);
    dsakit_instance* made = nullptr;
    const Outcome outcome = call(
        [&](dsakit_error*) { return table->create(nullptr, &made, guarded.as<dsakit_error>()); });
    trial.expect(outcome.refused(),
                 fmt::format("an error of {} bytes: {}", size, describe(outcome)));
    trial.expect(guarded.intact(), fmt::format("an error of {} bytes is overrun", size));
    const char* text = guarded.as<dsakit_error>()->text;
    if (size > kText)
      trial.expect(std::memchr(text, 0, size - kText) != nullptr,
                   fmt::format("an error of {} bytes is not closed with a 0 byte", size));
  }
  dsakit_instance* made = nullptr;
  const Outcome outcome =
      call([&](dsakit_error*) { return table->create(nullptr, &made, nullptr); });
  trial.expect(outcome.refused(), "no error at all: " + describe(outcome));
}

void kv_refuses(Trial& trial) {
  if (!trial.ready()) return;
  const dsakit_plugin* table = trial.subject().table;
  if (!DSAKIT_HAS_FUNCTION(table, kv_append) || !DSAKIT_HAS_FUNCTION(table, kv_dequant))
    return trial.skip("the plugin has no kv_append and kv_dequant");
  Problem problem(trial.row().base(trial.row().phases().front()));
  const Instance instance(trial.subject(), problem.config);
  if (!instance.created().ok()) return trial.fail(refuses_base(instance));
  HostTensor slots;
  HostTensor rows;
  const auto attempt = [&](const char* what, auto edit) {
    slots.make({kDLInt, 64, 1}, {2}, {}, std::byte{0xFF});
    rows.make({kDLFloat, 32, 1}, {2, problem.config.d_qk}, {}, std::byte{0});
    dsakit_kv_args args{sizeof(dsakit_kv_args), 0,           nullptr,
                        problem.args.kv,        &slots.view, &rows.view};
    edit(args);
    for (const auto function : {table->kv_append, table->kv_dequant}) {
      const Outcome outcome =
          instance.stage(problem, Instance::Fetch::outputs, {&slots, &rows}, [&](Staged& staged) {
            const dsakit_kv_args there = staged.args(args);
            return call(
                [&](dsakit_error* error) { return function(instance.get(), &there, error); });
          });
      trial.expect(outcome.refused(),
                   fmt::format("kv_append or kv_dequant with {}: {}", what, describe(outcome)));
    }
  };
  attempt("size 0", [](dsakit_kv_args& a) { a.size = 0; });
  attempt("no pool", [](dsakit_kv_args& a) { a.kv = nullptr; });
  attempt("no slots", [](dsakit_kv_args& a) { a.slots = nullptr; });
  attempt("no rows", [](dsakit_kv_args& a) { a.rows = nullptr; });
  attempt("slots of floats", [&](dsakit_kv_args&) { slots.view.dtype = {kDLFloat, 32, 1}; });
  attempt("integer rows", [&](dsakit_kv_args&) { rows.view.dtype = {kDLInt, 32, 1}; });
  attempt("more slots than rows", [&](dsakit_kv_args&) { slots.shape[0] = 3; });
  attempt("rows of another width", [&](dsakit_kv_args&) { --rows.shape[1]; });
  attempt("rows elsewhere", [&](dsakit_kv_args&) { rows.view.device.device_id = 4096; });
}

constexpr Check kNegativeChecks[] = {{"negative.no_throw", 2, Scope::row, no_throw},
                                     {"negative.null", 2, Scope::row, run_null},
                                     {"negative.size", 2, Scope::row, run_size},
                                     {"negative.dtype", 2, Scope::row, run_dtype},
                                     {"negative.device", 2, Scope::row, run_device},
                                     {"negative.shape", 2, Scope::row, run_shape},
                                     {"negative.huge", 2, Scope::row, run_huge},
                                     {"negative.value", 2, Scope::row, run_value},
                                     {"negative.no_write", 2, Scope::row, no_write},
                                     {"negative.create", 2, Scope::row, create_refuses},
                                     {"negative.workspace", 2, Scope::row, workspace_refuses},
                                     {"negative.kv_rows", 2, Scope::row, kv_refuses},
                                     {"negative.error_buffer", 2, Scope::plugin, error_buffer}};

}  // namespace

std::span<const Check> negative_checks() {
  return kNegativeChecks;
}

}  // namespace dsakit::conformance
