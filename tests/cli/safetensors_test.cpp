// Safetensors: what is written is read back, and files that lie are refused with their code.
#include <cstring>
#include <string>

#include <gtest/gtest.h>

#include "diag/render.hpp"
#include "run/memory.hpp"
#include "run/safetensors.hpp"
#include "support/fake_plugin.hpp"

namespace dsakit::cli::safetensors_cases {
namespace {

std::string with_header(const std::string& header, const std::string& data) {
  std::string out(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) out[i] = static_cast<char>(header.size() >> (8 * i) & 0xFF);
  return out + header + data;
}

std::string refusal(const std::string& bytes) {
  test::TemporaryFolder folder;
  test::write_file(folder / "a.safetensors", bytes);
  const auto opened = TensorFile::open(folder / "a.safetensors");
  return opened ? "accepted"
                : std::string(code_name(opened.error().code)) + " " + headline(opened.error());
}

TEST(Safetensors, WhatIsWrittenIsReadBack) {
  const auto memory = conformance::make_host_memory();
  const Tensor a(*memory, {kDLFloat, 32, 1}, {2, 3});
  const Tensor b(*memory, {kDLBfloat, 16, 1}, {4});
  for (int i = 0; i < 6; ++i) a.as<float>()[i] = static_cast<float>(i);
  b.as<std::uint16_t>()[3] = 0x3F80;
  test::TemporaryFolder folder;
  const std::string file = folder / "out.safetensors";
  ASSERT_TRUE(write_tensor_file(file, {{"a", a.host()}, {"b", b.host()}}));
  const auto opened = TensorFile::open(file);
  ASSERT_TRUE(opened) << render_text(opened.error());
  ASSERT_EQ(opened->tensors().size(), 2u);
  EXPECT_EQ(opened->find("a")->shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(opened->find("b")->dtype, "BF16");
  EXPECT_EQ(opened->find("c"), nullptr);
  const auto read = opened->read(*opened->find("a"));
  ASSERT_TRUE(read);
  EXPECT_EQ(std::memcmp(read->data(), a.bytes(), a.size()), 0);
}

TEST(Safetensors, HostileFilesAreRefused) {
  const std::string one = R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
  EXPECT_EQ(refusal(with_header(one, "1234")), "accepted");
  EXPECT_EQ(refusal(with_header(R"({"__metadata__":{"x":"y"}})", "")), "accepted");
  const auto refused = [](const std::string& bytes, const std::string& says) {
    const std::string text = refusal(bytes);
    EXPECT_TRUE(text.starts_with("E0801")) << text;
    EXPECT_NE(text.find(says), std::string::npos) << text;
  };
  refused("1234", "shorter than its first eight bytes");
  refused(std::string(8, '\xFF'), "longer than");
  refused(with_header(one, "1234").substr(0, 20), "passes the end");
  refused(with_header("{", ""), "not usable JSON");
  refused(with_header("[]", ""), "not an object");
  refused(with_header(one, "12345"), "do not end with the file");
  refused(with_header(one, "123"), "do not end with the file");
  refused(with_header(R"({"a":7})", ""), "dtype, shape and data_offsets");
  refused(with_header(R"({"a":{"dtype":"F3","shape":[1],"data_offsets":[0,4]}})", "1234"),
          "dtype F3");
  refused(with_header(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", "1234"),
          "do not give its size");
  refused(with_header(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", "1234"),
          "not a list of sizes");
  refused(with_header(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", "1234"),
          "ends before it begins");
  refused(with_header(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0]}})", "1234"),
          "not two offsets");
  refused(
      with_header(R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,4]}})",
                  "1234"),
      "do not give its size");
  refused(
      with_header(R"({"a":{"dtype":"U8","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,1]}})", "1"),
      "more than 8 axes");
  refused(with_header(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
                      R"("b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
                      "123"),
          "overlap");
  EXPECT_EQ(refusal(with_header(R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})", "")),
            "accepted");
}

TEST(Safetensors, FilesThatCannotBeOpenedOrWritten) {
  test::TemporaryFolder folder;
  const auto missing = TensorFile::open(folder / "none");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::E0101);
  EXPECT_FALSE(TensorFile::open(folder.path().string()));
  const auto written = write_tensor_file(folder / "no/such/folder", {});
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, Code::E0803);
}

}  // namespace
}  // namespace dsakit::cli::safetensors_cases
