// The host half of tilelang and aiter against a runtime that writes down launches: every launch is
// what the code object's metadata asks for, everything that fails has its code, and what a manifest
// does not serve is refused.
#include <gtest/gtest.h>

#include <cstring>
#include <string_view>

#include "common/hip/sparse_call.hpp"
#include "dsakit/hip_lists.h"
#include "plugins_hip/fakes/fake_hip.hpp"
#include "plugins_hip/plugin_call.hpp"

namespace dsakit {
namespace {

using test::fake_hip;
using test::PluginCall;
using test::RecordedLaunch;
using test::Setup;

const dsakit_plugin& tilelang() {
  static const dsakit_plugin& table = test::open_plugin(TILELANG_PLUGIN);
  return table;
}
const dsakit_plugin& aiter() {
  static const dsakit_plugin& table = test::open_plugin(AITER_PLUGIN);
  return table;
}

class HipPlugin : public testing::Test {
 protected:
  HipPlugin() { fake_hip() = test::FakeHip(); }
};

// A launch is possible as it is: one argument that fills what the kernel reads, the workgroup that
// it was compiled for, LDS that every GPU of the kind has, no stack.
void expect_as_compiled(const RecordedLaunch& seen, std::size_t argument_bytes) {
  SCOPED_TRACE(seen.kernel);
  ASSERT_EQ(seen.facts.arguments.size(), 1U);
  EXPECT_EQ(seen.facts.arguments[0].kind, "by_value");
  EXPECT_EQ(seen.facts.arguments[0].offset, 0U);
  EXPECT_EQ(seen.facts.arguments[0].bytes, argument_bytes);
  EXPECT_EQ(seen.facts.argument_bytes, argument_bytes);
  EXPECT_EQ(seen.argument.size(), argument_bytes);
  EXPECT_EQ(seen.facts.wave, static_cast<unsigned>(hip::kWave));
  EXPECT_EQ(seen.block[0], seen.facts.most_threads);
  EXPECT_EQ(seen.block[1] * seen.block[2] * seen.grid[1] * seen.grid[2], 1U);
  EXPECT_EQ(seen.dynamic_lds, 0U);
  EXPECT_LE(seen.facts.lds_bytes, 65536U);
  EXPECT_EQ(seen.facts.private_bytes, 0U);
  // Older compilers keep a few values in accumulation registers, which count as spilled.
  if (std::string_view(HIP_TOOLKIT) >= "Clang 22") {
    EXPECT_EQ(seen.facts.vgpr_spills + seen.facts.sgpr_spills, 0U);
  }
  EXPECT_FALSE(seen.facts.dynamic_stack);
}

template <class Arguments>
Arguments argument_of(const RecordedLaunch& seen) {
  Arguments arguments;
  std::memcpy(static_cast<void*>(&arguments), seen.argument.data(), sizeof(arguments));
  return arguments;
}

// A GPU of the fake runtime; each has a number of its own, since modules are loaded once a device.
struct Gpu {
  const char* arch;
  int device;
  std::vector<const char*> layouts;
};

class HipLaunches : public testing::TestWithParam<Gpu> {};

TEST_P(HipLaunches, AreWhatTheCodeObjectAsksFor) {
  const Gpu& gpu = GetParam();
  if (std::string(HIP_TARGETS).find(gpu.arch) == std::string::npos)
    GTEST_SKIP() << "no code for " << gpu.arch << " in this build";
  for (const char* layout : gpu.layouts)
    for (const std::int64_t heads : {1, 16, 17, 64, 128}) {
      SCOPED_TRACE(std::string(layout) + " heads " + std::to_string(heads));
      fake_hip() = test::FakeHip();
      fake_hip().arch = gpu.arch;
      fake_hip().devices = gpu.device + 1;
      const PluginCall call(tilelang(),
                            {.layout = layout, .heads = heads, .topk = 2048, .device = gpu.device});
      ASSERT_EQ(call.created.rc, DSAKIT_RC_OK) << call.created.text;
      ASSERT_EQ(call.run().rc, DSAKIT_RC_OK) << call.run().text;
      const hip::Plan plan = hip::make_plan(2, static_cast<int>(heads), 2048, 304, false, false);
      ASSERT_EQ(fake_hip().launches.size(), 2U);
      const RecordedLaunch& attention = fake_hip().launches[0];
      const RecordedLaunch& merge = fake_hip().launches[1];
      expect_as_compiled(attention, sizeof(hip::AttentionArguments));
      expect_as_compiled(merge, sizeof(hip::MergeArguments));
      EXPECT_EQ(attention.grid[0], static_cast<unsigned>(plan.ranges * plan.head_tiles));
      EXPECT_EQ(merge.grid[0], static_cast<unsigned>(2 * heads));
      EXPECT_EQ(attention.stream, &call);
      EXPECT_EQ(merge.stream, &call);
      const auto arguments = argument_of<hip::AttentionArguments>(attention);
      EXPECT_EQ(arguments.call.problem.tensors.kv, call.pool_address());
      EXPECT_EQ(arguments.call.problem.tensors.slots, 256U);
      EXPECT_EQ(arguments.call.problem.heads, heads);
      const std::byte* const workspace = static_cast<const std::byte*>(call.args.workspace);
      const auto* const end =
          reinterpret_cast<const std::byte*>(arguments.partials.lines + hip::kMaxCutTokens + 1);
      EXPECT_LE(end - workspace, static_cast<std::ptrdiff_t>(call.workspace_bytes));
    }
}

INSTANTIATE_TEST_SUITE_P(Arch, HipLaunches,
                         testing::Values(Gpu{"gfx90a", 4, {"bf16_1152", "bf16_1024"}},
                                         Gpu{"gfx942",
                                             5,
                                             {"bf16_1152", "bf16_1024", "fp8_656_g128",
                                              "fp8_528_g128", "fp8_576_pt_fnuz",
                                              "fp8_512_pt_fnuz"}},
                                         Gpu{"gfx950",
                                             6,
                                             {"bf16_1152", "bf16_1024", "fp8_656_g128",
                                              "fp8_528_g128", "fp8_576_pt", "fp8_512_pt"}}),
                         [](const auto& one) { return std::string(one.param.arch); });

TEST_F(HipPlugin, OneSplitNeedsNoMerge) {
  fake_hip().multiprocessors = 2;
  const PluginCall call(tilelang(), {.tokens = 4});
  ASSERT_EQ(call.run().rc, DSAKIT_RC_OK);
  ASSERT_EQ(fake_hip().launches.size(), 1U);
  EXPECT_EQ(argument_of<hip::AttentionArguments>(fake_hip().launches[0]).partials.out, nullptr);
}

TEST_F(HipPlugin, RowsAreMovedByTheKernelOfTheLayout) {
  for (const auto& [layout, kernel] :
       {std::pair{"bf16_1152", "bf16"}, std::pair{"fp8_528_g128", "fp8_g128"},
        std::pair{"fp8_512_pt_fnuz", "fp8_pt_fnuz"}}) {
    fake_hip() = test::FakeHip();
    const PluginCall call(tilelang(), {.layout = layout});
    ASSERT_EQ(call.append().rc, DSAKIT_RC_OK) << call.append().text;
    ASSERT_EQ(call.dequant().rc, DSAKIT_RC_OK);
    ASSERT_EQ(fake_hip().launches.size(), 2U);
    EXPECT_EQ(fake_hip().launches[0].kernel, std::string("dsakit_kv_append_") + kernel);
    EXPECT_EQ(fake_hip().launches[1].kernel, std::string("dsakit_kv_dequant_") + kernel);
    for (const RecordedLaunch& seen : fake_hip().launches) {
      expect_as_compiled(seen, sizeof(hip::RowArguments));
      EXPECT_EQ(seen.grid[0], 3U);
    }
  }
}

TEST_F(HipPlugin, RaggedListsReachTheKernel) {
  const PluginCall call(aiter(), {.topk = 77, .ragged = true});
  ASSERT_EQ(call.created.rc, DSAKIT_RC_OK) << call.created.text;
  ASSERT_EQ(call.run().rc, DSAKIT_RC_OK) << call.run().text;
  const auto arguments = argument_of<hip::AttentionArguments>(fake_hip().launches.at(0));
  EXPECT_TRUE(arguments.call.ragged);
  EXPECT_FALSE(arguments.call.indptr64);
  EXPECT_NE(arguments.call.indptr, nullptr);
  EXPECT_EQ(arguments.call.indptr_stride, 1);
  EXPECT_EQ(arguments.call.problem.topk, 77);
}

// Of the extension, with addresses that nothing reads.
dsakit_hip_lists_args lists_args() {
  dsakit_hip_lists_args args{};
  args.size = sizeof(args);
  args.tokens = 70;
  args.width = args.row_stride = 128;
  args.slots = 1000;
  args.rows = args.indptr = args.indices = reinterpret_cast<std::int32_t*>(std::uintptr_t{4096});
  return args;
}
std::int32_t* odd_address() {
  return reinterpret_cast<std::int32_t*>(std::uintptr_t{4098});
}
const dsakit_hip_lists& lists_of(const dsakit_plugin& table) {
  return *static_cast<const dsakit_hip_lists*>(table.extension(DSAKIT_HIP_LISTS));
}

TEST_F(HipPlugin, ListsAreConvertedByTheirKernels) {
  for (const dsakit_plugin* table : {&tilelang(), &aiter()}) {
    fake_hip() = test::FakeHip();
    const dsakit_hip_lists_args args = lists_args();
    dsakit_error error{};
    ASSERT_EQ(lists_of(*table).to_ragged(&args, &error), DSAKIT_RC_OK);
    ASSERT_EQ(lists_of(*table).to_rows(&args, nullptr), DSAKIT_RC_OK);
    const auto& launches = fake_hip().launches;
    ASSERT_EQ(launches.size(), 4U);
    const std::pair<const char*, unsigned> expected[] = {{hip::kListCountsName, 70},
                                                         {hip::kListBoundsName, 1},
                                                         {hip::kListRaggedName, 70},
                                                         {hip::kListRowsName, 70}};
    for (std::size_t i = 0; i < launches.size(); ++i) {
      EXPECT_EQ(launches[i].kernel, expected[i].first);
      EXPECT_EQ(launches[i].grid[0], expected[i].second);
      expect_as_compiled(launches[i], sizeof(hip::ListArguments));
      EXPECT_EQ(argument_of<hip::ListArguments>(launches[i]).last_slot, 999);
    }
  }
}

TEST_F(HipPlugin, ListsThatCannotBeAreRefused) {
  using Change = void (*)(dsakit_hip_lists_args&);
  const auto answer = [](Change change) {
    dsakit_hip_lists_args args = lists_args();
    change(args);
    return test::answer_of([&](dsakit_error* e) { return lists_of(aiter()).to_ragged(&args, e); });
  };
  for (const Change change : {Change([](auto& a) { a.tokens = -1; }),
                              Change([](auto& a) { a.slots = std::int64_t{1} << 32; }),
                              Change([](auto& a) { a.tokens = std::int64_t{1} << 30; }),
                              Change([](auto& a) { a.row_stride = 127; }),
                              Change([](auto& a) { a.tokens = 67108864, a.width = 1; }),
                              Change([](auto& a) { a.rows = odd_address(); }),
                              Change([](auto& a) { a.lengths = odd_address(); }),
                              Change([](auto& a) { a.indptr = odd_address(); }),
                              Change([](auto& a) { a.indices = odd_address(); }),
                              Change([](auto& a) { a.tokens = 0, a.indptr = nullptr; }),
                              Change([](auto& a) { a.indices = nullptr; })}) {
    EXPECT_EQ(answer(change).rc, DSAKIT_RC_INVALID);
    EXPECT_NE(answer(change).text, "");
  }
  EXPECT_EQ(answer([](auto& a) { a.size = 8; }).rc, DSAKIT_RC_ABI);
  EXPECT_EQ(answer([](auto& a) { a.device_id = 2; }).rc, DSAKIT_RC_NO_DEVICE);
  EXPECT_TRUE(fake_hip().launches.empty());
  EXPECT_EQ(answer([](auto& a) { a.tokens = 0; }).rc, DSAKIT_RC_OK);
  EXPECT_EQ(fake_hip().launches.size(), 1U);  // the bounds of no lists
  fake_hip().fails["hipModuleLaunchKernel"] = 702;
  EXPECT_EQ(answer([](auto&) {}).text, "dsakit_list_counts: the fake says no (702)");
}

TEST_F(HipPlugin, NoListsBecomeNoRows) {
  dsakit_hip_lists_args args = lists_args();
  args.tokens = 0;
  args.indptr = args.rows = args.indices = nullptr;
  EXPECT_EQ(lists_of(tilelang()).to_rows(&args, nullptr), DSAKIT_RC_OK);
  args.tokens = 67108863;
  args.width = 1;
  args.indptr = args.rows = args.indices = reinterpret_cast<std::int32_t*>(std::uintptr_t{4096});
  EXPECT_EQ(lists_of(tilelang()).to_rows(&args, nullptr), DSAKIT_RC_OK);
  EXPECT_EQ(fake_hip().launches.size(), 1U);
}

TEST_F(HipPlugin, RunsOnItsDeviceAndGivesTheCallersBack) {
  const PluginCall call(tilelang(), {.device = 1});
  ASSERT_EQ(call.created.rc, DSAKIT_RC_OK) << call.created.text;
  ASSERT_EQ(call.run().rc, DSAKIT_RC_OK);
  EXPECT_EQ(fake_hip().launches.at(0).device, 1);
  EXPECT_EQ(fake_hip().current, 0);
}

TEST_F(HipPlugin, EveryFailureOfTheRuntimeHasItsCode) {
  const auto expect_hip_error = [](const test::Answer& answer, dsakit_rc rc, int code) {
    EXPECT_EQ(answer.rc, rc) << answer.text;
    EXPECT_EQ(answer.domain, std::uint32_t{DSAKIT_DOMAIN_HIP});
    EXPECT_EQ(answer.code, code);
    EXPECT_NE(answer.text.find("(" + std::to_string(code) + ")"), std::string::npos);
  };
  for (const auto& [function, rc] :
       {std::pair{"hipGetDeviceCount", DSAKIT_RC_NO_DEVICE},
        std::pair{"hipGetDevicePropertiesR0600", DSAKIT_RC_NO_DEVICE},
        std::pair{"hipGetDevice", DSAKIT_RC_DEVICE}, std::pair{"hipSetDevice", DSAKIT_RC_DEVICE},
        std::pair{"hipDeviceGetAttribute", DSAKIT_RC_DEVICE},
        std::pair{"hipModuleGetFunction", DSAKIT_RC_DEVICE}}) {
    SCOPED_TRACE(function);
    fake_hip() = test::FakeHip();
    fake_hip().fails[function] = 719;
    const PluginCall call(tilelang(), {.device = 1});
    EXPECT_EQ(call.instance, nullptr);
    expect_hip_error(call.created, rc, 719);
  }
  fake_hip() = test::FakeHip();
  const PluginCall call(tilelang(), {.device = 1});
  for (const char* function : {"hipGetDevice", "hipSetDevice", "hipModuleLaunchKernel"}) {
    SCOPED_TRACE(function);
    fake_hip().fails = {{function, 702}};
    expect_hip_error(call.run(), DSAKIT_RC_DEVICE, 702);
    expect_hip_error(call.append(), DSAKIT_RC_DEVICE, 702);
    EXPECT_EQ(fake_hip().current, 0);
  }
  EXPECT_TRUE(fake_hip().launches.empty());
}

TEST_F(HipPlugin, ACodeObjectThatDoesNotLoadIsAnError) {
  fake_hip().devices = 8;
  fake_hip().fails["hipModuleLoadData"] = 209;
  const PluginCall call(tilelang(), {.device = 7});  // no other test loads there
  EXPECT_EQ(call.created.rc, DSAKIT_RC_DEVICE);
  EXPECT_EQ(call.created.code, 209);
  EXPECT_EQ(call.created.text, "loading the kernels: no kernel image is available (209)");
}

TEST_F(HipPlugin, LayoutsThatAGpuHasNoKernelsForAreRefused) {
  const PluginCall call(tilelang(), {.layout = "fp8_576_pt"});
  EXPECT_EQ(call.created.rc, DSAKIT_RC_UNSUPPORTED);
  EXPECT_EQ(call.created.text, "tilelang has no kernels for kv_layout = fp8_576_pt on this GPU");
}

TEST_F(HipPlugin, OtherDevicesAreRefused) {
  const auto probe = [](std::int32_t type, std::int32_t id) {
    return test::answer_of([&](dsakit_error* e) { return tilelang().probe(type, id, e); });
  };
  EXPECT_EQ(probe(kDLROCM, 0).rc, DSAKIT_RC_OK);
  EXPECT_EQ(probe(kDLCUDA, 0).rc, DSAKIT_RC_NO_DEVICE);
  EXPECT_EQ(probe(kDLROCM, 2).rc, DSAKIT_RC_NO_DEVICE);
  fake_hip().arch = "gfx1100";
  EXPECT_EQ(probe(kDLROCM, 0).rc, DSAKIT_RC_UNSUPPORTED);
  EXPECT_EQ(
      PluginCall(tilelang(), {}).created.text.find("HIP device 0 is gfx1100, the kernels are "),
      0U);
}

TEST_F(HipPlugin, NothingIsEnqueuedForCallsThatAreWrong) {
  const PluginCall call(tilelang(), {});
  PluginCall small(tilelang(), {});
  small.args.workspace_size = small.workspace_bytes - 1;
  EXPECT_EQ(small.run().rc, DSAKIT_RC_WORKSPACE);
  PluginCall odd(tilelang(), {});
  DLTensor q = *odd.args.q;
  q.data = static_cast<std::byte*>(q.data) + 2;
  odd.args.q = &q;
  EXPECT_EQ(odd.run().rc, DSAKIT_RC_UNSUPPORTED);
  PluginCall none(tilelang(), {.tokens = 0});
  EXPECT_EQ(none.run().rc, DSAKIT_RC_OK) << none.run().text;
  EXPECT_TRUE(fake_hip().launches.empty());
}

struct Refused {
  const char* what;
  void (*change)(dsakit_config&);
};

void expect_refused(const dsakit_plugin& table, const Setup& setup, const Refused& refused) {
  dsakit_config config = setup.config();
  refused.change(config);
  dsakit_instance* instance = nullptr;
  const test::Answer answer =
      test::answer_of([&](dsakit_error* e) { return table.create(&config, &instance, e); });
  EXPECT_EQ(answer.rc, DSAKIT_RC_UNSUPPORTED) << refused.what;
  EXPECT_EQ(instance, nullptr);
  EXPECT_NE(answer.text.find(refused.what), std::string::npos) << answer.text;
}

TEST_F(HipPlugin, RefusesWhatItsManifestDoesNotServe) {
  const Refused both[] = {
      {"kv_layout", [](dsakit_config& c) { c.kv_layout = "v4_584"; }},
      {"d_qk", [](dsakit_config& c) { c.d_qk = 512; }},
      {"phase", [](dsakit_config& c) { c.phase = "draft"; }},
      {"128 heads", [](dsakit_config& c) { c.heads = 129; }},
      {"topk above 1048576", [](dsakit_config& c) { c.topk = 1048577; }},
      {"fp8", [](dsakit_config& c) { c.compute = "fp8"; }},
      {"q_dtype", [](dsakit_config& c) { c.q_dtype = "fp16"; }},
      {"out_dtype", [](dsakit_config& c) { c.out_dtype = "fp32"; }},
  };
  for (const Refused& refused : both) {
    expect_refused(tilelang(), {}, refused);
    expect_refused(aiter(), {}, refused);
  }
  expect_refused(tilelang(), {}, {"ragged", [](dsakit_config& c) { c.index_mode = "ragged"; }});
  const Refused aiter_alone[] = {
      {"page_size", [](dsakit_config& c) { c.page_size = 16; }},
      {"lse = log2", [](dsakit_config& c) { c.lse = "log2"; }},
      {"lse_sink", [](dsakit_config& c) { c.lse_sink = "included"; }},
      {"lse_empty", [](dsakit_config& c) { c.lse_empty = "minus_large"; }},
      {"invalid_index", [](dsakit_config& c) { c.invalid_index = "minus1_only"; }},
      {"kv_layout", [](dsakit_config& c) { c.kv_layout = "fp8_656_g128"; }},
  };
  for (const Refused& refused : aiter_alone) expect_refused(aiter(), {.ragged = true}, refused);
}

}  // namespace
}  // namespace dsakit
