#include "sdk/conformance/mistakes.hpp"

#include <cmath>
#include <limits>

namespace dsakit::conformance {
namespace {

constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();

// An argument of run that is a tensor, and how to find it in another problem.
struct Argument {
  const char* name;
  const DLTensor* dsakit_run_args::*field;
  HostTensor& (*tensor)(Problem&);
  bool required;
};

constexpr Argument kArguments[] = {
    {"q", &dsakit_run_args::q, [](Problem& p) -> HostTensor& { return p.q; }, true},
    {"indices", &dsakit_run_args::indices, [](Problem& p) -> HostTensor& { return p.indices[0]; },
     true},
    {"indptr", &dsakit_run_args::indptr, [](Problem& p) -> HostTensor& { return p.indptr[0]; },
     true},
    {"topk_length", &dsakit_run_args::topk_length,
     [](Problem& p) -> HostTensor& { return p.length[0]; }, false},
    {"indices2", &dsakit_run_args::indices2, [](Problem& p) -> HostTensor& { return p.indices[1]; },
     true},
    {"attn_sink", &dsakit_run_args::attn_sink, [](Problem& p) -> HostTensor& { return p.sink; },
     false},
    {"out", &dsakit_run_args::out, [](Problem& p) -> HostTensor& { return p.out; }, true},
    {"lse", &dsakit_run_args::lse, [](Problem& p) -> HostTensor& { return p.lse; }, false},
    {"max_logits", &dsakit_run_args::max_logits,
     [](Problem& p) -> HostTensor& { return p.max_logits; }, false}};

class List {
 public:
  std::vector<Mistake> mistakes;

  void add(std::string kind, std::string what, std::function<void(Problem&)> make) {
    mistakes.push_back({std::move(kind), std::move(what), std::move(make)});
  }

  // What is wrong for any tensor; one of any length may be longer than it is used.
  void add_tensor(const std::string& name, HostTensor& (*tensor)(Problem&), bool is_cache,
                  bool any_length = false) {
    const auto view = [&](const char* kind, const char* what, void (*edit)(DLTensor&)) {
      add(kind, name + what, [=](Problem& p) { edit(tensor(p).view); });
    };
    const auto axes = [&](const char* kind, const char* what,
                          void (*edit)(std::vector<std::int64_t>&)) {
      add(kind, name + what, [=](Problem& p) { edit(tensor(p).shape); });
    };
    view("null", ".data = null", [](DLTensor& t) { t.data = nullptr; });
    view("null", ".shape = null", [](DLTensor& t) { t.shape = nullptr; });
    view("dtype", ".dtype = float64", [](DLTensor& t) { t.dtype = {kDLFloat, 64, 1}; });
    view("dtype", ".dtype = bool", [](DLTensor& t) { t.dtype = {6, 8, 4}; });
    view("dtype", ".lanes = 4", [](DLTensor& t) { t.dtype.lanes = 4; });
    view("device", ".device = Metal", [](DLTensor& t) { t.device.device_type = kDLMetal; });
    view("device", ".device id 4096", [](DLTensor& t) { t.device.device_id = 4096; });
    view("shape", ".ndim = 0", [](DLTensor& t) { t.ndim = 0; });
    view("shape", ".ndim = -1", [](DLTensor& t) { t.ndim = -1; });
    view("shape", ".ndim = 2147483647", [](DLTensor& t) { t.ndim = 2147483647; });
    axes("shape", " has a last axis of -1", [](auto& shape) { shape.back() = -1; });
    if (!any_length) axes("shape", " has a longer last axis", [](auto& shape) { ++shape.back(); });
    axes("huge", " has a huge last axis", [](auto& shape) { shape.back() = kHuge; });
    if (is_cache || any_length) return;
    axes("shape", " has a longer first axis", [](auto& shape) { ++shape.front(); });
    axes("huge", " has a huge first axis", [](auto& shape) { shape.front() = kHuge; });
  }

  void add_strides(const std::string& name, HostTensor& (*tensor)(Problem&), bool output) {
    const auto edit = [&](const char* what, void (*change)(std::vector<std::int64_t>&)) {
      add("stride", name + what, [=](Problem& p) {
        HostTensor& t = tensor(p);
        t.strides.assign(t.shape.size(), 1);
        for (std::size_t axis = t.shape.size() - 1; axis-- > 0;)
          t.strides[axis] = t.strides[axis + 1] * t.shape[axis + 1];
        change(t.strides);
        t.view.strides = t.strides.data();
      });
    };
    edit(" has a last stride of 2", [](auto& strides) { strides.back() = 2; });
    edit(" has a huge first stride", [](auto& strides) { strides.front() = kHuge; });
    edit(" has a negative first stride", [](auto& strides) { strides.front() = -8; });
    if (output) edit(" overlaps itself", [](auto& strides) { strides.front() = 0; });
  }
};

void add_structs(const Problem& problem, List& list) {
  list.add("null", "kv = null", [](Problem& p) { p.args.kv = nullptr; });
  list.add("null", "kv.data = null", [](Problem& p) { p.caches[0].data = nullptr; });
  list.add("size", "kv.size = 0", [](Problem& p) { p.caches[0].size = 0; });
  list.add("size", "args.size = 0", [](Problem& p) { p.args.size = 0; });
  list.add("size", "args.size = 8", [](Problem& p) { p.args.size = 8; });
  list.add("size", "args.size below version 1",
           [](Problem& p) { p.args.size = DSAKIT_RUN_ARGS_SIZE_V1 - 8; });
  list.add("value", "sm_scale = NaN",
           [](Problem& p) { p.args.sm_scale = std::numeric_limits<float>::quiet_NaN(); });
  list.add("value", "sm_scale = infinity",
           [](Problem& p) { p.args.sm_scale = std::numeric_limits<float>::infinity(); });
  list.add("value", "out is where q is", [](Problem& p) {
    p.out.view.data = p.q.view.data;
    p.out.view.byte_offset = p.q.view.byte_offset;
  });
  if (problem.args.workspace_size > 0) {
    list.add("workspace", "workspace = null", [](Problem& p) { p.args.workspace = nullptr; });
    list.add("workspace", "workspace one byte short", [](Problem& p) { --p.args.workspace_size; });
  }
  if (problem.args.kv2 == nullptr)
    list.add("value", "indices2 without kv2", [](Problem& p) { p.args.indices2 = p.args.indices; });
  else
    list.add("null", "kv2.data = null", [](Problem& p) { p.caches[1].data = nullptr; });
  if (!problem.description().ragged)
    list.add("value", "indptr with index_mode physical",
             [](Problem& p) { p.args.indptr = p.args.indices; });
}

}  // namespace

std::vector<Mistake> run_mistakes(const Problem& problem) {
  List list;
  add_structs(problem, list);
  const auto pool = [](Problem& p) -> HostTensor& { return p.pool[0]; };
  list.add_tensor("kv", pool, true);
  list.add("shape", "kv has another page size", [](Problem& p) { ++p.pool[0].shape[1]; });
  for (const Argument& argument : kArguments) {
    if (problem.args.*argument.field == nullptr) continue;
    const bool is_list =
        argument.field == &dsakit_run_args::indices || argument.field == &dsakit_run_args::indices2;
    list.add_tensor(argument.name, argument.tensor, false, is_list && problem.description().ragged);
    if (argument.required)
      list.add("null", std::string(argument.name) + " = null",
               [field = argument.field](Problem& p) { p.args.*field = nullptr; });
  }
  list.add_strides(
      "q", [](Problem& p) -> HostTensor& { return p.q; }, false);
  list.add_strides(
      "out", [](Problem& p) -> HostTensor& { return p.out; }, true);
  if (!problem.description().ragged)
    list.add_strides(
        "indices", [](Problem& p) -> HostTensor& { return p.indices[0]; }, false);
  return std::move(list.mistakes);
}

}  // namespace dsakit::conformance
