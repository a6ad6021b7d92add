#include "manifest/arch.hpp"

#include <gtest/gtest.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace dsakit {
namespace {

// The devices of a token joined by spaces; "!" and the reason if it is refused.
std::string devices(std::string_view token) {
  std::string why;
  const auto arch = parse_arch_token(token, why);
  return arch ? fmt::format("{}", fmt::join(arch->devices, " ")) : "!" + why;
}

TEST(Arch, ATokenAcceptsExactlyTheDevicesItNames) {
  EXPECT_EQ(devices("sm_90"), "sm_90");
  EXPECT_EQ(devices("sm_90a"), "sm_90");
  EXPECT_EQ(devices("sm_100"), "sm_100");
  EXPECT_EQ(devices("sm_100a"), "sm_100");
  EXPECT_EQ(devices("sm_120"), "sm_120");
  EXPECT_EQ(devices("gfx942"), "gfx942");
  EXPECT_EQ(devices("gfx950"), "gfx950");
  EXPECT_EQ(devices("gfx90a"), "gfx90a");
  EXPECT_EQ(devices("cpu"), "cpu");
}

TEST(Arch, AFamilyHoldsItsNumberAndTheLaterOnesOfTheSameFamily) {
  EXPECT_EQ(devices("sm_100f"), "sm_100 sm_103");
  EXPECT_EQ(devices("sm_103f"), "sm_103");
  EXPECT_EQ(devices("sm_110f"), "sm_110");
  EXPECT_EQ(devices("sm_120f"), "sm_120 sm_121");
  EXPECT_EQ(devices("sm_121f"), "sm_121");
  EXPECT_EQ(devices("sm_90f").front(), '!');
}

TEST(Arch, ARangeHoldsTheKnownDevicesBetweenItsEnds) {
  EXPECT_EQ(devices("sm_80-sm_89"), "sm_80 sm_86 sm_87 sm_89");
  EXPECT_EQ(devices("sm_80-sm_86"), "sm_80 sm_86");
  EXPECT_EQ(devices("sm_87-sm_89"), "sm_87 sm_89");
  EXPECT_EQ(devices("sm_100-sm_103"), "sm_100 sm_101 sm_103");
  EXPECT_EQ(devices("sm_90-sm_90"), "sm_90");
}

TEST(Arch, ARangeOverMajorsIsRefusedWithBoth) {
  EXPECT_EQ(devices("sm_80-sm_90"),
            "!a range stays inside one major version; sm_80 and sm_90 have 8 and 9");
  EXPECT_EQ(devices("sm_100-sm_120"),
            "!a range stays inside one major version; sm_100 and sm_120 have 10 and 12");
}

TEST(Arch, MalformedNamesAreRefused) {
  for (const char* token : {"",
                            "sm",
                            "sm_",
                            "sm90",
                            "sm_9",
                            "sm_90b",
                            "sm_90aa",
                            "sm_090",
                            "sm_99999",
                            "sm_9a0",
                            "sm_90+",
                            "sm_90a-sm_90",
                            "sm_89-sm_80",
                            "sm_80-",
                            "-sm_80",
                            "sm_80-sm_86-sm_89",
                            "gfx",
                            "gfx9",
                            "gfx94z",
                            "gfx942-gfx950",
                            "Sm_90",
                            "SM_90",
                            "c pu"}) {
    EXPECT_EQ(devices(token).front(), '!') << token;
  }
}

TEST(Arch, WellFormedUnknownHardwareAcceptsNothing) {
  for (const char* token :
       {"sm_130", "sm_91", "sm_130a", "sm_140f", "gfx1100", "xe2", "sm_91-sm_99"}) {
    EXPECT_EQ(devices(token), "") << token;
  }
}

TEST(Arch, EveryKnownDeviceIsATokenForItselfAlone) {
  for (const KnownDevice& device : known_devices()) {
    EXPECT_EQ(devices(device.name), device.name);
    EXPECT_EQ(find_device(device.name), &device);
    EXPECT_TRUE(device_or_error(device.name).has_value());
  }
}

TEST(Arch, AnUnknownDeviceIsAnErrorWithTheNearestName) {
  const auto device = device_or_error("sm_102");
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().code, Code::E0403);
  ASSERT_FALSE(device.error().notes.empty());
  EXPECT_EQ(device.error().notes.front(), "the nearest known device is `sm_100`");
  EXPECT_FALSE(device_or_error("sm_90a")) << "a request carries a device, never a suffix";
}

}  // namespace
}  // namespace dsakit
