// The cpu plugin's behaviour beyond single results: determinism, batch invariance, threads,
// refusals, no allocation in run.
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "plugins_cpu/harness.hpp"

namespace {
std::atomic<bool> counting{false};
std::atomic<long> allocations{0};
}  // namespace

#if !defined(DSAKIT_SANITIZED) && defined(__GLIBC__)
#define DSAKIT_COUNTS_ALLOCATIONS 1
// The program's malloc comes before the C library's, for the plugin as well.
extern "C" void* __libc_malloc(std::size_t);
extern "C" void* malloc(std::size_t size) {
  if (counting.load(std::memory_order_relaxed)) allocations.fetch_add(1);
  return __libc_malloc(size);
}
#endif

namespace dsakit::conformance {
namespace {

std::vector<std::byte> outputs_with(Description d, std::int32_t threads) {
  d.threads = threads;
  Problem problem(d);
  run(problem);
  return problem.output_bytes();
}

TEST(Determinism, SameBitsForAnyNumberOfThreads) {
  for (const std::int64_t batch : {1, 2, 5}) {
    Description d;
    d.batch = batch;
    d.heads = 72;
    d.topk = 1300;
    d.pages = 100;
    d.lengths = true;
    d.sink = true;
    const std::vector<std::byte> one = outputs_with(d, 1);
    for (const std::int32_t threads : {2, 0}) EXPECT_EQ(outputs_with(d, threads), one) << batch;
  }
}

// One token of a compact problem, as a call of its own.
struct SingleToken {
  dsakit_run_args args;
  DLTensor q, indices;
  std::vector<std::int64_t> q_shape{1, 16, 576}, index_shape{1, 1200};
  HostTensor out, lse, max;

  SingleToken(const Problem& all, std::int64_t token)
      : args(all.args), q(all.q.view), indices(all.indices[0].view) {
    out.make(all.out.view.dtype, {1, 16, 512}, {}, std::byte{0});
    lse.make(all.lse.view.dtype, {1, 16}, {}, std::byte{0});
    max.make(all.lse.view.dtype, {1, 16}, {}, std::byte{0});
    q.shape = q_shape.data();
    q.byte_offset = static_cast<std::uint64_t>(token) * 16 * 576 * 2;
    indices.shape = index_shape.data();
    indices.byte_offset = static_cast<std::uint64_t>(token) * 1200 * 4;
    args.q = &q;
    args.indices = &indices;
    args.out = &out.view;
    args.lse = &lse.view;
    args.max_logits = &max.view;
  }
};

TEST(Determinism, ATokensBitsDoNotDependOnTheBatch) {
  Description d;
  d.batch = 5;
  d.topk = 1200;
  d.pages = 90;
  d.odd_strides = false;
  d.features = {"deterministic"};
  Problem all(d);
  run(all);
  for (const std::int64_t token : {0, 3, 4}) {
    SingleToken one(all, token);
    Instance instance(all.config);
    ASSERT_EQ(instance.run(one.args), DSAKIT_RC_OK) << instance.error();
    EXPECT_EQ(
        std::memcmp(one.out.memory.data(), all.out.at(token * 16 * 512), one.out.memory.size()), 0);
    EXPECT_EQ(std::memcmp(one.lse.memory.data(), all.lse.at(token * 16), one.lse.memory.size()), 0);
  }
}

TEST(Run, IntoTheSameInstanceAgain) {
  Description d;
  d.batch = 3;
  Problem problem(d);
  Instance instance(problem.config);
  const dsakit_workspace needed = instance.workspace(3);
  problem.set_workspace(needed.bytes, needed.alignment);
  ASSERT_EQ(instance.run(problem.args), DSAKIT_RC_OK);
  const std::vector<std::byte> first = problem.output_bytes();
  problem.spoil_outputs();
  ASSERT_EQ(instance.run(problem.args), DSAKIT_RC_OK);
  EXPECT_EQ(problem.output_bytes(), first);
}

TEST(Run, EightThreadsWithTheirOwnInstances) {
  Description d;
  d.batch = 3;
  d.topk = 600;
  d.pages = 50;
  const std::vector<std::byte> expected = outputs_with(d, 1);
  std::vector<std::thread> threads;
  std::atomic<int> equal{0};
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      for (int repeat = 0; repeat < 3; ++repeat) equal += outputs_with(d, 0) == expected ? 1 : 0;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(equal, 24);
}

TEST(Run, NoTokens) {
  Description d;
  d.batch = 0;
  Problem problem(d);
  run(problem);
  EXPECT_TRUE(problem.outputs_untouched());
}

TEST(Run, WritesOnlyItsOutputs) {
  Description d;
  d.batch = 2;
  Problem problem(d);
  run(problem);
  const std::int64_t head = problem.out.strides[1];
  ASSERT_GT(head, 512);
  for (std::int64_t gap = 512; gap < head; ++gap)
    EXPECT_EQ(*problem.out.at(gap), std::byte{0xFF}) << gap;
}

#ifdef DSAKIT_COUNTS_ALLOCATIONS
TEST(Run, DoesNotAllocate) {
  for (const std::int64_t batch : {1, 6}) {
    Description d;
    d.batch = batch;
    d.topk = 700;
    d.pages = 60;
    Problem problem(d);
    Instance instance(problem.config);
    const dsakit_workspace needed = instance.workspace(batch);
    problem.set_workspace(needed.bytes, needed.alignment);
    allocations = 0;
    counting = true;
    const dsakit_rc rc = instance.run(problem.args);
    const long during_run = allocations;
    // The counter itself works.
    std::free(std::malloc(1));
    counting = false;
    EXPECT_EQ(rc, DSAKIT_RC_OK);
    EXPECT_EQ(during_run, 0);
    EXPECT_EQ(allocations, 1);
  }
}
#endif

TEST(Run, RefusesBadRaggedLists) {
  for (const std::int32_t bad : {-1, 1000000, 5}) {
    Description d;
    d.ragged = true;
    d.batch = 4;
    d.topk = 20;
    Problem problem(d);
    Instance instance(problem.config);
    const dsakit_workspace needed = instance.workspace(4);
    problem.set_workspace(needed.bytes, needed.alignment);
    const std::int32_t larger = 6;
    std::memcpy(problem.indptr[0].at(2), &bad, 4);
    if (bad == 5) std::memcpy(problem.indptr[0].at(1), &larger, 4);
    EXPECT_EQ(instance.run(problem.args), DSAKIT_RC_INVALID) << bad;
  }
}

TEST(Workspace, GrowsWithTokensAndIsChecked) {
  Description d;
  d.batch = 40;
  d.topk = 2048;
  Problem problem(d);
  Instance instance(problem.config);
  std::uint64_t last = 0;
  for (std::int64_t tokens = 0; tokens <= 40; ++tokens) {
    const dsakit_workspace answer = instance.workspace(tokens);
    EXPECT_GE(answer.bytes, last);
    EXPECT_EQ(answer.zero_bytes, 0U);
    last = answer.bytes;
  }
  dsakit_workspace answer{};
  answer.size = sizeof(answer);
  const dsakit_plugin& plugin = cpu_plugin();
  EXPECT_EQ(plugin.workspace(instance.get(), 41, &answer, nullptr), DSAKIT_RC_INVALID);
  EXPECT_EQ(plugin.workspace(instance.get(), -1, &answer, nullptr), DSAKIT_RC_INVALID);
  problem.set_workspace(last - 1, 64);
  EXPECT_EQ(instance.run(problem.args), DSAKIT_RC_WORKSPACE);
  problem.set_workspace(last, 64);
  problem.args.workspace = static_cast<std::byte*>(problem.args.workspace) + 4;
  EXPECT_EQ(instance.run(problem.args), DSAKIT_RC_WORKSPACE);
}

TEST(Create, RefusesWhatTheManifestDoesNotServe) {
  static const char* const kFeature = "cuda_graph";
  static const dsakit_dim kDim{"acme.x", "1"};
  using Change = void (*)(dsakit_config&);
  const std::vector<Change> outside = {
      [](dsakit_config& c) { c.heads = 257; },
      [](dsakit_config& c) { c.d_qk = 192, c.d_v = 128; },
      [](dsakit_config& c) { c.kv_layout = "indexer_132"; },
      [](dsakit_config& c) { c.kv_layout = "nvfp4_352"; },
      [](dsakit_config& c) { c.kv_layout = nullptr; },
      [](dsakit_config& c) { c.kv_layout = "v4_584", c.d_qk = 512; },
      [](dsakit_config& c) { c.compute = "fp8"; },
      [](dsakit_config& c) { c.q_dtype = "fp8_e4m3"; },
      [](dsakit_config& c) { c.phase = "train"; },
      [](dsakit_config& c) { c.topk = std::int64_t{1} << 21; },
      [](dsakit_config& c) { c.features = &kFeature, c.feature_count = 1; },
      [](dsakit_config& c) { c.dims = &kDim, c.dim_count = 1; },
  };
  for (std::size_t i = 0; i < outside.size(); ++i) {
    Problem problem(Description{});
    outside[i](problem.config);
    dsakit_instance* instance = nullptr;
    dsakit_error error{};
    error.size = sizeof(error);
    EXPECT_EQ(cpu_plugin().create(&problem.config, &instance, &error), DSAKIT_RC_UNSUPPORTED) << i;
    EXPECT_EQ(instance, nullptr);
    EXPECT_STRNE(error.text, "");
  }
}

TEST(Create, RefusesOtherDevices) {
  Problem problem(Description{});
  problem.config.device_type = kDLCUDA;
  dsakit_instance* instance = nullptr;
  EXPECT_EQ(cpu_plugin().create(&problem.config, &instance, nullptr), DSAKIT_RC_NO_DEVICE);
  EXPECT_EQ(cpu_plugin().probe(kDLCPU, 0, nullptr), DSAKIT_RC_OK);
  EXPECT_EQ(cpu_plugin().probe(kDLCPU, 1, nullptr), DSAKIT_RC_NO_DEVICE);
}

}  // namespace
}  // namespace dsakit::conformance
