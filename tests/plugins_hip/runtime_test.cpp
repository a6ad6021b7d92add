// The HIP runtime as plugins open it: modules, launches as the code object wants them, and a coded
// error for everything that can fail.
#include "common/hip/runtime.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "plugins_hip/fakes/fake_hip.hpp"
#include "plugins_hip/probe.hpp"

extern "C" {
extern const unsigned char dsakit_test_probe[];
extern const char dsakit_test_probe_targets[];
}

namespace dsakit::hip {
namespace {

using test::fake_hip;

const Bundle kProbe{dsakit_test_probe, dsakit_test_probe_targets};

class HipRuntime : public testing::Test {
 protected:
  HipRuntime() { fake_hip() = test::FakeHip(); }
};

struct Answer {
  dsakit_rc rc;
  std::uint32_t domain;
  std::int32_t code;
  std::string text;
};

Answer probe_device(std::int32_t type, std::int32_t id, const Bundle& bundle = kProbe) {
  dsakit_error raw{};
  raw.size = sizeof(raw);
  sdk::Error error(&raw);
  const dsakit_rc rc = probe("tester", bundle, type, id, error);
  return {rc, raw.domain, raw.code, raw.text};
}

TEST_F(HipRuntime, IsOpenedByName) {
  EXPECT_EQ(why_no_runtime(), nullptr);
  int count = 0;
  EXPECT_EQ(device_count(count), kSuccess);
  EXPECT_EQ(count, 2);
  EXPECT_EQ(multiprocessors(0, count), kSuccess);
  EXPECT_EQ(count, 304);
}

TEST_F(HipRuntime, LaunchesWhatTheCodeObjectDescribes) {
  ASSERT_EQ(fake_hip().arch, "gfx942");
  Function function = nullptr;
  ASSERT_EQ(find_function(kProbe, 0, "probe_static_lds", function), kSuccess);
  const test::ProbeArguments arguments{nullptr, 7, 1LL << 40};
  int stream = 0;
  ASSERT_EQ(launch({.function = function,
                    .workgroups = 9,
                    .threads = 256,
                    .dynamic_lds = 0,
                    .argument = &arguments,
                    .argument_bytes = sizeof(arguments)},
                   &stream),
            kSuccess);
  ASSERT_EQ(fake_hip().launches.size(), 1U);
  const test::RecordedLaunch& seen = fake_hip().launches.front();
  EXPECT_EQ(seen.kernel, "probe_static_lds");
  EXPECT_EQ(seen.stream, &stream);
  EXPECT_EQ(seen.grid[0], 9U);
  EXPECT_EQ(seen.grid[1] * seen.grid[2] * seen.block[1] * seen.block[2], 1U);
  EXPECT_EQ(seen.block[0], seen.facts.most_threads);
  EXPECT_EQ(seen.facts.wave, 64U);
  EXPECT_EQ(seen.facts.lds_bytes, 2048U);
  ASSERT_EQ(seen.facts.arguments.size(), 1U);
  EXPECT_EQ(seen.facts.arguments[0].offset, 0U);
  EXPECT_EQ(seen.facts.arguments[0].bytes, sizeof(arguments));
  EXPECT_EQ(seen.facts.arguments[0].kind, "by_value");
  ASSERT_EQ(seen.argument.size(), sizeof(arguments));
  EXPECT_EQ(std::memcmp(seen.argument.data(), &arguments, sizeof(arguments)), 0);
}

TEST_F(HipRuntime, LoadsABundleOnceADevice) {
  Function function = nullptr;
  for (const int device : {3, 4, 3, 4})
    EXPECT_EQ(find_function(kProbe, device, "probe_plain", function), kSuccess);
  EXPECT_EQ(fake_hip().modules_loaded, 2);
  EXPECT_EQ(find_function(kProbe, 3, "no_such_kernel", function), 500);
}

TEST_F(HipRuntime, TriesAgainAfterALoadThatFailed) {
  Function function = nullptr;
  fake_hip().fails["hipModuleLoadData"] = 2;
  EXPECT_EQ(find_function(kProbe, 5, "probe_plain", function), 2);
  fake_hip().fails.clear();
  EXPECT_EQ(find_function(kProbe, 5, "probe_plain", function), kSuccess);
  fake_hip().arch = "gfx90c";
  EXPECT_EQ(find_function(kProbe, 6, "probe_plain", function), kNoCodeForDevice);
}

TEST_F(HipRuntime, GivesTheCallersDeviceBack) {
  {
    const DeviceScope scope(1);
    EXPECT_EQ(scope.status(), kSuccess);
    EXPECT_EQ(fake_hip().current, 1);
  }
  EXPECT_EQ(fake_hip().current, 0);
  EXPECT_EQ(fake_hip().device_changes, 2);
  { const DeviceScope scope(0); }
  EXPECT_EQ(fake_hip().device_changes, 2);
  EXPECT_EQ(DeviceScope(2).status(), 101);
  fake_hip().fails["hipGetDevice"] = 3;
  EXPECT_EQ(DeviceScope(1).status(), 3);
}

TEST_F(HipRuntime, ProbeSaysWhatIsWrong) {
  EXPECT_EQ(probe_device(kDLROCM, 1).rc, DSAKIT_RC_OK);
  EXPECT_EQ(probe_device(kDLCUDA, 0).text, "tester runs on HIP devices only");
  EXPECT_EQ(probe_device(kDLROCM, 2).text, "there is no HIP device 2");
  EXPECT_EQ(probe_device(kDLROCM, -1).rc, DSAKIT_RC_NO_DEVICE);
  const Answer other = probe_device(kDLROCM, 0, {dsakit_test_probe, "gfx90a, gfx9420"});
  EXPECT_EQ(other.rc, DSAKIT_RC_UNSUPPORTED);
  EXPECT_EQ(other.text, "HIP device 0 is gfx942, the kernels are for gfx90a, gfx9420");
  EXPECT_EQ(probe_device(kDLROCM, 0, {dsakit_test_probe, "gfx90a, gfx942"}).rc, DSAKIT_RC_OK);
  fake_hip().arch.clear();
  EXPECT_EQ(probe_device(kDLROCM, 0).text.substr(0, 36), "HIP device 0 is of an unknown arch, ");
  fake_hip().fails["hipGetDevicePropertiesR0600"] = 17;
  const Answer silent = probe_device(kDLROCM, 0);
  EXPECT_EQ(silent.code, 17);
  EXPECT_EQ(silent.domain, std::uint32_t{DSAKIT_DOMAIN_HIP});
  fake_hip().fails["hipGetDeviceCount"] = 100;
  const Answer none = probe_device(kDLROCM, 0);
  EXPECT_EQ(none.rc, DSAKIT_RC_NO_DEVICE);
  EXPECT_EQ(none.code, 100);
  EXPECT_EQ(none.text, "no HIP device: the fake says no (100)");
}

}  // namespace
}  // namespace dsakit::hip
