// Detection against driver libraries made for these tests (fakes/).
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "device/detect.hpp"

namespace dsakit {
namespace {

std::string fake(const std::string& name) {
  return std::string(FAKE_DRIVERS) + "/" + name + ".so";
}

// A machine with nothing, to which a test adds.
DriverSources nothing() {
  DriverSources sources;
  sources.cuda_libraries = {"/nonexistent/libcuda.so.1"};
  sources.hip_libraries = {"/nonexistent/libamdhip64.so.7", "/nonexistent/libamdhip64.so.6"};
  sources.cuda_version_files = {"/nonexistent/version"};
  sources.hip_version_files = {"/nonexistent/version"};
  return sources;
}

// The only note about `platform`.
std::string note(const Detection& detection, const std::string& platform) {
  std::string text;
  for (const ProbeNote& n : detection.notes) {
    if (n.platform == platform) text += (text.empty() ? "" : "|") + n.text;
  }
  return text;
}

std::string cuda_note(const std::string& name) {
  DriverSources sources = nothing();
  sources.cuda_libraries = {fake(name)};
  const Detection detection = detect_devices(sources);
  EXPECT_EQ(detection.devices.size(), 1U) << "the CPU alone";
  return note(detection, "cuda");
}

std::string hip_note(const std::string& name) {
  DriverSources sources = nothing();
  sources.hip_libraries = {fake(name)};
  const Detection detection = detect_devices(sources);
  EXPECT_EQ(detection.devices.size(), 1U) << "the CPU alone";
  return note(detection, "hip");
}

class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text) {
    std::string pattern = (std::filesystem::temp_directory_path() / "dsakit-XXXXXX").string();
    const int fd = ::mkstemp(pattern.data());
    if (fd >= 0) ::close(fd);
    path = pattern;
    std::ofstream(path) << text;
  }
  ~TemporaryFile() { std::filesystem::remove(path); }
  std::string path;
};

TEST(Detect, TheCpuIsAlwaysThereAndMissingDriversHaveReasons) {
  const Detection detection = detect_devices(nothing());
  ASSERT_EQ(detection.devices.size(), 1U);
  EXPECT_EQ(detection.devices[0].device, "cpu");
  EXPECT_EQ(detection.devices[0].platform, "cpu");
  EXPECT_GT(detection.devices[0].memory_bytes, 0U);
  EXPECT_EQ(note(detection, "cuda"),
            "/nonexistent/libcuda.so.1: cannot open shared object file: No such file or directory");
  EXPECT_EQ(
      note(detection, "hip"),
      "/nonexistent/libamdhip64.so.7: cannot open shared object file: No such file or directory; "
      "/nonexistent/libamdhip64.so.6: cannot open shared object file: No such file or directory");
}

TEST(Detect, CpuNameComesFromCpuInfo) {
  const TemporaryFile info(
      "processor\t: 0\nmodel name\t: Some CPU @ 2.0GHz\nmodel name\t: other\n");
  DriverSources sources = nothing();
  sources.cpu_info = info.path;
  EXPECT_EQ(detect_devices(sources).devices.at(0).name, "Some CPU @ 2.0GHz");
  sources.cpu_info = "/nonexistent";
  EXPECT_EQ(detect_devices(sources).devices.at(0).name, "");
}

TEST(Detect, CudaDevicesInTheirOrder) {
  const TemporaryFile version(
      "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  575.57.08  Release Build\n");
  DriverSources sources = nothing();
  sources.cuda_libraries = {"/nonexistent/libcuda.so.1", fake("cuda_three")};
  sources.cuda_version_files = {"/nonexistent/version", version.path};
  const Detection detection = detect_devices(sources);
  ASSERT_EQ(detection.devices.size(), 3U);
  const DetectedDevice& first = detection.devices[0];
  EXPECT_EQ(first.device, "sm_90");
  EXPECT_EQ(first.platform, "cuda");
  EXPECT_EQ(first.ordinal, 0);
  EXPECT_EQ(first.name, "NVIDIA H200");
  EXPECT_EQ(first.memory_bytes, 141UL << 30);
  EXPECT_EQ(first.driver, "575.57.08");
  EXPECT_EQ(first.runtime_cuda, "12.9");
  EXPECT_EQ(first.runtime_hip, "");
  EXPECT_EQ(detection.devices[1].device, "sm_121");
  EXPECT_EQ(detection.devices[1].ordinal, 2);
  EXPECT_EQ(detection.devices[2].device, "cpu");
  EXPECT_EQ(note(detection, "cuda"), fake("cuda_three") + ": device 1 does not answer");
}

TEST(Detect, OptionalCudaFunctionsMayBeMissing) {
  DriverSources sources = nothing();
  sources.cuda_libraries = {fake("cuda_bare")};
  const Detection detection = detect_devices(sources);
  ASSERT_EQ(detection.devices.size(), 2U);
  EXPECT_EQ(detection.devices[0].device, "sm_90");
  EXPECT_EQ(detection.devices[0].name, "");
  EXPECT_EQ(detection.devices[0].memory_bytes, 0U);
  EXPECT_EQ(detection.devices[0].runtime_cuda, "");
  EXPECT_EQ(detection.devices[0].driver, "");
}

TEST(Detect, CudaDriversThatServeNothingSayWhy) {
  EXPECT_EQ(cuda_note("cuda_empty"), fake("cuda_empty") + ": the driver has no device");
  EXPECT_EQ(cuda_note("cuda_no_device"), fake("cuda_no_device") + ": the driver has no device");
  EXPECT_EQ(cuda_note("cuda_mismatch"),
            fake("cuda_mismatch") +
                ": the driver does not start: CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803)");
  EXPECT_EQ(cuda_note("cuda_bare_mismatch"),
            fake("cuda_bare_mismatch") + ": the driver does not start: error 803");
  EXPECT_EQ(cuda_note("cuda_incomplete"),
            fake("cuda_incomplete") + ": lacks functions of a driver");
}

TEST(Detect, HipDevicesWhateverTheStructVersion) {
  const TemporaryFile version("6.10.5\n");
  DriverSources sources = nothing();
  sources.hip_libraries = {"/nonexistent/libamdhip64.so.7", fake("hip_new")};
  sources.hip_version_files = {version.path};
  const Detection detection = detect_devices(sources);
  ASSERT_EQ(detection.devices.size(), 4U);
  EXPECT_EQ(detection.devices[0].device, "gfx942");
  EXPECT_EQ(detection.devices[0].platform, "hip");
  EXPECT_EQ(detection.devices[0].name, "AMD Instinct");
  EXPECT_EQ(detection.devices[0].memory_bytes, 192UL << 30);
  EXPECT_EQ(detection.devices[0].runtime_hip, "6.3");
  EXPECT_EQ(detection.devices[0].driver, "6.10.5");
  EXPECT_EQ(detection.devices[1].device, "gfx90a");
  EXPECT_EQ(detection.devices[2].device, "gfx1250");
  EXPECT_EQ(detection.devices[2].ordinal, 3);
  EXPECT_EQ(note(detection, "hip"), fake("hip_new") + ": device 2 does not say what it is");

  sources.hip_libraries = {fake("hip_old")};
  EXPECT_EQ(detect_devices(sources).devices.at(0).device, "gfx942");
}

TEST(Detect, HipRuntimesThatServeNothingSayWhy) {
  EXPECT_EQ(hip_note("hip_no_device"), fake("hip_no_device") + ": the runtime has no device");
  EXPECT_EQ(hip_note("hip_broken"),
            fake("hip_broken") + ": the runtime does not start: initialization error (3)");
  EXPECT_EQ(hip_note("hip_incomplete"), fake("hip_incomplete") + ": lacks functions of a runtime");
}

TEST(Detect, AFileThatIsNoLibraryIsANote) {
  const TemporaryFile text("not a library at all");
  DriverSources sources = nothing();
  sources.cuda_libraries = {text.path};
  const Detection detection = detect_devices(sources);
  EXPECT_EQ(detection.devices.size(), 1U);
  EXPECT_NE(note(detection, "cuda").find(text.path), std::string::npos);
}

TEST(Detect, ThisMachineEndsWithItsCpu) {
  const Detection detection = detect_devices();
  ASSERT_FALSE(detection.devices.empty());
  EXPECT_EQ(detection.devices.back().device, "cpu");
}

}  // namespace
}  // namespace dsakit
