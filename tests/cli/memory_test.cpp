// Tensors and the memory they live in: on the host, and on a made-up CUDA device.
#include <algorithm>
#include <new>

#include <gtest/gtest.h>

#include "run/memory.hpp"
#include "sdk/conformance/gpu_device.hpp"

namespace dsakit::cli::memory_cases {
namespace {

using conformance::GpuDevice;

TEST(Memory, TensorsOfTheHostAreOneCopyAndAligned) {
  const auto memory = conformance::make_host_memory();
  Tensor tensor(*memory, {kDLFloat, 32, 1}, {3, 5});
  EXPECT_EQ(tensor.device()->data, tensor.host()->data);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.bytes()) % Memory::kAlignment, 0u);
  EXPECT_EQ(tensor.size(), 60u);
  EXPECT_EQ(tensor.host()->strides[0], 5);
  const DLTensor* before = tensor.host();
  const Tensor moved = std::move(tensor);
  EXPECT_EQ(moved.host(), before) << "arguments may point to a tensor that moves";
  const Tensor padded(*memory, {kDLUInt, 8, 1}, {4, 2, 3}, std::byte{0xFF}, 16);
  EXPECT_EQ(padded.size(), 64u);
  EXPECT_EQ(padded.bytes()[63], std::byte{0xFF});
}

TEST(Memory, TensorsOfADeviceAreCopied) {
  auto memory = GpuDevice::open({kDLCUDA, 0}, {FAKE_CUDA_MEMORY});
  ASSERT_TRUE(memory) << memory.error();
  Tensor tensor(**memory, {kDLInt, 32, 1}, {100}, std::byte{1});
  EXPECT_NE(tensor.device()->data, tensor.host()->data);
  EXPECT_EQ(tensor.device()->device.device_type, kDLCUDA);
  EXPECT_EQ(tensor.host()->device.device_type, kDLCPU);
  ASSERT_TRUE(tensor.upload());
  std::fill_n(tensor.as<std::int32_t>(), 100, 0);
  ASSERT_TRUE(tensor.download());
  EXPECT_EQ(tensor.as<std::int32_t>()[99], 0x01010101);
  EXPECT_TRUE((*memory)->fill(tensor.device()->data, std::byte{2}, 396));
  ASSERT_TRUE(tensor.download());
  EXPECT_EQ(tensor.as<std::int32_t>()[98], 0x02020202);
  EXPECT_EQ(tensor.as<std::int32_t>()[99], 0x01010101);
  EXPECT_TRUE((*memory)->synchronise());
  EXPECT_EQ((*memory)->make_stream(), nullptr) << "this driver has no streams";
  EXPECT_THROW(Tensor(**memory, {kDLUInt, 8, 1}, {std::int64_t{1} << 41}), std::bad_alloc);
}

TEST(Memory, ADeviceThatCannotBeUsedSaysWhy) {
  const DLDevice first{kDLCUDA, 0}, fourth{kDLCUDA, 3};
  EXPECT_NE(GpuDevice::open(first, {"libno_such_driver.so"}).error().find("libno_such_driver"),
            std::string::npos);
  EXPECT_NE(GpuDevice::open(fourth, {FAKE_CUDA_MEMORY}).error().find("101"), std::string::npos);
  EXPECT_NE(GpuDevice::open({kDLROCM, 0}, {FAKE_CUDA_MEMORY}).error().find("lacks functions"),
            std::string::npos)
      << "names of the other driver";
  EXPECT_EQ(conformance::make_memory({kDLVulkan, 0}).error(), "devices of cuda and hip only");
}

}  // namespace
}  // namespace dsakit::cli::memory_cases
