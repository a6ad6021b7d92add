// check_run(): a good call becomes the right view; each way to contradict the contract is refused
// with a text that names the argument.
#include "sdk/run_view.hpp"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <string>
#include <vector>

namespace dsakit::sdk {
namespace {

constexpr DLDataType kBf16{4, 16, 1}, kFp32{2, 32, 1}, kInt32{0, 32, 1}, kByte{1, 8, 1};

struct Tensor {
  DLTensor view{};
  std::vector<std::int64_t> shape, strides;
  std::vector<std::byte> bytes;

  Tensor(DLDataType type, std::vector<std::int64_t> extents) : shape(std::move(extents)) {
    std::int64_t elements = 1;
    for (const std::int64_t extent : shape) elements *= extent;
    bytes.resize(static_cast<std::size_t>(elements) * type.bits / 8 + 16);
    view.data = bytes.data();
    view.device = {kDLCPU, 0};
    view.dtype = type;
    sync();
  }
  void reshape(std::vector<std::int64_t> extents) {
    shape = std::move(extents);
    sync();
  }
  void restride(std::vector<std::int64_t> elements) {
    strides = std::move(elements);
    sync();
  }
  void sync() {
    view.ndim = static_cast<int>(shape.size());
    view.shape = shape.data();
    view.strides = strides.empty() ? nullptr : strides.data();
  }
};

// T = 6 tokens as [2, 3] or flat, 4 heads, layout fp8_656_g128.
struct Call {
  Config config;
  Tensor q{kBf16, {6, 4, 576}}, kv{kByte, {3, 2, 656}}, indices{kInt32, {6, 8}},
      length{kInt32, {2}}, sink{kFp32, {4}}, out{kBf16, {6, 4, 512}}, lse{kFp32, {6, 4}},
      max{kFp32, {6, 4}}, indptr{kInt32, {7}};
  dsakit_kv_cache cache{};
  dsakit_run_args args{};
  RunView view;
  dsakit_error error{};

  Call() {
    config.device_type = kDLCPU;
    config.layout = find_kv_layout("fp8_656_g128");
    config.heads = 4;
    config.d_qk = 576;
    config.d_v = 512;
    config.topk = 8;
    config.page_size = 2;
    config.max_tokens = 6;
    config.q_dtype = config.out_dtype = kBf16;
    config.attn_sink = config.topk_length = config.max_logits = true;
    cache = {sizeof(cache), 0, &kv.view, nullptr};
    args.size = sizeof(args);
    args.sm_scale = 0.1F;
    args.q = &q.view;
    args.kv = &cache;
    args.indices = &indices.view;
    args.topk_length = &length.view;
    args.attn_sink = &sink.view;
    args.out = &out.view;
    args.lse = &lse.view;
    args.max_logits = &max.view;
    error.size = sizeof(error);
  }
  dsakit_rc check() {
    Error to(&error);
    return check_run(config, *config.layout, args, view, to);
  }
};

TEST(CheckRun, FlatView) {
  Call call;
  ASSERT_EQ(call.check(), DSAKIT_RC_OK) << call.error.text;
  EXPECT_EQ(call.view.tokens, 6);
  EXPECT_EQ(call.view.q_token(5), 5 * 4 * 576 * 2);
  EXPECT_EQ(call.view.q_head, 576 * 2);
  EXPECT_EQ(call.view.cache[0].slots(), 6);
  EXPECT_EQ(call.view.cache[0].page_stride, 1312);
  EXPECT_EQ(call.view.cache[0].index_row(2), 64);
  EXPECT_EQ(call.view.cache[0].tokens_per_length, 3);
  EXPECT_EQ(call.view.lse_token(3), 48);
  EXPECT_EQ(call.view.caches, 1);
}

TEST(CheckRun, NestedTokensAndFreeStrides) {
  Call call;
  call.q.reshape({2, 3, 4, 576});
  call.q.restride({100000, 10000, 576, 1});
  call.indices.reshape({2, 3, 1, 8});
  call.out.reshape({2, 3, 4, 512});
  call.lse.reshape({2, 3, 4});
  call.lse.restride({12, 1, 3});
  call.max.reshape({2, 3, 4});
  for (Tensor* tensor : {&call.q, &call.indices, &call.out, &call.lse, &call.max}) tensor->sync();
  ASSERT_EQ(call.check(), DSAKIT_RC_OK) << call.error.text;
  EXPECT_EQ(call.view.tokens, 6);
  EXPECT_EQ(call.view.q_token(4), 2 * (100000 + 10000));
  EXPECT_EQ(call.view.lse_token(4), 4 * (12 + 1));
  EXPECT_EQ(call.view.lse_head, 12);
}

TEST(CheckRun, RaggedLists) {
  Call call;
  call.config.ragged = true;
  call.args.topk_length = nullptr;
  call.indices.reshape({11});
  call.indices.sync();
  call.args.indptr = &call.indptr.view;
  ASSERT_EQ(call.check(), DSAKIT_RC_OK) << call.error.text;
  EXPECT_EQ(call.view.cache[0].topk, 11);
  EXPECT_EQ(call.view.cache[0].indptr_stride, 4);
}

TEST(CheckRun, NoTokensIsFine) {
  Call call;
  for (Tensor* tensor : {&call.q, &call.indices, &call.out, &call.lse, &call.max})
    tensor->shape[0] = 0;
  call.q.view.data = nullptr;
  EXPECT_EQ(call.check(), DSAKIT_RC_OK) << call.error.text;
  EXPECT_EQ(call.view.tokens, 0);
}

TEST(CheckRun, StridesBeyondTwoGigabytes) {
  Call call;
  call.kv.strides = {std::int64_t{1} << 40, 656, 1};
  call.kv.sync();
  ASSERT_EQ(call.check(), DSAKIT_RC_OK) << call.error.text;
  EXPECT_EQ(call.view.cache[0].page_stride, std::int64_t{1} << 40);
}

struct Mistake {
  const char* word;  // must be in the message
  std::function<void(Call&)> make;
};

TEST(CheckRun, EveryContradictionIsRefusedByName) {
  constexpr std::int64_t huge = std::int64_t{1} << 62;
  const std::vector<Mistake> mistakes = {
      {"q is null", [](Call& c) { c.args.q = nullptr; }},
      {"q has no data", [](Call& c) { c.q.view.data = nullptr; }},
      {"q has no shape", [](Call& c) { c.q.view.shape = nullptr; }},
      {"q has 2 axes", [](Call& c) { c.q.view.ndim = 2; }},
      {"q has dtype", [](Call& c) { c.q.view.dtype = kFp32; }},
      {"q has dtype", [](Call& c) { c.q.view.dtype.lanes = 2; }},
      {"q is on device",
       [](Call& c) {
         c.q.view.device = {kDLCUDA, 0};
       }},
      {"q is not aligned", [](Call& c) { c.q.view.byte_offset = 1; }},
      {"q has 5 elements on axis 1", [](Call& c) { c.q.shape[1] = 5; }},
      {"axis 2", [](Call& c) { c.q.shape[2] = 512; }},
      {"impossible",
       [](Call& c) {
         c.q.reshape({huge, huge, huge});
       }},
      {"impossible", [](Call& c) { c.q.shape[0] = -1; }},
      {"impossible",
       [](Call& c) {
         c.q.restride({huge, 576, 1});
       }},
      {"impossible",
       [](Call& c) {
         c.q.restride({-1, 576, 1});
       }},
      {"last axis of q",
       [](Call& c) {
         c.q.restride({2304, 576, 2});
       }},
      {"7 tokens", [](Call& c) { c.q.shape[0] = 7; }},
      {"sm_scale", [](Call& c) { c.args.sm_scale = std::numeric_limits<float>::quiet_NaN(); }},
      {"q_scale", [](Call& c) { c.args.q_scale = &c.sink.view; }},
      {"kv is null", [](Call& c) { c.args.kv = nullptr; }},
      {"kv is null", [](Call& c) { c.cache.data = nullptr; }},
      {"kv has dtype", [](Call& c) { c.kv.view.dtype = kBf16; }},
      {"kv has 655 elements", [](Call& c) { c.kv.shape[2] = 655; }},
      {"tokens a page", [](Call& c) { c.kv.shape[1] = 3; }},
      {"last axis of kv",
       [](Call& c) {
         c.kv.restride({1312, 656, 2});
       }},
      {"kv is not aligned", [](Call& c) { c.kv.view.byte_offset = 1; }},
      {"indices is null", [](Call& c) { c.args.indices = nullptr; }},
      {"indices has dtype", [](Call& c) { c.indices.view.dtype = kFp32; }},
      {"indices has 9 elements", [](Call& c) { c.indices.shape[1] = 9; }},
      {"indices has 5 elements", [](Call& c) { c.indices.shape[0] = 5; }},
      {"indptr needs", [](Call& c) { c.args.indptr = &c.indptr.view; }},
      {"indptr is null",
       [](Call& c) {
         c.config.ragged = true;
         c.args.topk_length = nullptr;
         c.indices.reshape({11});
       }},
      {"topk_length needs", [](Call& c) { c.config.topk_length = false; }},
      {"topk_length has 4 entries", [](Call& c) { c.length.shape[0] = 4; }},
      {"kv2 needs", [](Call& c) { c.args.kv2 = &c.cache; }},
      {"need kv2", [](Call& c) { c.args.indices2 = &c.indices.view; }},
      {"attn_sink needs", [](Call& c) { c.config.attn_sink = false; }},
      {"attn_sink has 3", [](Call& c) { c.sink.shape[0] = 3; }},
      {"out is null", [](Call& c) { c.args.out = nullptr; }},
      {"out has dtype", [](Call& c) { c.out.view.dtype = kFp32; }},
      {"out has 511 elements", [](Call& c) { c.out.shape[2] = 511; }},
      {"out overlaps",
       [](Call& c) {
         c.out.restride({0, 512, 1});
       }},
      {"lse is not null", [](Call& c) { c.config.lse = LseBase::none; }},
      {"lse has 1 axes", [](Call& c) { c.lse.view.ndim = 1; }},
      {"lse overlaps",
       [](Call& c) {
         c.lse.restride({4, 0});
       }},
      {"max_logits needs", [](Call& c) { c.config.max_logits = false; }},
      {"another argument", [](Call& c) { c.args.max_logits = &c.lse.view; }},
  };
  for (const Mistake& mistake : mistakes) {
    Call call;
    mistake.make(call);
    EXPECT_EQ(call.check(), DSAKIT_RC_INVALID) << mistake.word;
    EXPECT_NE(std::string(call.error.text).find(mistake.word), std::string::npos)
        << "wanted: " << mistake.word << "\nfound: " << call.error.text;
  }
}

TEST(CheckRun, FooterLayoutsMustBePaddedPages) {
  Call call;
  call.config.layout = find_kv_layout("v4_584");
  call.config.d_qk = 512;
  call.q.shape[2] = 512;
  call.kv.shape[2] = 584;
  call.kv.restride({1728, 584, 1});
  call.kv.sync();
  call.q.sync();
  ASSERT_EQ(call.check(), DSAKIT_RC_OK) << call.error.text;
  call.kv.strides[0] = 1168;
  EXPECT_EQ(call.check(), DSAKIT_RC_INVALID);
  call.config.page_size = 1;
  call.kv.reshape({6, 584});
  call.kv.strides.clear();
  call.kv.sync();
  EXPECT_EQ(call.check(), DSAKIT_RC_INVALID);
  EXPECT_NE(std::string(call.error.text).find("flat"), std::string::npos);
}

TEST(CheckWorkspace, SizeAndAlignment) {
  dsakit_run_args args{};
  dsakit_error record{};
  record.size = sizeof(record);
  Error error(&record);
  EXPECT_EQ(check_workspace(args, 0, 64, error), DSAKIT_RC_OK);
  EXPECT_EQ(check_workspace(args, 1, 64, error), DSAKIT_RC_WORKSPACE);
  alignas(64) std::array<std::byte, 128> buffer{};
  args.workspace = buffer.data();
  args.workspace_size = 64;
  EXPECT_EQ(check_workspace(args, 64, 64, error), DSAKIT_RC_OK);
  EXPECT_EQ(check_workspace(args, 65, 64, error), DSAKIT_RC_WORKSPACE);
  args.workspace = buffer.data() + 8;
  EXPECT_EQ(check_workspace(args, 64, 64, error), DSAKIT_RC_WORKSPACE);
}

}  // namespace
}  // namespace dsakit::sdk
