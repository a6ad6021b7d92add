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

std::string meant(std::string_view text) {
  const KnownDevice* device = device_meant_by(text);
  return device ? std::string(device->name) : "";
}

TEST(DeviceName, EveryProductMeansItsDevice) {
  const std::pair<const char*, const char*> kMeant[] = {{"H100", "sm_90"},
                                                        {"h200", "sm_90"},
                                                        {"H20", "sm_90"},
                                                        {"B200", "sm_100"},
                                                        {"GB200", "sm_100"},
                                                        {"B300", "sm_103"},
                                                        {"RTX PRO 6000", "sm_120"},
                                                        {"5090", "sm_120"},
                                                        {"RTX 5090", "sm_120"},
                                                        {"GB10", "sm_121"},
                                                        {"DGX Spark", "sm_121"},
                                                        {"spark", "sm_121"},
                                                        {"A100", "sm_80"},
                                                        {"A10", "sm_86"},
                                                        {"L40S", "sm_89"},
                                                        {"RTX4090", "sm_89"},
                                                        {"4090", "sm_89"},
                                                        {"MI300X", "gfx942"},
                                                        {"MI350", "gfx950"},
                                                        {"MI355X", "gfx950"},
                                                        {"MI250X", "gfx90a"},
                                                        {"Thor", "sm_110"},
                                                        {"NVIDIA H100 80GB HBM3", "sm_90"},
                                                        {"NVIDIA GeForce RTX 3080", "sm_86"},
                                                        {"x86_64", "cpu"}};
  for (const auto& [text, device] : kMeant) EXPECT_EQ(meant(text), device) << text;
}

TEST(DeviceName, OtherSpellingsOfADevice) {
  for (const char* text : {"SM_90", "sm90", "SM90", "9.0", "90"}) EXPECT_EQ(meant(text), "sm_90");
  EXPECT_EQ(meant("GFX942"), "gfx942");
  EXPECT_EQ(meant("CPU"), "cpu");
}

TEST(DeviceName, NothingIsMeantByUnrelatedWords) {
  for (const char* text : {"", "gaudi", "tpu", "sm_130", "7", "-"}) EXPECT_EQ(meant(text), "");
}

std::string first_note(std::string_view name) {
  const auto device = device_or_error(name);
  return device ? "" : device.error().notes.front();
}

TEST(DeviceName, TheErrorSaysWhatIsMeant) {
  EXPECT_EQ(first_note("H100"), "that is `sm_90` (H100, H200, H20, H800, GH200)");
  EXPECT_EQ(first_note("sm_90a"), "`sm_90a` names code, and a request names a device: `sm_90`");
  EXPECT_EQ(first_note("sm_100f"),
            "`sm_100f` names code, and a request names a device: `sm_100` or `sm_103`");
  EXPECT_TRUE(first_note("gaudi").starts_with("known devices: ")) << "nothing is near";
}

}  // namespace
}  // namespace dsakit
